// gossamer tune: searches better points for a model's kernels on a device, into a file of records.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "api/open_model.h"
#include "gossamer/commands/commands.h"
#include "gossamer/commands/compile_options.h"
#include "gossamer/commands/fixed_inputs.h"
#include "gossamer/commands/progress.h"
#include "gossamer/commands/records_file.h"
#include "gossamer/devices/tune_device.h"
#include "gossamer/devices/tune_fleet.h"
#include "gossamer/runners/feeds.h"
#include "runtime/device_here.h"
#include "runtime/manifest.h"
#include "shipped/shipped.h"
#include "tune/tuner.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

struct TuneOptions {
  std::string model, output, fleet, device_class;
  std::vector<std::string> inputs;
  FixedInputs fixed;
  ImageOptions image;
  MeasureOptions measure;
  compiler::Options compile;
  int trials = 0;
  double seconds = 0, layout_share = tune::Options().layout_share;
  unsigned seed = 1;
  bool json = false;
};

std::atomic<bool> is_interrupted;

// The next one ends the program.
void interrupt(int signal) {
  is_interrupted = true;
  std::signal(signal, SIG_DFL);
}

// Of the model as it is compiled without records: what it takes, of what shapes.
Result<std::vector<rpc::NamedTensor>> feeds_of(const Bytes& model, const TuneOptions& options,
                                               const compiler::Options& compile) {
  GS_ASSIGN(const package::Files files, compiler::compile(model, compile));
  const auto named = [&](std::string_view name) {
    return std::ranges::find(files, name, &package::File::name);
  };
  const auto text = named("manifest.json"), values = named(package::defaults_file);
  GS_CHECK(text != files.end(), "a package has a manifest");
  GS_ASSIGN(const auto manifest,
            runtime::parse_manifest(
                {reinterpret_cast<const char*>(text->bytes.data()), text->bytes.size()}));
  const std::vector<Port> ports = ports_of(manifest.module, compile.known);
  runtime::Defaults defaults;
  if (values != files.end()) {
    GS_ASSIGN(defaults, parse_defaults(values->bytes, ports));
  }
  GS_ASSIGN(auto feeds, make_feeds(options.inputs, options.image, ports, defaults, true));
  std::vector<rpc::NamedTensor> inputs;
  for (size_t at = 0; at < feeds.size(); ++at)
    inputs.push_back(
        {ports[at].name, {feeds[at].dtype, feeds[at].shape, feeds[at].bytes, feeds[at].strings}});
  return inputs;
}

std::string bar(double fraction) {
  constexpr size_t width = 24;
  const auto full = static_cast<size_t>(std::clamp(fraction, 0.0, 1.0) * width);
  return "[" + std::string(full, '=') + std::string(width - full, ' ') + "]";
}

