#include "tune/tuner.h"

#include "tune/whole_search.h"

namespace gossamer::tune {

Task<Result<Outcome>> tune(std::span<const std::byte> model, Measurer& measurer,
                           const Options& options) {
  Bench bench(model, measurer, options.compile, options.is_stopped);
  GS_CO_ASSIGN(Survey survey, co_await bench.begin());
  WholeSearch search(std::move(survey), options);
  while (true) {
    GS_CO_ASSIGN(const std::optional<Batch> batch, search.next());
    if (!batch) break;
    GS_CO_ASSIGN(Measurement measured, co_await bench.measure(*batch));
    GS_CO_TRY(search.take(batch->number, std::move(measured)));
  }
  Outcome outcome = search.outcome();
  outcome.weights = bench.weights();
  co_return outcome;
}

}  // namespace gossamer::tune
