// Where the time of a run goes: what Model::profile gives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gossamer {

struct ProfileOptions {
  int runs = 10;  // that are timed, after one that is not
};

// What plain loops reach on a device, with all its threads; 0: not known.
struct Limits {
  double copy_rate = 0;        // 10^9 bytes a second, read and written, of a copy of 16 MiB
  double arithmetic_rate = 0;  // 10^9 a second of multiply-adds of f32 in registers, each two
};

// One launch of a run.
struct LaunchProfile {
  std::string name, origin;  // as the compiler called it; the model's nodes that it computes
  int kernel = 0;            // of the package
  double ms = 0;             // the median of the runs
  double bytes = 0;          // of the tensors that it reads and writes, each once
  double operations = 0;     // of its arithmetic (docs/specs/package.md); 0: none, or not known
};

// All launches of a kernel in one run; sums.
struct KernelProfile {
  std::string name, origin, schedule;
  int64_t launches = 0;  // 0: it only runs at load
  double ms = 0, bytes = 0, operations = 0;
  // What it could not do without for longer, at the rates of the limits: "memory" or "arithmetic".
  std::string limit;
  // Of that limit's rate; more than 1 where data lies in caches or not all of a tensor is touched.
  double share = 0;
};

struct Profile {
  std::string model, device, adapter;  // "cpu", "cpu, 2 threads"
  // "clock": launches of the runs between two readings of the host's clock; "timestamps": of the
  // device's (opencl; webgpu, where the adapter has them; opengl, on a GPU in hardware)
  std::string method;
  double run_ms = 0;     // from inputs to outputs, the median of the runs
  double kernel_ms = 0;  // the sum over launches
  Limits limits;
  std::vector<KernelProfile> kernels;   // those that take most first
  std::vector<LaunchProfile> launches;  // in the order of the run

  // Text for people: a line a kernel.
  std::string table() const;
  // One run in Chrome's "Trace Event Format" (JSON), which ui.perfetto.dev opens: an event a
  // launch, one after the other.
  std::string trace() const;
  // All of it, with the names that a profile has in the page.
  std::string json() const;
};

}  // namespace gossamer
