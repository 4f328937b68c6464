#pragma once
// Lines of history.jsonl, history.csv and diagnostics.jsonl. Numbers are written so that reading them
// restores the same bits.

#include <optional>
#include <string>

#include "lather/optim/optimizer.hpp"
#include "lather/train/trainer.hpp"

namespace lather::train {

struct HistoryRecord {
  double loss = 0;
  optim::StepReport report;        // of the step that led here
  std::optional<Metrics> metrics;  // if held-out points were looked at
};

std::string history_header(const Trainer& trainer);  // of the CSV
std::string history_csv(const Trainer& trainer, const HistoryRecord& record);
std::string history_json(const Trainer& trainer, const HistoryRecord& record);
std::string diagnostics_json(const Trainer& trainer);  // empty if the optimizer has none

std::string event_json(const LoggedEvent& event);

// Mean of a quantity over all blocks that have it.
std::optional<double> mean_diagnostic(const Trainer& trainer, std::string_view quantity);

}  // namespace lather::train
