// The subcommands. Each adds itself to the parser and, when it was chosen, sets `run`, which gives
// the exit code: 0, or 1 for bad input. Bad usage (2) is the parser's.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "gossamer/command_line.h"

namespace gossamer::command {

struct Chosen {
  std::function<int()> run;
};

void add_chat(CommandLine& app, Chosen& chosen);
// Hands `gossamer serve` of a folder with tokenizer.json over to the Python package. Nothing: the
// words are others. Otherwise the exit code, where that is not installed.
std::optional<int> serve_language_model(int argc, char** argv);
void add_compile(CommandLine& app, Chosen& chosen);
void add_run(CommandLine& app, Chosen& chosen);
void add_bench(CommandLine& app, Chosen& chosen);
void add_test(CommandLine& app, Chosen& chosen);
void add_inspect(CommandLine& app, Chosen& chosen);
void add_gradient(CommandLine& app, Chosen& chosen);
void add_ops(CommandLine& app, Chosen& chosen);
void add_rpc(CommandLine& app, Chosen& chosen);
void add_serve(CommandLine& app, Chosen& chosen);
void add_targets(CommandLine& app, Chosen& chosen);
void add_tune(CommandLine& app, Chosen& chosen);
void add_cost_model(CommandLine& app, Chosen& chosen);

// Prints the error as one line on stderr, or as {"error": ...} on stdout; gives exit code 1.
int report_error(const Diagnostic& diagnostic, bool json);
// A usage error found after parsing; gives exit code 2.
int report_usage(const std::string& message);

}  // namespace gossamer::command
