// Which point of a kernel's space to measure next: the best measured ones are varied, and of what
// comes out a model of costs picks (evolutionary search with a learned cost model; Zheng et al.,
// "Ansor", 2020).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "tune/boosted_trees.h"
#include "tune/space.h"

namespace gossamer::tune {

// Time of a point in comparison with the same kernel's default one, learned from all kernels that
// were measured on one machine.
class CostModel {
 public:
  // Begins with what was learned elsewhere, which must outlive it, and learns how it is otherwise
  // here; null: with nothing.
  void begin_with(const BoostedTrees* before) { before_ = before; }
  void add(const Space& space, const schedule::Point& point, double ratio);
  // To what was added so far.
  void fit();
  bool knows_something() const { return fitted_ || before_; }
  // The logarithm of the ratio.
  double predict(const Space& space, const schedule::Point& point) const;
  // What it learned here alone.
  const BoostedTrees& trees() const { return trees_; }

 private:
  const BoostedTrees* before_ = nullptr;
  std::vector<float> rows_;
  std::vector<double> targets_;
  BoostedTrees trees_;
  bool fitted_ = false;
};

// The search for one kernel.
class Search {
 public:
  // The group must outlive it.
  Search(const stages::Group& group, const target::Capabilities& capabilities, unsigned seed);

  // A legal point that was neither told nor given yet; none: there seems to be no other.
  std::optional<schedule::Point> next(const CostModel& model);
  // Its time by the default point's; none: it failed, and is not asked for again.
  void tell(const schedule::Point& point, std::optional<double> ratio);
  // It was not measured, and may be given again.
  void forget(const schedule::Point& point);

  bool is_over() const { return in_vain_ >= 3; }
  const Space& space() const { return space_; }
  size_t told() const { return told_.size(); }

 private:
  using Rated = std::pair<double, schedule::Point>;  // by what is known or expected of it
  schedule::Point candidate(const std::vector<Rated>& parents);
  std::vector<schedule::Point> likely(const CostModel& model);

  Space space_;
  Random random_;
  std::map<std::string, bool> told_;                 // by their text; false: no schedule has it
  std::set<std::string> given_;                      // and not told
  std::multimap<double, schedule::Point> measured_;  // by ratio
  int in_vain_ = 0;
};

}  // namespace gossamer::tune
