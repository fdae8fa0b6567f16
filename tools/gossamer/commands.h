// The subcommands. Each adds itself to the parser and, when it was chosen, sets `run`, which gives
// the exit code: 0, or 1 for bad input. Bad usage (2) is the parser's.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/result.h"

namespace gossamer::command {

struct Chosen {
  std::function<int()> run;
};

void add_compile(CLI::App& app, Chosen& chosen);
void add_run(CLI::App& app, Chosen& chosen);
void add_bench(CLI::App& app, Chosen& chosen);
void add_test(CLI::App& app, Chosen& chosen);
void add_inspect(CLI::App& app, Chosen& chosen);
void add_gradient(CLI::App& app, Chosen& chosen);
void add_ops(CLI::App& app, Chosen& chosen);
void add_rpc(CLI::App& app, Chosen& chosen);
void add_serve(CLI::App& app, Chosen& chosen);
void add_targets(CLI::App& app, Chosen& chosen);
void add_tune(CLI::App& app, Chosen& chosen);
void add_cost_model(CLI::App& app, Chosen& chosen);

// Prints the error as one line on stderr, or as {"error": ...} on stdout; gives exit code 1.
int report_error(const Diagnostic& diagnostic, bool json);
// A usage error found after parsing; gives exit code 2.
int report_usage(const std::string& message);

}  // namespace gossamer::command
