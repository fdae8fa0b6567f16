// A search whose planner and devices are programs of their own, anywhere: each answers lines on its
// standard input with lines on its standard output (tune/batch_text.h). Who carries the lines, and
// starts the programs again, is python/gossamer/fleet.py.
#pragma once

#include <atomic>
#include <functional>

#include "tune/measurer.h"
#include "tune/planner.h"

namespace gossamer::command {

// Says its survey, then answers each batch with its measurement. With the end of its input the
// process ends, even while it measures. Errors: what the model as it is does wrong, a device that
// is gone; the batch is then to be measured by another.
Result<> measure_batches(std::span<const std::byte> model, tune::Measurer& measurer,
                         const compiler::Options& compile);

// Says {"files": [names]}, what else the model's folder must have where it is measured; then
// answers, until its input ends:
//
//   survey SURVEY      {}, or {"error"}: of a device that is not like the first one
//   next               {"batch"}, {"wait"}: only what is under way can tell, or {"end", "table"}
//   take MEASUREMENT   {}
//   lose NUMBER WHY    {}, or {"error"}; of a batch that ended with several devices
//   stop               {}: no more batches but the comparison at the end
//
// `is_stopped`: what options.is_stopped reads.
Result<> plan_batches(std::span<const std::byte> model, const tune::Options& options,
                      std::atomic<bool>& is_stopped,
                      const std::function<std::string(const tune::Outcome&)>& table_of);

}  // namespace gossamer::command
