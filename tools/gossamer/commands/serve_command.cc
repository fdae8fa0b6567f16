// gossamer serve: models over HTTP by the Open Inference Protocol.
#include <cstdio>
#include <cstdlib>

#include "api/open_model.h"
#include "compiler/compile.h"
#include "gossamer/commands/commands.h"
#include "gossamer/commands/fixed_inputs.h"
#include "gossamer/commands/progress.h"
#include "gossamer/commands/records_file.h"
#include "runtime/model.h"
#include "serve/http_server.h"
#include "serve/service.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

struct ServeOptions {
  std::vector<std::string> models;
  FixedInputs fixed;
  serve::HttpOptions http;
  serve::ServiceOptions service;
  int threads = 0;
};

struct Named {
  std::string name;
  fs::path path;
};

// NAME=FILE, or a file or folder that is named after itself.
Named named(const std::string& given) {
  std::error_code error;
  const size_t equals = given.find('=');
  if (equals != std::string::npos && !fs::exists(given, error))
    return {given.substr(0, equals), given.substr(equals + 1)};
  fs::path path = fs::path(given).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // a folder with a / at its end
  return {path.stem().string(), given};
}

Result<std::unique_ptr<runtime::Model>> load(const Named& named, const ServeOptions& options) {
  runtime::LoadOptions load;
  load.threads = options.threads;
  if (is_compiled(named.path)) return runtime::Model::load(named.path.string(), std::move(load));
  GS_ASSIGN(const OpenedModel opened, gossamer::open_model(named.path));
  const Bytes& model = opened.bytes;
  compiler::Options compile;
  compile.target = "cpu";
  compile.name = named.name;
  compile.external = opened.external.get();
  compile.view_weights = true;
  GS_TRY(apply(options.fixed, compile.known));
  GS_ASSIGN(const records::Records records, records_for({}, compile, Here::yes));
  compile.records = &records;
  Progress progress;
  compile.progress = [&](std::string_view step, double fraction) {
    progress.show(cat(named.name, ": ", step), fraction);
  };
  auto files = compiler::compile(model, compile);
  if (!files) {
    Diagnostic error = files.error();
    if (error.where.empty()) error.where = named.path.string();
    return std::unexpected(std::move(error));
  }
  GS_ASSIGN(const TemporaryFolder temporary, TemporaryFolder::create());
  GS_TRY(write_package(temporary.path() / "package", *files, opened.external.get()));
  // The files stay mapped when the folder is removed.
  return runtime::Model::load((temporary.path() / "package").string(), std::move(load));
}

void say(const std::string& line) { std::fprintf(stderr, "gossamer: %s\n", line.c_str()); }

// True as of serve_http.
Result<bool> serve_models(ServeOptions& options, serve::Service& service) {
  for (const std::string& given : options.models) {
    const Named model = named(given);
    GS_ASSIGN(auto loaded, load(model, options));
    const auto report = loaded->report();
    GS_TRY(service.add(model.name, std::move(loaded)));
    say(cat(model.name, ": ready, ", report.weight_bytes / 1000, " KB of weights"));
  }
  return serve::serve_http(service, options.http, [&](const std::string& url) {
    // The one line of standard output: where a script finds the server.
    std::printf("%s\n", url.c_str());
    std::fflush(stdout);
  });
}

int run_serve(ServeOptions& options) {
  if (options.service.token.empty())
    if (const char* token = std::getenv("GOSSAMER_TOKEN")) options.service.token = token;
  const bool loopback = options.http.host.starts_with("127.") || options.http.host == "::1";
  if (!loopback && options.service.token.empty())
    say(cat("anyone who reaches ", options.http.host, " may use the models: see --token"));
  options.service.version = GOSSAMER_VERSION;
  options.service.on_notice = say;
  bool all_answered = false;
  {
    serve::Service service(options.service);
    auto done = serve_models(options, service);
    if (!done) return report_error(done.error(), false);
    all_answered = *done;
    if (!all_answered) {
      say("ended before all requests were answered");
      std::_Exit(1);
    }
  }
  say("ended");
  return 0;
}

}  // namespace

void add_serve(CommandLine& app, Chosen& chosen) {
  auto options = std::make_shared<ServeOptions>();
  const Command command = app.add_command(
      "serve",
      "Answer requests over HTTP, by the Open Inference Protocol; for the folder of "
      "a language model, by OpenAI's API (gossamer-serve of the Python package)");
  command
      .add_option("models", options->models,
                  "ONNX files or packages for cpu; NAME=FILE names one, else its file does")
      .required();
  command.add_option("--port,-p", options->http.port, "0 takes a free one").show_default();
  command.add_option("--host", options->http.host, "The address to listen on").show_default();
  command.add_option("--token", options->service.token,
                     "What requests must send as Authorization: Bearer TOKEN; or set "
                     "GOSSAMER_TOKEN, which no list of processes shows");
  command.add_option("--threads", options->threads, "Of a run; 0 takes one a core")
      .within(0, 1024)
      .show_default();
  command
      .add_option("--max-batch", options->service.queue.max_batch,
                  "Join waiting requests to runs of at most so many rows, where every input's "
                  "first dimension is free; rows must not depend on each other")
      .within(1, 1 << 20)
      .show_default();
  command
      .add_option("--max-waiting", options->service.queue.max_waiting,
                  "Requests a model that may wait; more are answered with 503")
      .within(1, 1 << 20)
      .show_default();
  command
      .add_option("--max-body", options->http.body_bytes,
                  "Largest size of a request in bytes (64 MiB)")
      .bytes()
      .within(uint64_t{1}, uint64_t{1} << 40);
  command
      .add_option("--timeout", options->service.timeout,
                  "Seconds that a request may wait for its model")
      .within(0.001, 1e6)
      .show_default();
  command
      .add_option("--read-timeout", options->http.read_seconds,
                  "Seconds for a request to arrive, and for the next to begin")
      .within(0.001, 1e6)
      .show_default();
  command.add_option("--max-connections", options->http.connections, "More are closed at once")
      .within(1, 1 << 20)
      .show_default();
  add_fixed_inputs(command, options->fixed);
  command.chosen([options, &chosen] { chosen.run = [options] { return run_serve(*options); }; });
}

}  // namespace gossamer::command
