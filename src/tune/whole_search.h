// A search for a model, whichever devices measure for it: layouts first, since a kernel in another
// layout is another kernel, then points of the kernels that these make.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tune/layout_search.h"
#include "tune/planner.h"

namespace gossamer::tune {

class WholeSearch {
 public:
  // Of the first device's survey. The options must outlive it.
  WholeSearch(Survey survey, const Options& options);
  WholeSearch(const WholeSearch&) = delete;
  WholeSearch& operator=(const WholeSearch&) = delete;

  // What another device is to measure; none: only what is under way can tell, or, with nothing
  // under way, the search is over. Errors: there is nothing to tune.
  Result<std::optional<Batch>> next();
  // What a batch gave. Its number is forgotten: a second answer to it is no news. Errors: as of
  // next().
  Result<> take(int number, Measurement measured);
  // A batch that ended with several devices: layouts are recorded as failed, points are searched
  // for by halves. Error: it was no candidate's doing.
  Result<> lose(int number, const std::string& why);
  bool is_over() const { return planner_ && planner_->is_over(); }
  // Once it is over.
  Outcome outcome() const { return outcome_; }
  const std::string& adapter() const { return first_.timing.adapter; }

 private:
  double seconds() const;
  Result<> plan(Survey survey);
  void finish();

  const Options& options_;
  const std::chrono::steady_clock::time_point begin_;
  Survey first_;
  LayoutSearch layouts_;
  Options points_;  // the planner's: what is left
  std::unique_ptr<Planner> planner_;
  int survey_ = 0;  // the batch of the survey in the layouts that were taken; 0: none yet
  int before_ = 0;  // batches before the planner's, whose numbers come after
  Spent spent_;     // before the planner
  Outcome outcome_;
};

}  // namespace gossamer::tune
