#include "tune/tuner.h"

#include <algorithm>
#include <chrono>

#include "tune/layout_search.h"

namespace gossamer::tune {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool is_stopped(const Options& options) { return options.is_stopped && options.is_stopped(); }

// Layouts before points: a kernel in another layout is another kernel.
Task<Result<>> search_layouts(Bench& bench, LayoutSearch& search, const Survey& survey,
                              double guess, const Options& options) {
  const Clock::time_point begin = Clock::now();
  Progress progress;
  for (const KernelTime& one : survey.timing.kernels) {
    const auto at = static_cast<size_t>(one.kernel);
    if (one.kernel < 0 || at >= survey.kernels.size() || one.ms <= 0) continue;
    progress.kernels.push_back(
        {survey.kernels[at].name, survey.kernels[at].origin, one.ms, one.ms});
  }
  std::ranges::sort(progress.kernels, std::greater(), &Progress::Kernel::ms);
  const int most = static_cast<int>(options.layout_share * options.trials);
  int asked = 0;
  while (!is_stopped(options)) {
    // As long as those before, on the average.
    const double each = asked > 0 ? seconds_since(begin) / asked : guess;
    if (options.seconds > 0 && seconds_since(begin) + each > options.layout_share * options.seconds)
      break;
    if (options.trials > 0 && asked >= most) break;
    const auto candidate = search.next();
    if (!candidate) break;
    ++asked;
    bool again = true;
    while (again) {
      GS_CO_ASSIGN(const LayoutTimes times,
                   co_await bench.challenge(search.best(), candidate->layouts));
      again = search.take(*candidate, times);
    }
    if (search.trials() + search.failures() == progress.layouts) continue;
    progress.seconds = seconds_since(begin);
    progress.layouts = search.trials() + search.failures();
    progress.layout_gain = 1 / search.ratio();
    progress.layout = candidate->name;
    if (options.on_progress) options.on_progress(progress);
  }
  co_return {};
}

void add(const Spent& spent, Outcome& outcome) {
  outcome.compile_seconds += spent.compile;
  outcome.load_seconds += spent.load;
  outcome.measure_seconds += spent.measure;
}

}  // namespace

Task<Result<Outcome>> tune(std::span<const std::byte> model, Measurer& measurer,
                           const Options& options) {
  const Clock::time_point begin = Clock::now();
  Bench bench(model, measurer, options.compile, options.is_stopped);
  GS_CO_ASSIGN(Survey survey, co_await bench.begin());
  const double guess = seconds_since(begin);
  const Clock::time_point surveyed = Clock::now();
  LayoutSearch layouts(survey, options);
  GS_CO_TRY(co_await search_layouts(bench, layouts, survey, guess, options));
  Spent spent = bench.spent();
  if (!layouts.best().empty()) {
    const Spent first = survey.spent;
    GS_CO_ASSIGN(survey, co_await bench.survey(layouts.best()));
    spent = {spent.compile + first.compile, spent.load + first.load, spent.measure + first.measure};
  }
  // Points have the time that is left.
  const double before = seconds_since(surveyed);
  Options rest = options;
  if (options.seconds > 0) rest.seconds = std::max(options.seconds - before, 0.01);
  rest.layouts = layouts.best();
  if (options.on_progress) {
    rest.on_progress = [&](const Progress& progress) {
      Progress whole = progress;
      whole.seconds += before;
      whole.layouts = layouts.trials() + layouts.failures();
      whole.layout_gain = 1 / layouts.ratio();
      options.on_progress(whole);
    };
  }
  GS_CO_ASSIGN(const auto planner, Planner::create(std::move(survey), rest));
  while (const auto batch = planner->next()) {
    GS_CO_ASSIGN(const Measurement measured, co_await bench.measure(*batch));
    planner->take(batch->number, measured);
  }
  Outcome outcome = planner->outcome();
  add(spent, outcome);
  outcome.layouts = layouts.changed();
  outcome.layout_trials = layouts.trials();
  outcome.layout_failures = layouts.failures();
  // All of its points have gone back by then.
  if (!outcome.layouts.empty() && outcome.run_ms_after > 1.01 * outcome.run_ms_before) {
    layouts.give_up();
    outcome.layouts_given_up = true;
  }
  co_return outcome;
}

}  // namespace gossamer::tune