std::string rounded(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// How far it is, of what ends it first.
double fraction_of(const tune::Progress& progress, const TuneOptions& options) {
  double fraction = 0;
  if (options.trials > 0) fraction = double(progress.trials) / options.trials;
  if (options.seconds > 0) fraction = std::max(fraction, progress.seconds / options.seconds);
  return fraction;
}

std::string line_of(const tune::Progress& progress, const TuneOptions& options) {
  const double fraction = fraction_of(progress, options);
  std::string line = cat(bar(fraction), " ");
  if (progress.layouts > 0 || !progress.layout.empty())
    line += cat(progress.layouts, " layouts, runs ", rounded(progress.layout_gain, 2), "x; ");
  if (!progress.layout.empty()) return line + progress.layout.substr(0, 40);
  line += cat(progress.trials, " points, kernels ", rounded(progress.gain, 2), "x");
  if (!progress.kernel.empty())
    line += cat("; ", progress.kernel.substr(0, 24), " ", rounded(progress.kernel_gain, 2), "x, ",
                rounded(100 * progress.share, 0), "% of its limit");
  if (fraction > 0)
    line += cat("; ", rounded(progress.seconds * (1 - fraction) / fraction, 0), " s left");
  return line;
}

std::string table_of(const tune::Outcome& outcome) {
  std::string table;
  const auto print = [&](const char* format, const auto&... values) {
    char line[1024];
    std::snprintf(line, sizeof line, format, values...);
    table += line;
  };
  print("%s\n%10s %10s %7s %13s %7s  %-28s %s\n", outcome.adapter.c_str(), "before ms", "after ms",
        "gain", "% of limit", "points", "kernel", "point");
  double before = 0, after = 0;
  for (const tune::Tuned& kernel : outcome.kernels) {
    before += kernel.ms_before;
    after += kernel.ms_after;
    const std::string shares =
        cat(rounded(100 * kernel.share_before, 0), " to ", rounded(100 * kernel.share_after, 0));
    print("%10.4f %10.4f %6.2fx %13s %7d  %-28s %s\n", kernel.ms_before, kernel.ms_after,
          kernel.ms_after > 0 ? kernel.ms_before / kernel.ms_after : 1, shares.c_str(),
          kernel.trials, kernel.name.substr(0, 28).c_str(),
          to_string(kernel.before) == to_string(kernel.after) ? "the default one"
                                                              : to_string(kernel.after).c_str());
  }
  for (const tune::TunedLayout& one : outcome.layouts)
    print("%s of %s: %s, by the rule %s; %s\n", name_of(one.after.of).data(),
          one.name.substr(0, 40).c_str(), to_string(one.after).c_str(),
          to_string(one.before).c_str(), one.origin.substr(0, 80).c_str());
  if (outcome.layout_trials + outcome.layout_failures > 0)
    print("%d layouts measured, %d failed; %s\n", outcome.layout_trials, outcome.layout_failures,
          outcome.layouts_given_up  ? "whole runs were slower at the end: the rule's stay"
          : outcome.layouts.empty() ? "the rule's stay"
                                    : "those above are taken");
  print("kernels %.4f ms, now %.4f ms: %.2fx; whole runs %.4f ms, now %.4f ms: %.2fx\n", before,
        after, after > 0 ? before / after : 1, outcome.run_ms_before, outcome.run_ms_after,
        outcome.run_ms_after > 0 ? outcome.run_ms_before / outcome.run_ms_after : 1);
  print("%d points measured, %d failed; %.1f s compiling, %.1f s loading, %.1f s measuring\n",
        outcome.trials, outcome.failures, outcome.compile_seconds, outcome.load_seconds,
        outcome.measure_seconds);
  return table;
}

Result<tune::Outcome> tune_model(const TuneOptions& options) {
  GS_ASSIGN(const OpenedModel opened, gossamer::open_model(options.model));
  const Bytes& model = opened.bytes;
  tune::Options tune;
  tune.compile = options.compile;
  tune.compile.target = options.measure.target;
  tune.compile.native_side = runs_here_on(options.measure.target, options.measure.browser.device);
  if (tune.compile.native_side && tune.compile.limits.empty())
    tune.compile.limits = limits_here(options.measure.target);
  tune.compile.external = opened.external.get();
  GS_TRY(apply(options.fixed, tune.compile.known));
  std::vector<rpc::NamedTensor> feeds;
  if (options.fleet != "plan") {
    GS_ASSIGN(feeds, feeds_of(model, options, tune.compile));
  }
  if (options.fleet == "measure") {
    GS_ASSIGN(const auto measurer, RpcMeasurer::start(options.measure, std::move(feeds)));
    GS_TRY(measure_batches(model, *measurer, tune.compile));
    return tune::Outcome();
  }
  tune::Recorded recorded;
  // A search begins where others ended.
  GS_TRY(shipped::add_to(recorded, tune.compile, options.device_class, [&] {
    return tune.compile.native_side ? runtime::device_here(tune.compile.target) : "";
  }));
  tune.compile.records = &recorded.records;
  std::error_code error;
  if (fs::exists(options.output, error)) {
    GS_ASSIGN(tune::Recorded read, read_records(options.output));
    tune.known = std::move(read.trials);
    tune.known_layouts = std::move(read.layout_trials);
    recorded.records.add(std::move(read.records));
    std::ranges::move(read.costs, std::back_inserter(recorded.costs));
  }
  tune.costs = std::move(recorded.costs);
  std::ofstream output(options.output, std::ios::app);
  if (!output) return fail_at(options.output, "cannot be written");
  const auto write = [&](const tune::Trial& trial, const std::string& kernel, bool best) {
    output << line_of(trial, kernel, best) << '\n' << std::flush;
  };
  tune.on_trial = [&](const auto& trial, const auto& kernel) { write(trial, kernel, false); };
  tune.on_better = [&](const auto& trial, const auto& kernel) { write(trial, kernel, true); };
  tune.on_layout_trial = [&](const auto& trial, const auto& name) {
    output << line_of(trial, name) << '\n' << std::flush;
  };
  tune.on_better_layout = [&](const auto& layout, const auto& trial, const auto& name) {
    output << line_of(layout, trial, name) << '\n' << std::flush;
  };
  tune.layout_share = options.layout_share;
  tune.trials = options.trials;
  tune.seconds = options.seconds;
  tune.seed = options.seed;
  Progress bar(options.json);
  tune.on_progress = [&](const tune::Progress& progress) {
    bar.show(line_of(progress, options), fraction_of(progress, options));
  };
  tune.is_stopped = [] { return is_interrupted.load(); };
  if (options.fleet == "plan") {
    GS_TRY(plan_batches(model, tune, is_interrupted, table_of));
    if (!output) return fail_at(options.output, "cannot be written");
    return tune::Outcome();
  }
  GS_ASSIGN(const auto measurer, RpcMeasurer::start(options.measure, std::move(feeds)));
  std::signal(SIGINT, interrupt);
  auto outcome = tune::tune(model, *measurer, tune).now();
  std::signal(SIGINT, SIG_DFL);
  if (outcome && !output) return fail_at(options.output, "cannot be written");
  return outcome;
}

int run_tune(const TuneOptions& options) {
  const bool measures = options.fleet == "measure";
  if (options.output.empty() && !measures) return report_usage("--output is required");
  if (options.trials == 0 && options.seconds == 0 && !measures)
    return report_usage("--trials or --seconds is needed: a search has no end of its own");
  if (const std::string wrong =
          wrong_device(options.measure.target, options.measure.browser.device);
      !wrong.empty())
    return report_usage(wrong);
  const auto outcome = tune_model(options);
  if (!outcome) return report_error(outcome.error(), options.json || !options.fleet.empty());
  if (!options.fleet.empty()) return 0;
  if (options.json) {
    std::printf("%s\n", to_json(*outcome).c_str());
  } else {
    std::fputs(table_of(*outcome).c_str(), stdout);
  }
  return 0;
}

}  // namespace

