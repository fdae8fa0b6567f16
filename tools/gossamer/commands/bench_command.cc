// gossamer bench: how long runs of a model take on a target, and each of its kernels.
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "api/open_model.h"
#include "compiler/compile.h"
#include "gossamer/commands/commands.h"
#include "gossamer/commands/compile_options.h"
#include "gossamer/commands/fixed_inputs.h"
#include "gossamer/commands/records_file.h"
#include "gossamer/devices/web_harness.h"
#include "gossamer/runners/feeds.h"
#include "runtime/manifest.h"
#include "runtime/model.h"
#include "runtime/package_folder.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

struct BenchOptions {
  std::string model, target, trace;
  compiler::Options compile;
  std::string compile_option;  // one that was given
  RecordOptions records;
  std::vector<std::string> inputs;
  FixedInputs fixed;
  ImageOptions image;
  BrowserOptions browser;
  int runs = 10, threads = 0;
  double timeout = 600;
  bool profile = false, json = false;
};

// A package that is there, or in a temporary folder.
struct Package {
  fs::path folder;
  package::Module module;
  onnx::Known known;  // what the command line says of the inputs
};

// What a target's run time found: whole runs, or a profile of its own making.
struct Found {
  std::string model, adapter;
  std::vector<double> times;  // milliseconds
  std::vector<double> fixed;  // the same of a package with fixed dimensions, in turns with `times`
  std::string table, trace, json;
};

// `dims` are fixed, too, where the package is compiled here.
Result<Package> find_package(const BenchOptions& options, const TemporaryFolder& temporary,
                             const onnx::Known& dims = {}) {
  Package found;
  GS_TRY(apply(options.fixed, found.known));
  found.known.dims.insert(dims.dims.begin(), dims.dims.end());
  if (is_compiled(options.model)) {
    if (!options.fixed.shapes.empty() || !options.fixed.constants.empty() ||
        !options.fixed.sequences.empty())
      return fail_at(options.model, "is compiled: of its inputs, --dim alone can say something");
    if (!options.compile_option.empty())
      return fail_at(options.model, "is compiled, with the options that were given then",
                     cat("leave ", options.compile_option, " out, or give the ONNX file"));
    found.folder = options.model;
    const auto is_package = [](const fs::path& folder) {
      std::error_code error;
      return fs::exists(folder / "manifest.json", error);
    };
    if (!is_package(found.folder) && !options.target.empty() &&
        is_package(found.folder / options.target))
      found.folder /= options.target;
    if (!is_package(found.folder))
      return std::unexpected(runtime::open_package(found.folder.string()).error());
  } else {
    GS_ASSIGN(const OpenedModel model, gossamer::open_model(options.model));
    compiler::Options compile = options.compile;
    compile.target = options.target;
    compile.native_side = runs_here_on(options.target, options.browser.device);
    if (compile.native_side && compile.limits.empty()) compile.limits = limits_here(options.target);
    compile.known = found.known;
    GS_ASSIGN(const records::Records records,
              records_for(options.records, compile, compile.native_side ? Here::yes : Here::no));
    compile.records = &records;
    compile.external = model.external.get();
    compile.view_weights = true;
    auto files = compiler::compile(model.bytes, compile);
    if (!files) {
      Diagnostic error = files.error();
      if (error.where.empty()) error.where = options.model;
      return std::unexpected(std::move(error));
    }
    found.folder = temporary.path() / (dims.dims.empty() ? "package" : "fixed");
    GS_TRY(write_package(found.folder, *files, model.external.get()));
  }
  const std::string file = (found.folder / "manifest.json").string();
  GS_ASSIGN(const std::string text, read_text(file));
  auto manifest = runtime::parse_manifest(text);
  if (!manifest) return fail_at(file, manifest.error().message, manifest.error().hint);
  found.module = std::move(manifest->module);
  if (const auto target = name_of(found.module.target);
      !options.target.empty() && target != options.target)
    return fail_at(options.model, cat("is a package for ", target, ", not for ", options.target));
  return found;
}

// The dimensions that are open, by their names, as long as they are in the feeds.
onnx::Known open_dimensions(const package::Module& module,
                            const std::vector<ops::TensorData>& feeds) {
  onnx::Known known;
  for (const package::Dim& dim : module.dims) {
    const auto input = static_cast<size_t>(dim.input), axis = static_cast<size_t>(dim.axis);
    if (dim.output >= 0 || input >= feeds.size() || axis >= feeds[input].shape.size()) continue;
    if (feeds[input].shape[axis] > 0) known.dims.emplace(dim.name, feeds[input].shape[axis]);
  }
  return known;
}

