// The Node program in web/tests that runs packages in a browser (web/tests/README.md).
#pragma once

#include <memory>

#include "gossamer/runners/runner.h"

namespace gossamer::command {

class Command;

struct BrowserOptions {
  std::string name = "chromium", path, args;  // "": the default ones
  std::string limits;                         // compiler::Options::limits, kept by the browser too
  std::string device;  // rpc://...: there, and in no browser of ours; "native": here without one
};

// Answers requests (web/tests/README.md), a line each.
class Harness {
 public:
  virtual ~Harness() = default;
  virtual Result<std::string> ask(const std::string& line) = 0;
};

// --browser, --browser-path, --browser-args and --device.
void add_browser_options(const Command& command, BrowserOptions& options);

// What is wrong with --device for a target, in the words of a usage error; "" nothing.
std::string wrong_device(const std::string& target, const std::string& device);

// Starts it with a browser, or finds the device; outputs of models go to files below `outputs`.
// Errors: Node, the browser or the built run time is missing; there is no such device.
Result<std::unique_ptr<Harness>> start_harness(const BrowserOptions& options,
                                               const std::filesystem::path& outputs);

// The "inputs" of a request, as JSON; their bytes are written to files in `folder`.
Result<std::string> write_inputs(const std::vector<Port>& ports,
                                 const std::vector<ops::TensorData>& feeds,
                                 const std::filesystem::path& folder);

}  // namespace gossamer::command
