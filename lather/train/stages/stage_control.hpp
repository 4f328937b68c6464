#pragma once
// When a stage of training (a time window, a value of the parameter) is over, and what happens then.
//
// A stage gets a share of the steps and of the time left when it begins: its own weight among those of the
// stages to come. What it does not use passes to the later ones. It ends before its share is used up when it
// is solved (the held-out residual is at or below `target`), when the optimizer has converged or stalled, or
// on a plateau of the held-out loss. A stage that has used up its share and is not solved gets another one
// (`prolong`), or its window (its step in the parameter) is halved and begun again (`halve`), or the next
// stage begins where it ended (`hand-over`). Without a target a stage counts as not solved when there are
// signs that it is not: judge().
//
//   stages = {target = 1e-4, plateau = 10, unsolved = "prolong", tries = 2}

#include <cstdint>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/core/state.hpp"

namespace lather::train {

enum class Unsolved { automatic, prolong, halve, hand_over };

struct StageOptions {
  double target = 0;
  std::int64_t plateau = 0;
  Unsolved unsolved = Unsolved::automatic;
  std::int64_t tries = 2;
  // What is done with a stage that is not solved.
  Unsolved remedy() const {
    if (unsolved != Unsolved::automatic) return unsolved;
    return target > 0 ? Unsolved::prolong : Unsolved::hand_over;
  }
  void fields(FieldVisitor& v) {
    v.real("target", target, "a stage is solved when its held-out residual is at or below this; 0: no target",
           non_negative());
    v.integer(
        "plateau", plateau,
        "a stage ends when this many validations in a row have not lowered its best held-out loss by 5 %; "
        "0: never",
        non_negative());
    v.choice("unsolved", unsolved,
             "what is done with a stage that has used its share and is not solved; auto: it is prolonged "
             "where there is a target, else handed over",
             {{"auto", Unsolved::automatic},
              {"prolong", Unsolved::prolong},
              {"halve", Unsolved::halve},
              {"hand-over", Unsolved::hand_over}});
    v.integer("tries", tries, "how often a stage is prolonged or halved", between(0, 100));
  }
};

// What a run may spend, and what it has spent. No time limit: 0 seconds.
struct Budget {
  std::int64_t steps = 0;
  double seconds = 0;
};

enum class StageEnd { none, solved, stalled, plateau, steps, time };
inline bool share_is_used_up(StageEnd end) { return end == StageEnd::steps || end == StageEnd::time; }

// `open`: there is no target, and no sign that the stage is not solved.
enum class Verdict { open, solved, unsolved };
struct Judgement {
  Verdict verdict = Verdict::open;
  std::string reason;  // of a stage that is not solved
};

class StageControl {
 public:
  explicit StageControl(const StageOptions& options) : options_(options) {}

  // `weight`: of this stage among itself and those to come, in (0, 1].
  void begin(const Budget& spent, double weight);
  void prolong(const Budget& spent);

  // Before the first step of a stage, at held-out points: its loss, and the loss and residual of a zero
  // network.
  struct Nothing {
    double loss = 0, residual = 0;  // 0: not known
  };
  void began(double loss, const Nothing& nothing);
  bool beginning_is_known() const { return !look_losses_.empty(); }
  // At a validation: the residual and loss at held-out points.
  void looked(std::int64_t step, double residual, double loss);
  void optimizer_ended() { stalled_ = true; }

  StageEnd end(const Budget& spent, const Budget& limit) const;
  bool solved() const { return options_.target > 0 && looked_at_ >= 0 && residual_ <= options_.target; }
  // For a stage that ends this way. Without a target, one that has used up its share is not solved if its
  // residual is more than ten times `least`, the smallest of the earlier stages (0: there is none), and more
  // than 1e-4 of a zero network's; if its loss is more than a hundredth of a zero network's; or if the last
  // fifth of its steps has lowered its loss tenfold, which an annealed learning rate does anyway.
  Judgement judge(StageEnd end, double least, bool annealed) const;
  std::int64_t end_step(const Budget& limit) const;  // when its share of steps is used up
  // How much of its share is used, by steps or by time, whichever is more; in [0, 1].
  double progress(const Budget& spent, const Budget& limit) const;

  const StageOptions& options() const { return options_; }
  std::int64_t first_step() const { return first_.steps; }
  double first_seconds() const { return first_.seconds; }
  std::int64_t prolonged() const { return prolonged_; }
  std::int64_t looked_at() const { return looked_at_; }  // the step of the last validation; -1: none
  double residual() const { return residual_; }
  void state(StateVisitor& v);

 private:
  StageOptions options_;
  Budget first_, share_from_;  // where the stage, and its current share, began
  double weight_ = 1, residual_ = 0, best_loss_ = 0;
  Nothing nothing_;
  std::vector<double> look_steps_, look_losses_;  // in the current share
  std::int64_t prolonged_ = 0, looked_at_ = -1, looks_since_best_ = 0;
  bool has_best_ = false, stalled_ = false;
};

// "its share of the steps is used up", …
std::string words_of(StageEnd end);

}  // namespace lather::train
