#include "tune/tuner.h"

namespace gossamer::tune {

Task<Result<Outcome>> tune(std::span<const std::byte> model, Measurer& measurer,
                           const Options& options) {
  Bench bench(model, measurer, options.compile, options.is_stopped);
  GS_CO_ASSIGN(Survey survey, co_await bench.begin());
  GS_CO_ASSIGN(const auto planner, Planner::create(std::move(survey), options));
  while (const auto batch = planner->next()) {
    GS_CO_ASSIGN(const Measurement measured, co_await bench.measure(*batch));
    planner->take(batch->number, measured);
  }
  co_return planner->outcome();
}

}  // namespace gossamer::tune
