// Searches better points for the kernels of a model on a device. Each round measures the model
// with one new point for many of its kernels beside the model as it is best so far, in turns, so
// that drift of the machine meets both.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/compile.h"
#include "tune/measurer.h"
#include "tune/search.h"

namespace gossamer::tune {

// A measured point, as a line of a file of records has it.
struct Trial {
  std::string key, machine;
  schedule::Point point;
  std::string adapter;       // as the device calls itself
  double ms = 0, ratio = 0;  // its time, and that by the default point's
  double spread = 0;         // of the ratio between turns: largest less smallest
  std::string failure;       // not empty: why there are no times
};

struct Progress {
  double seconds = 0;
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
struct Outcome {
  std::string adapter;
  std::vector<Tuned> kernels;  // those that took most first
  double run_ms_before = 0, run_ms_after = 0;
  int trials = 0, failures = 0;
  // Where the search's time went; the rest is its own thinking.
  double compile_seconds = 0, load_seconds = 0, measure_seconds = 0;
};

struct Options {
  compiler::Options compile;  // its records are those to begin with
  std::vector<Trial> known;   // of earlier searches on this device: not measured again
  int trials = 0;             // measured points at most; 0: as many as there is time for
  double seconds = 0;         // 0: until there is nothing left to try; one round at least
  unsigned seed = 1;
  // `kernel`: its name in the model.
  std::function<void(const Trial&, const std::string& kernel)> on_trial = {};
  // The best point of a kernel so far.
  std::function<void(const Trial&, const std::string& kernel)> on_better = {};
  std::function<void(const Progress&)> on_progress = {};
  std::function<bool()> is_stopped = {};
};

// Errors: what the model as it is does wrong. What candidates do wrong is a trial's failure. All
// three must outlive it. Waits where the measurer does.
Task<Result<Outcome>> tune(std::span<const std::byte> model, Measurer& measurer,
                           const Options& options);

}  // namespace gossamer::tune
