// The command line: gossamer compile | run | bench | test | inspect | gradient | ops | rpc | serve
// | targets | tune.

#include <cstdio>

#include "gossamer/commands.h"

int main(int argc, char** argv) {
  using namespace gossamer::command;
  CLI::App app("Gossamer compiles deep-learning models for the web and for this machine.",
               "gossamer");
  app.require_subcommand(1);
  app.set_version_flag("--version", "gossamer " GOSSAMER_VERSION);
  Chosen chosen;
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::string line = error.what();
    for (char& letter : line)
      if (letter == '\n') letter = ' ';
    std::fprintf(stderr, "gossamer: %s (see gossamer --help)\n", line.c_str());
    return 2;
  }
  return chosen.run();
}