// `fixed`: a package of the same model for these feeds alone; null: none.
Result<Found> bench_here(const BenchOptions& options, const Package& package, const Package* fixed,
                         const std::vector<ops::TensorData>& feeds) {
  using Clock = std::chrono::steady_clock;
  const auto loaded = [&](const Package& one) {
    runtime::LoadOptions load;
    load.threads = options.threads;
    return runtime::Model::load(one.folder.string(), std::move(load));
  };
  GS_ASSIGN(const auto model, loaded(package));
  std::vector<runtime::HostTensor> tensors;
  for (const ops::TensorData& feed : feeds)
    tensors.push_back({feed.dtype, feed.shape, feed.bytes, feed.strings});
  Found found;
  if (options.profile) {
    GS_ASSIGN(const Profile profile, model->profile(tensors, {options.runs}));
    return Found{{}, {}, {}, {}, profile.table(), profile.trace(), profile.json()};
  }
  const auto timed = [&](auto& of, bool counts, std::vector<double>& times) -> Result<> {
    const Clock::time_point begin = Clock::now();
    GS_TRY(of.run(tensors));
    const std::chrono::duration<double, std::milli> time = Clock::now() - begin;
    if (counts) times.push_back(time.count());
    return {};
  };
  std::unique_ptr<runtime::Model> other;
  if (fixed) {
    GS_ASSIGN(other, loaded(*fixed));
  }
  for (int run = -1; run < options.runs; ++run) {  // the first warms up
    GS_TRY(timed(*model, run >= 0, found.times));
    if (other) GS_TRY(timed(*other, run >= 0, found.fixed));
  }
  found.model = model->name();
  found.adapter = model->report().device;
  return found;
}

std::string request_line(const BenchOptions& options, const Package& package,
                         const std::string& inputs) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  json.Key("id");
  json.Int(0);
  json.Key("package_dir");
  json.String(fs::absolute(package.folder).string());
  json.Key("inputs");
  json.RawValue(inputs.data(), inputs.size(), rapidjson::kArrayType);
  json.Key("options");
  json.StartObject();
  json.Key("device");
  json.String(std::string(name_of(package.module.target)));
  json.Key("runs");
  json.Int(options.runs);
  json.Key("bench");
  json.String(options.profile ? "profile" : "runs");
  json.Key("timeout_s");
  json.Double(options.timeout);
  if (options.threads > 0) {
    json.Key("threads");
    json.Int(options.threads);
  }
  json.EndObject();
  json.EndObject();
  return text.GetString();
}

Result<Found> bench_in_browser(const BenchOptions& options, const Package& package,
                               const std::vector<Port>& ports,
                               const std::vector<ops::TensorData>& feeds,
                               const fs::path& temporary) {
  GS_ASSIGN(const std::string inputs, write_inputs(ports, feeds, temporary));
  GS_ASSIGN(const auto harness, start_harness(options.browser, temporary / "outputs"));
  GS_ASSIGN(const std::string line, harness->ask(request_line(options, package, inputs)));
  rapidjson::Document answer;
  answer.Parse<rapidjson::kParseIterativeFlag>(line.c_str());
  if (answer.HasParseError() || !answer.IsObject())
    return fail(cat("the harness answered ", line.substr(0, 80)));
  if (!answer.HasMember("bench"))
    return fail_at(options.model, answer.HasMember("error") && answer["error"].IsString()
                                      ? answer["error"].GetString()
                                      : "the run time gave no answer");
  const auto& bench = answer["bench"];
  Found found;
  if (!options.profile) {
    found.model = package.module.name;
    found.adapter = bench["adapter"].GetString();
    for (const auto& time : bench["times"].GetArray()) found.times.push_back(time.GetDouble());
    return found;
  }
  found.table = bench["table"].GetString();
  found.trace = bench["trace"].GetString();
  rapidjson::StringBuffer text;
  Json json(text);
  bench["profile"].Accept(json);
  found.json = text.GetString();
  return found;
}

