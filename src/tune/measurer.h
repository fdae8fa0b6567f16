// Where candidates run and are timed, whatever device that is.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "package/package.h"
#include "tune/task.h"

namespace gossamer::tune {

// What a kernel takes in one run; a sum over its launches.
struct KernelTime {
  int kernel = 0;  // of the package
  double ms = 0;
  double share = 0;  // of the device's limit that it reaches
};
struct Timing {
  std::string adapter;
  double run_ms = 0;  // from inputs to outputs, the median
  std::vector<KernelTime> kernels;
};

// Errors are what a candidate did: it does not load, a run failed, took too long, or took the
// device with it, which is there again for the next call.
class Measurer {
 public:
  virtual ~Measurer() = default;
  // A number for the others. Weights come with the first package of a model; later ones have files
  // without bytes instead, of the same SHA-256.
  virtual Task<Result<int>> load(package::Files files) = 0;
  virtual void free(int model) = 0;
  // Runs that many times, and times each kernel; where there are `kernels`, these at least, and
  // maybe no whole runs.
  virtual Task<Result<Timing>> profile(int model, int runs, const std::vector<int>& kernels) = 0;
  // Milliseconds of a run from inputs to outputs, the fastest of so many.
  virtual Task<Result<double>> time(int model, int runs) = 0;
  // One run's outputs are those of the first model that was asked about, or an error says which is
  // not.
  virtual Task<Result<>> check(int model) = 0;
};

}  // namespace gossamer::tune