void add_tune(CommandLine& app, Chosen& chosen) {
  auto options = std::make_shared<TuneOptions>();
  const Command command = app.add_command(
      "tune", "Search faster kernels for a model on a device, for `compile --records`");
  command.add_option("model", options->model, "An ONNX file").required();
  command.add_option("--target,-t", options->measure.target, "Where it runs")
      .required()
      .one_of(target_names());
  command.add_option("--output,-o", options->output,
                     "Records, a line each; a file that is there is gone on with");
  command.add_option("--trials", options->trials, "Points to measure").within(1, 10000000);
  command.add_option("--seconds", options->seconds, "To search for, the comparison at the end too")
      .positive();
  command
      .add_option("--layout-share", options->layout_share,
                  "Of --seconds, or of --trials and beside them, for layouts that cross kernels; "
                  "0: none")
      .within(0.0, 1.0)
      .show_default();
  command
      .add_option("--input,-i", options->inputs,
                  "NAME=FILE, as for `bench`; inputs without one are random, and zeros where they "
                  "are no floats")
      .one_value();
  add_fixed_inputs(command, options->fixed);
  command
      .add_option("--threads", options->measure.threads,
                  "Of cpu and wasm; 0: one a core, in browsers up to 4")
      .within(0, 1024);
  command
      .add_option("--timeout", options->measure.timeout,
                  "Seconds that measuring a candidate may take")
      .positive()
      .show_default();
  add_compile_options(command, options->compile);
  add_device_class_option(command, options->device_class);
  command.add_option("--seed", options->seed, "Of what the search draws").show_default();
  add_browser_options(command, options->measure.browser);
  command
      .add_option("--fleet", options->fleet,
                  "plan: ask on standard output for what is to be measured; measure: what standard "
                  "input asks for (`python -m gossamer.fleet` runs one of the first, many of the "
                  "others)")
      .one_of({"plan", "measure"});
  command.add_flag("--json", options->json, "Machine-readable output");
  command.chosen([options, &chosen] { chosen.run = [options] { return run_tune(*options); }; });
}

}  // namespace gossamer::command
