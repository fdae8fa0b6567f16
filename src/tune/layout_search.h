// Which layouts to measure next. A kernel alone cannot say what its layout costs: the kernels
// around it read it, and a conversion may stand between. So each candidate is a whole model, timed
// by whole runs.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tune/planner.h"

namespace gossamer::tune {

struct LayoutCandidate {
  std::vector<PlacedLayout> layouts;  // all that are not the rule's
  std::string name;                   // "conv axis=3", "17 stages axis=3"
};

class LayoutSearch {
 public:
  // The options must outlive it.
  LayoutSearch(const Survey& survey, const Options& options);

  // Neither measured nor known yet; none: there is no other.
  std::optional<LayoutCandidate> next();
  // What it took, beside best(); whether it is to be measured once more before it is taken.
  bool take(const LayoutCandidate& candidate, const LayoutTimes& times);
  // By the rule again.
  void give_up();

  const std::vector<PlacedLayout>& best() const { return best_; }
  std::vector<TunedLayout> changed() const;
  double ratio() const { return ratio_; }
  int trials() const { return trials_; }
  int failures() const { return failures_; }

 private:
  // Stages of one key.
  struct Kind {
    std::string key, machine, name, origin;
    int rule = -1;
    bool reduces = false;
    std::vector<int> axes;
    double work = 0;
  };
  struct Change {
    std::vector<size_t> kinds;
    int axis = -1;
  };

  void find_kinds(const std::vector<schedule::SeenLayout>& stages);
  void find_changes(const std::vector<schedule::SeenLayout>& stages);
  std::vector<PlacedLayout> with(const Change& change) const;
  std::string name_of(const Change& change) const;
  void tell_better(const std::vector<PlacedLayout>& before, const LayoutTrial& trial) const;

  const Options& options_;
  const std::string adapter_;
  std::vector<Kind> kinds_;
  std::deque<Change> changes_;
  std::set<std::string> told_;      // texts of layouts
  std::vector<PlacedLayout> best_;  // in the order of kinds
  std::string almost_;              // text of one that has won once
  double ratio_ = 1;
  int trials_ = 0, failures_ = 0;
};

}  // namespace gossamer::tune
