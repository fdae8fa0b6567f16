// The command line: gossamer chat | compile | run | bench | test | inspect | gradient | ops | rpc |
// serve | targets | tune.

#include "gossamer/commands/commands.h"

int main(int argc, char** argv) {
  using namespace gossamer::command;
  if (const auto exit_code = serve_language_model(argc, argv)) return *exit_code;
  CommandLine app("gossamer",
                  "Gossamer compiles deep-learning models for the web and for this machine.",
                  "gossamer " GOSSAMER_VERSION);
  Chosen chosen;
  add_chat(app, chosen);
  add_compile(app, chosen);
  add_run(app, chosen);
  add_bench(app, chosen);
  add_test(app, chosen);
  add_inspect(app, chosen);
  add_gradient(app, chosen);
  add_ops(app, chosen);
  add_rpc(app, chosen);
  add_serve(app, chosen);
  add_targets(app, chosen);
  add_tune(app, chosen);
  add_cost_model(app, chosen);
  if (const auto exit_code = app.parse(argc, argv)) return *exit_code;
  return chosen.run();
}
