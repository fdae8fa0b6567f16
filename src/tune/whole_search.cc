#include "tune/whole_search.h"

#include <algorithm>

namespace gossamer::tune {
namespace {

using Clock = std::chrono::steady_clock;

void add(const Spent& spent, Spent& sum) {
  sum.compile += spent.compile;
  sum.load += spent.load;
  sum.measure += spent.measure;
}

Clock::duration duration_of(const Spent& spent) {
  const std::chrono::duration<double> all(spent.compile + spent.load + spent.measure);
  return std::chrono::duration_cast<Clock::duration>(all);
}

}  // namespace

WholeSearch::WholeSearch(Survey survey, const Options& options)
    : options_(options),
      begin_(Clock::now() - duration_of(survey.spent)),
      first_(std::move(survey)),
      layouts_(first_, options),
      points_(options) {}

double WholeSearch::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

Result<std::optional<Batch>> WholeSearch::next() {
  if (!planner_) {
    if (survey_ > 0) return std::nullopt;
    if (auto batch = layouts_.next()) return batch;
    if (layouts_.is_waited_for()) return std::nullopt;
    before_ = layouts_.sent();
    if (!layouts_.best().empty()) {
      survey_ = ++before_;
      return Batch{survey_, Batch::Kind::survey, layouts_.best(), {}, {}, {}};
    }
    GS_TRY(plan(first_));
  }
  auto batch = planner_->next();
  if (batch) batch->number += before_;
  return batch;
}

// Points have the time that is left.
Result<> WholeSearch::plan(Survey survey) {
  const double before = seconds();
  const double after = options_.compilations_after * first_.spent.compile;
  if (options_.seconds > 0) points_.seconds = std::max(options_.seconds - before - after, 1e-6);
  points_.layouts = layouts_.best();
  if (options_.on_progress) {
    points_.on_progress = [this, before](const Progress& progress) {
      Progress whole = progress;
      whole.seconds += before;
      whole.layouts = layouts_.trials() + layouts_.failures();
      whole.layout_gain = 1 / layouts_.ratio();
      options_.on_progress(whole);
    };
  }
  GS_ASSIGN(planner_, Planner::create(std::move(survey), points_));
  return {};
}

Result<> WholeSearch::take(int number, Measurement measured) {
  if (planner_ && number > before_) {
    planner_->take(number - before_, measured);
    if (planner_->is_over()) finish();
    return {};
  }
  if (planner_) return {};
  if (number != survey_) {
    add(measured.spent, spent_);
    layouts_.take(number, measured);
    return {};
  }
  if (!measured.survey) return fail("a survey was asked for, and the answer has none");
  add(first_.spent, spent_);
  return plan(*std::move(measured.survey));
}

Result<> WholeSearch::lose(int number, const std::string& why) {
  if (planner_) return number > before_ ? planner_->lose(number - before_, why) : Result<>();
  if (number == survey_) return fail(why);
  layouts_.lose(number, why);
  return {};
}

void WholeSearch::finish() {
  outcome_ = planner_->outcome();
  outcome_.compile_seconds += spent_.compile;
  outcome_.load_seconds += spent_.load;
  outcome_.measure_seconds += spent_.measure;
  outcome_.layouts = layouts_.changed();
  outcome_.layout_trials = layouts_.trials();
  outcome_.layout_failures = layouts_.failures();
  // All of its points have gone back by then.
  if (!outcome_.layouts.empty() && outcome_.run_ms_after > 1.01 * outcome_.run_ms_before) {
    layouts_.give_up();
    outcome_.layouts_given_up = true;
  }
}

}  // namespace gossamer::tune
