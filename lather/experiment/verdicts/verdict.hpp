#pragma once
// Do the runs show what the paper prints or says?

#include <string>
#include <vector>

#include "lather/experiment/verdicts/ratio.hpp"

namespace lather::experiment {

// For one problem and metric. A pair of methods counts if the paper and the runs both have both values.
struct Verdict {
  enum class Kind { holds, within_error, fails, untested };
  Kind kind = Kind::untested;
  int pairs = 0, agreeing = 0, level = 0;  // level: the seeds cannot tell
  bool partly = false;                     // this budget lacks some of the methods a claim names
  std::string words;
  std::string pairs_text() const;  // "3 in its order, 2 not told apart, 1 reversed"
};

// The paper's leader by its numbers: it leads here with 95 % confidence, is level with others, or is behind
// one of them. With one seed, the smaller value leads.
Verdict judge(const ExperimentResult& result, const MetricEntry& metric, const std::string& problem);

// The claim in a sentence, marked if it is ours: "SS-eSOAP ends lower (ours)."
std::string words_of(const CheckEntry& check);

// A claim in words, on one problem: the words say what was found there.
Verdict judge(const ExperimentResult& result, const CheckEntry& check, const std::string& problem);

// The same over all its problems.
struct CheckVerdict {
  enum class Kind { holds, in_part, undecided, fails, untested };
  Kind kind = Kind::untested;
  bool partly = false;   // not tested on some of its problems, or against some methods
  std::string evidence;  // "holds on Burgers (0.50 times SOAP); cannot tell on Wave (1.10 times Muon)"
  std::string text() const;
};
CheckVerdict judge(const ExperimentResult& result, const CheckEntry& check);

}  // namespace lather::experiment