double median_of(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

void print_times(const BenchOptions& options, const std::string& target, const onnx::Known& dims,
                 const Found& found) {
  const double median = median_of(found.times), fastest = std::ranges::min(found.times);
  // What else the machine does makes medians of the two differ, and the fastest runs hardly.
  const double fixed = found.fixed.empty() ? 0 : std::ranges::min(found.fixed);
  if (!options.json) {
    std::printf("%s on %s: %s\n%.3f ms a run, the median of %zu; the fastest %.3f ms\n",
                found.model.c_str(), target.c_str(), found.adapter.c_str(), median,
                found.times.size(), fastest);
    constexpr double least = 1.05;  // what turns tell apart
    if (fixed <= 0 || fastest < least * fixed) return;
    std::string given;
    for (const auto& [name, extent] : dims.dims) given += cat(" --dim ", name, "=", extent);
    std::printf("the fastest %.3f ms (%.2fx faster) with fixed dimensions:%s\n", fixed,
                fastest / fixed, given.c_str());
    return;
  }
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  json.Key("model");
  json.String(found.model);
  json.Key("device");
  json.String(target);
  json.Key("adapter");
  json.String(found.adapter);
  json.Key("runs");
  json.Uint64(found.times.size());
  json.Key("runMs");
  json.Double(median);
  json.Key("fastestMs");
  json.Double(fastest);
  if (fixed > 0) {
    json.Key("fixedFastestMs");
    json.Double(fixed);
  }
  json.EndObject();
  std::printf("%s\n", text.GetString());
}

Result<> bench(const BenchOptions& options) {
  GS_ASSIGN(const TemporaryFolder temporary, TemporaryFolder::create());
  GS_ASSIGN(const Package package, find_package(options, temporary));
  const std::vector<Port> ports = ports_of(package.module, package.known);
  runtime::Defaults defaults;
  const fs::path defaults_file = package.folder / package::defaults_file;
  if (std::error_code error; fs::exists(defaults_file, error)) {
    GS_ASSIGN(const Bytes file, read_file(defaults_file));
    GS_ASSIGN(defaults, parse_defaults(file, ports));
  }
  GS_ASSIGN(const auto feeds, make_feeds(options.inputs, options.image, ports, defaults));
  const std::string target(name_of(package.module.target));
  const bool here = runs_here_on(target, options.browser.device);
  onnx::Known dims;
  std::optional<Package> fixed;
  if (here && !options.profile && !options.inputs.empty() && !is_compiled(options.model))
    dims = open_dimensions(package.module, feeds);
  if (!dims.dims.empty()) {
    if (auto made = find_package(options, temporary, dims)) fixed = *std::move(made);
  }
  GS_ASSIGN(const Found found,
            here ? bench_here(options, package, fixed ? &*fixed : nullptr, feeds)
                 : bench_in_browser(options, package, ports, feeds, temporary.path()));
  if (!options.profile) {
    print_times(options, target, dims, found);
    return {};
  }
  if (!options.trace.empty())
    GS_TRY(write_file(options.trace, std::as_bytes(std::span(found.trace))));
  std::printf("%s\n", (options.json ? found.json : found.table).c_str());
  return {};
}

int run_bench(const BenchOptions& options) {
  if (options.target.empty() && !is_compiled(options.model))
    return report_usage("--target is required for an ONNX file");
  if (const std::string wrong = wrong_device(options.target, options.browser.device);
      !options.target.empty() && !wrong.empty())
    return report_usage(wrong);
  if (!options.trace.empty() && !options.profile) return report_usage("--trace is for --profile");
  if (auto done = bench(options); !done) return report_error(done.error(), options.json);
  return 0;
}

}  // namespace

void add_bench(CommandLine& app, Chosen& chosen) {
  auto options = std::make_shared<BenchOptions>();
  const Command command =
      app.add_command("bench", "Time a model's runs on a target, or each of its kernels");
  command.add_option("model", options->model, "An ONNX file, or a package").required();
  command.add_option("--target,-t", options->target, "Where it runs; web targets in a browser")
      .one_of(target_names());
  command.add_flag("--profile", options->profile,
                   "A line a kernel: time, bytes, operations, and the share of the measured rate "
                   "of the machine that it reaches");
  command.add_option("--trace", options->trace,
                     "With --profile: write one run as a trace, for ui.perfetto.dev");
  command.add_option("--runs", options->runs, "Whole runs that are timed")
      .within(1, 1000000)
      .show_default();
  command
      .add_option("--input,-i", options->inputs,
                  "NAME=FILE: .npy, .pb, .json (strings), .png or .jpg; inputs without one are "
                  "made up: halves, and zeros where they are no floats")
      .one_value();
  add_fixed_inputs(command, options->fixed);
  add_records_option(command, options->records, "Of an ONNX file: as compile --records");
  add_device_class_option(command, options->records.device_class);
  command
      .add_option("--threads", options->threads,
                  "Of cpu and wasm; 0: one a core, in browsers up to 4")
      .within(0, 1024);
  const CompileOptionNames compiling = add_compile_options(command, options->compile);
  command.add_option("--timeout", options->timeout, "Seconds that a browser may take").positive();
  add_browser_options(command, options->browser);
  command.add_flag("--json", options->json, "Machine-readable output");
  command.chosen([options, compiling, &chosen] {
    for (const auto& [name, option] : compiling)
      if (option.given()) options->compile_option = "--" + name;
    chosen.run = [options] { return run_bench(*options); };
  });
}

}  // namespace gossamer::command
