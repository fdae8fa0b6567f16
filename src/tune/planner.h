// The half of a search that needs no device: which points are measured next, and what becomes of
// those that were. Several devices of one class may be at it at the same time.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tune/bench.h"
#include "tune/learned_costs.h"
#include "tune/search.h"

namespace gossamer::tune {

// A measured point, as a line of a file of records has it.
struct Trial {
  std::string key, machine;
  schedule::Point point;
  std::string adapter;              // as the device calls itself
  double ms = 0, ratio = 0;         // its time, and that by the default point's
  double spread = 0;                // of the ratio between turns: largest less smallest
  std::string failure;              // not empty: why there are no times
  records::Likeness likeness = {};  // of a better one, for kernels near it
};

// Measured layouts: of whole runs.
struct LayoutTrial {
  std::vector<PlacedLayout> layouts;  // all that are not the rule's
  std::string adapter;
  double ms = 0;     // its time
  double ratio = 0;  // by the rule's layouts; of kernels alone, where these are the slower ones
  double spread = 0;
  std::string failure;
};

struct Progress {
  double seconds = 0;
  int layouts = 0;         // that were measured, before the points
  double layout_gain = 1;  // of whole runs: before by after
  std::string layout;      // the one that was measured last; empty: points are
  int trials = 0;
  double gain = 1;     // of the kernels' sum so far: before by after
  std::string kernel;  // the one whose point was improved last
  double kernel_gain = 1, share = 0;
  struct Kernel {
    std::string name, origin;
    double ms_before = 0, ms = 0;  // of all launches in a run
  };
  std::vector<Kernel> kernels;  // those that took most first
};

// Of a distinct kernel, at the end.
struct Tuned {
  std::string key, machine, name, origin;
  schedule::Point before, after;
  double ms_before = 0, ms_after = 0;  // of all launches in a run: the fastest of turns at the end
  double share_before = 0, share_after = 0;
  int trials = 0;
};
// Of a stage whose layout or algorithm is not the rule's, at the end.
struct TunedLayout {
  std::string key, machine, name, origin;
  records::StageChoice before = {}, after = {};
};
struct Outcome {
  std::string adapter;
  std::vector<TunedLayout> layouts;
  int layout_trials = 0, layout_failures = 0;
  bool layouts_given_up = false;  // whole runs were slower at the end: records say the rule's
  std::vector<Tuned> kernels;     // those that took most first
  double run_ms_before = 0, run_ms_after = 0;
  int trials = 0, failures = 0;
  // Where the search's time went; the rest is its own thinking.
  double compile_seconds = 0, load_seconds = 0, measure_seconds = 0;
  // Of a search on one device: what later compilations of the model begin with
  // (compiler::Options::weights).
  package::WeightFiles weights = {};
};

struct Options {
  compiler::Options compile;             // its records are those to begin with
  std::vector<Trial> known;              // of earlier searches on this device: not measured again
  std::vector<LearnedCosts> costs = {};  // of devices like this one
  int trials = 0;                        // measured points at most; 0: as many as there is time for
  double seconds = 0;  // 0: until there is nothing left to try; one round at least
  // Of seconds or, without, of trials and beside them: for layouts, before the points of kernels.
  double layout_share = 0.25;
  // What the caller does within `seconds` when the search is over, by what the first compilation
  // took.
  double compilations_after = 0;
  std::vector<LayoutTrial> known_layouts = {};
  std::vector<PlacedLayout> layouts = {};  // that a planner's kernels are tuned in
  unsigned seed = 1;
  std::function<void(const LayoutTrial&, const std::string& name)> on_layout_trial = {};
  // The layout of a stage so far; with the ratio 1 the rule's is the best known.
  std::function<void(const PlacedLayout&, const LayoutTrial&, const std::string& name)>
      on_better_layout = {};
  // `kernel`: its name in the model.
  std::function<void(const Trial&, const std::string& kernel)> on_trial = {};
  // The best point of a kernel so far; at the end the default one, ratio 1, of those that have no
  // better one.
  std::function<void(const Trial&, const std::string& kernel)> on_better = {};
  std::function<void(const Progress&)> on_progress = {};
  std::function<bool()> is_stopped = {};
};

class Planner {
 public:
  // Of the first device's survey. The options must outlive it. Errors: there is nothing to tune.
  static Result<std::unique_ptr<Planner>> create(Survey survey, const Options& options);
  ~Planner();

  // What another device is to measure; none: only what is under way can tell, or, with nothing
  // under way, the search is over.
  std::optional<Batch> next();
  // What a batch gave. Its number is forgotten: a second answer to it is no news.
  void take(int number, const Measurement& measured);
  // A batch that ended with several devices: what does it is searched for by halves. Error: it was
  // no point's doing.
  Result<> lose(int number, const std::string& why);
  // Nothing is measured any more.
  bool is_over() const;
  Outcome outcome() const;

 private:
  struct Anchor;
  struct Challenge;
  struct Sent;
  using Challenges = std::vector<Challenge>;

  explicit Planner(const Options& options);
  double seconds() const;
  double comparison_seconds() const;
  double runs_comparison_seconds() const;  // of whole runs alone
  bool may_compare_again() const;
  size_t room() const;
  bool is_enough() const;
  int decided() const;
  Anchor* anchor_of(const std::string& key, std::string_view machine) const;
  void take_class();
  void remember(Anchor& anchor);
  Challenges choose(size_t most_points);
  void add_point(Anchor& anchor, Challenges& challenges);
  std::vector<Placed> best() const;
  Batch send(Challenges challenges, bool compare);
  Batch send_comparison();
  void judge(const Challenge& challenge, const Measured& measured);
  void fail_trial(const Challenge& challenge, const std::string& why);
  void take_comparison(const Sent& sent, const Measurement& seen);
  void give_up(Anchor& anchor);
  void tell_better(const Anchor& anchor, Trial trial) const;
  bool give_up_half();
  void finish(const Measurement& seen);
  void tell_progress();

  const Options& options_;
  const std::chrono::steady_clock::time_point begin_;
  std::vector<std::unique_ptr<Anchor>> anchors_;  // those that take most first
  CostModel costs_;
  Outcome outcome_;
  Progress progress_;
  std::map<int, Sent> under_way_;
  std::deque<Challenges> again_;  // halves of what was lost
  int next_ = 1, rounds_ = 0, comparisons_ = 0, points_under_way_ = 0;
  // Of the latest batch: to compile and load, all of it, and by its challengers a turn.
  double make_seconds_ = 0, batch_seconds_ = 0, turn_seconds_ = 0;
  size_t batch_size_ = 0;
  double run_seconds_ = 0;  // of a comparison's turn: whole runs of both models
  enum { searching, comparing, over } phase_ = searching;
};

}  // namespace gossamer::tune
