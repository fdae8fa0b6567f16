// Which layouts, and which algorithms of convolutions, to measure next, for as long as they have a
// share of the search. A kernel alone cannot say what its layout costs: the kernels around it read
// it, and a conversion may stand between; an algorithm makes several. So each candidate is a whole
// model, timed by whole runs. Several devices may be at it at the same time, each beside the
// layouts that were the best ones when it was asked.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tune/planner.h"

namespace gossamer::tune {

class LayoutSearch {
 public:
  // The options must outlive it.
  LayoutSearch(const Survey& survey, const Options& options);

  // Layouts that are neither measured nor known yet, or that have won once, beside those so far;
  // none: only what is under way can tell, or, with nothing under way, the search is over.
  std::optional<Batch> next();
  bool is_waited_for() const { return !under_way_.empty(); }
  int sent() const { return sent_; }  // batches, which have the numbers from 1 on
  // As a planner's.
  void take(int number, const Measurement& measured);
  void lose(int number, const std::string& why);
  // By the rule again.
  void give_up();

  const std::vector<PlacedLayout>& best() const { return best_; }
  std::vector<TunedLayout> changed() const;
  double ratio() const { return ratio_; }
  int trials() const { return trials_; }
  int failures() const { return failures_; }

 private:
  using Clock = std::chrono::steady_clock;
  // Stages of one key.
  struct Kind {
    std::string key, machine, name, origin;
    records::StageChoice rule;
    bool reduces = false;
    std::vector<records::StageChoice> choices;
    double work = 0;
  };
  struct Change {
    std::vector<size_t> kinds;
    records::StageChoice choice;
    std::optional<std::vector<PlacedLayout>> layouts = {};  // none: over the best so far
  };
  struct Candidate {
    Change change;
    std::vector<PlacedLayout> layouts, beside;  // all that are not the rule's
    double ratio = 1;                           // of those beside it
    bool won = false;                           // once
    Clock::time_point begin = {};
  };

  void find_kinds(const std::vector<records::SeenLayout>& stages);
  void find_changes(const std::vector<records::SeenLayout>& stages);
  void find_algorithms();
  std::vector<PlacedLayout> with(const Change& change) const;
  std::string name_of(const Change& change) const;
  bool is_enough() const;
  Batch send(Candidate candidate);
  void judge(Candidate candidate, const Measurement& measured);
  void win(const Candidate& candidate, const LayoutTrial& trial);
  void tell_progress(const std::string& name);
  void tell_better(const std::vector<PlacedLayout>& before, const LayoutTrial& trial) const;

  const Options& options_;
  const Clock::time_point begin_;
  const std::string adapter_;
  std::vector<Kind> kinds_;
  std::deque<Change> changes_;
  std::set<std::string> told_;      // texts of layouts
  std::vector<PlacedLayout> best_;  // in the order of kinds
  double ratio_ = 1;
  int trials_ = 0, failures_ = 0;
  std::map<int, Candidate> under_way_;
  std::deque<Candidate> again_;  // that have won once
  int sent_ = 0, begun_ = 0, ended_ = 0;
  double guess_, took_ = 0;  // of a candidate; of all that have ended, in seconds
  Progress progress_;
};

}  // namespace gossamer::tune
