// The Node program in web/tests that runs packages in a browser (web/tests/README.md).
#pragma once

#include <CLI/CLI.hpp>

#include "gossamer/node_process.h"
#include "gossamer/runner.h"

namespace gossamer::command {

struct BrowserOptions {
  std::string name = "chromium", path, args;  // "": the default ones
  std::string limits;                         // compiler::Options::limits, kept by the browser too
};

// --browser, --browser-path and --browser-args.
void add_browser_options(CLI::App& command, BrowserOptions& options);

// Starts it with a browser; outputs of models go to files below `outputs`. Errors: Node, the
// browser or the built run time is missing.
Result<NodeProcess> start_harness(const BrowserOptions& options,
                                  const std::filesystem::path& outputs);

// The "inputs" of a request, as JSON; their bytes are written to files in `folder`.
Result<std::string> write_inputs(const std::vector<Port>& ports,
                                 const std::vector<ops::TensorData>& feeds,
                                 const std::filesystem::path& folder);

}  // namespace gossamer::command
