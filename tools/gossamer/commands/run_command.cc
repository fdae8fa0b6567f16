// gossamer run: a model or a package on this machine, once, with inputs from files.
#include <rapidjson/filewritestream.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>

#include "api/open_model.h"
#include "gossamer/commands/commands.h"
#include "gossamer/commands/fixed_inputs.h"
#include "gossamer/commands/progress.h"
#include "gossamer/commands/records_file.h"
#include "gossamer/files/item_file.h"
#include "gossamer/files/tensor_file.h"
#include "gossamer/judge/compare.h"
#include "gossamer/runners/feeds.h"
#include "gossamer/runners/runner.h"
#include "gossamer/runners/specialize.h"
#include "gossamer/runners/time_limit.h"
#include "runtime/package_folder.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::string model, target = "cpu", labels, save, device_class;
  std::vector<std::string> inputs;
  int top = 5, runs = 1;
  double timeout = 0;  // seconds
  bool json = false;
  FixedInputs fixed;
  RunnerOptions runner;
  ImageOptions image;
};

struct Outcome {
  std::vector<ops::TensorData> outputs;
  double milliseconds = 0;  // the fastest run
};

// The values of inputs that are sequences or optionals, by name: one file that holds all of it, or
// a file an element in order. An optional without a file holds nothing.
using Items = std::map<std::string, NamedItem>;

Result<Items> read_items(const RunOptions& options, const std::vector<Declared>& inputs) {
  Items items;
  for (const Declared& input : inputs) {
    if (input.is_plain()) continue;
    NamedItem all{input.name, input.is_sequence && !input.is_optional, {}};
    int files = 0;
    for (const std::string& given : options.inputs) {
      const auto file = file_of(given, input.name);
      if (!file) continue;
      GS_ASSIGN(NamedItem item, read_item_file(*file, input));
      all.is_sequence = item.is_sequence;
      std::move(item.tensors.begin(), item.tensors.end(), std::back_inserter(all.tensors));
      ++files;
    }
    if (files == 0 && !input.is_optional)
      return fail_at(cat("input \"", input.name, "\""), "is not given",
                     cat("--input ", input.name, "=FILE, for each element of the sequence"));
    items[input.name] = std::move(all);
  }
  return items;
}

Result<std::unique_ptr<Runner>> load_package(const RunOptions& options, Items& items) {
  const FixedInputs& fixed = options.fixed;
  if (!fixed.shapes.empty() || !fixed.dims.empty() || !fixed.constants.empty())
    return fail_at(options.model,
                   "is a package: its shapes and constants are what it was compiled with",
                   "give --shape, --dim and --constant to `gossamer compile`");
  // Of several packages that of the target, where it is one of them.
  const auto packages = runtime::packages_in(options.model);
  const auto chosen = packages.find(options.target);
  const fs::path folder =
      chosen == packages.end() ? fs::path(options.model) : options.model / fs::path(chosen->second);
  GS_ASSIGN(std::unique_ptr<Runner> model, load_native_runner(folder, options.runner));
  std::vector<Declared> declared;
  for (const stages::PortGroup& group : model->groups())
    if (!group.output) declared.push_back({group.name, group.sequence, !group.sequence});
  GS_ASSIGN(items, read_items(options, declared));
  return model;
}

Result<ModelFile> open_model(const RunOptions& options, Items& items) {
  GS_ASSIGN(OpenedModel opened, gossamer::open_model(options.model));
  Bytes& bytes = opened.bytes;
  const auto signature = signature_of(bytes);
  if (!signature) {
    Diagnostic error = signature.error();
    if (error.where.empty()) error.where = options.model;
    return std::unexpected(std::move(error));
  }
  GS_ASSIGN(items, read_items(options, signature->inputs));
  onnx::Known given;
  GS_TRY(apply(options.fixed, given));
  for (const Declared& input : signature->inputs) {
    if (const auto item = items.find(input.name); item != items.end())
      tell(input, item->second, given);
  }
  // An input with a default is a constant unless it is given.
  for (const Declared& input : signature->all_inputs) {
    const auto names = [&](const std::string& one) { return file_of(one, input.name).has_value(); };
    if (signature->has_default(input.name) && std::ranges::any_of(options.inputs, names))
      given.kept.insert(input.name);
  }
  return read_model(std::move(bytes), options.model, std::move(opened.external), std::move(given));
}

Result<RunnerOptions> runner_for(const RunOptions& options, records::Records& records) {
  compiler::Options compile;
  compile.target = options.target == "interp" ? "cpu" : options.target;
  compile.cpu = options.runner.cpu;
  compile.native_side = true;
  GS_ASSIGN(records, records_for({{}, options.device_class}, compile,
                                 options.target == "interp" ? Here::no : Here::yes));
  RunnerOptions runner = options.runner;
  runner.records = &records;
  return runner;
}

// What an input is that is not given.
using Defaults = std::map<std::string, ops::TensorData, std::less<>>;

Defaults defaults_of(const Runner& package) {
  Defaults defaults;
  for (const Port& port : package.inputs())
    if (const runtime::HostTensor* value = package.default_of(port.name))
      defaults[port.name] = {
          value->dtype, value->shape, {value->bytes.begin(), value->bytes.end()}, {}};
  return defaults;
}

Result<Defaults> defaults_of(const ModelFile& file) {
  Defaults defaults;
  for (const graph::Default& one : file.graph.defaults) {
    const stages::ConstantSource& source = one.value;
    GS_ASSIGN(Bytes bytes, constant_bytes(file, source));
    if (source.packed > 1) continue;
    defaults[file.graph.values[one.input].name] = {source.dtype, source.shape, std::move(bytes),
                                                   source.strings};
  }
  return defaults;
}

Result<std::vector<ops::TensorData>> read_feeds(const RunOptions& options,
                                                const std::vector<Port>& ports,
                                                const std::vector<stages::PortGroup>& groups,
                                                const Items& items, const Defaults& defaults) {
  std::vector<std::string> files(ports.size());
  std::vector<std::optional<ops::TensorData>> known(ports.size());
  const auto take = [&](const std::string& name, const NamedItem& item, size_t first,
                        size_t count) -> Result<> {
    if (item.tensors.size() != count)
      return fail_at(cat("input \"", name, "\""),
                     cat("has ", count, " elements, ", item.tensors.size(), " are given"));
    for (size_t i = 0; i < count; ++i) known[first + i] = item.tensors[i];
    return {};
  };
  for (const stages::PortGroup& group : groups) {
    if (group.output) continue;
    const auto item = items.find(group.name);
    if (item != items.end())
      GS_TRY(take(group.name, item->second, static_cast<size_t>(group.first),
                  static_cast<size_t>(group.count)));
  }
  std::string names;
  for (size_t at = 0; at < ports.size(); ++at) {
    names += cat(names.empty() ? "" : ", ", ports[at].name);
    if (const auto item = items.find(ports[at].name); item != items.end())
      GS_TRY(take(ports[at].name, item->second, at, 1));
  }
  for (const std::string& given : options.inputs) {
    bool found = std::ranges::any_of(
        items, [&](const auto& item) { return file_of(given, item.first).has_value(); });
    for (size_t at = 0; at < ports.size() && !found; ++at) {
      const auto file = file_of(given, ports[at].name);
      if (!file) continue;
      files[at] = *file;
      found = true;
    }
    // A model of one input needs no name.
    if (!found && ports.size() == 1 && given.find('=') == std::string::npos) {
      files[0] = given;
      found = true;
    }
    if (!found)
      return fail_at(cat("--input ", given), "names no input of the model",
                     cat("it has ", names,
                         is_compiled(options.model)
                             ? "; an input with a default is compiled in, unless `gossamer compile "
                               "--keep-input` names it"
                             : ""));
  }
  std::vector<ops::TensorData> feeds;
  for (size_t at = 0; at < ports.size(); ++at) {
    if (known[at]) {
      feeds.push_back(*std::move(known[at]));
      continue;
    }
    if (const auto value = defaults.find(ports[at].name);
        files[at].empty() && value != defaults.end()) {
      feeds.push_back(value->second);
      continue;
    }
    if (files[at].empty())
      return fail_at(cat("input \"", ports[at].name, "\""), "is not given",
                     cat("--input ", ports[at].name, "=FILE; it is ", ir::name_of(ports[at].dtype),
                         shape_text(ports[at].shape)));
    GS_ASSIGN(ops::TensorData feed, read_feed(files[at], ports[at], options.image));
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

std::string short_number(double value, bool whole) {
  char text[64];
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.6g", value);
  return text;
}

// Integers whole, other numbers with six digits.
std::string number_of(const ops::TensorData& tensor, int64_t at) {
  if (tensor.dtype == ir::DType::i64 || tensor.dtype == ir::DType::u64) {
    int64_t value = 0;
    std::memcpy(&value, tensor.bytes.data() + at * int64_t{sizeof value}, sizeof value);
    return tensor.dtype == ir::DType::i64 ? cat(value) : cat(static_cast<uint64_t>(value));
  }
  return short_number(element(tensor, at), !ir::is_float(tensor.dtype));
}

// Scores that are no distribution yet become one; those that are stay.
std::vector<double> probabilities(const ops::TensorData& scores) {
  const int64_t count = scores.element_count();
  double sum = 0, best = -INFINITY;
  bool positive = true;
  for (int64_t at = 0; at < count; ++at) {
    const double value = element(scores, at);
    sum += value;
    positive = positive && value >= 0;
    best = std::max(best, value);
  }
  std::vector<double> result;
  const bool distribution = positive && std::abs(sum - 1) < 1e-3;
  double total = 0;
  for (int64_t at = 0; at < count; ++at) {
    const double value = element(scores, at);
    result.push_back(distribution ? value : std::exp(value - best));
    total += result.back();
  }
  if (!distribution)
    for (double& value : result) value /= total;
  return result;
}

std::string label_of(const std::vector<std::string>& labels, int64_t at) {
  return static_cast<size_t>(at) < labels.size() ? labels[static_cast<size_t>(at)]
                                                 : cat("class ", at);
}

void print_tensor(const Port& port, const ops::TensorData& tensor) {
  std::printf("%s: %s%s", port.name.c_str(), std::string(ir::name_of(tensor.dtype)).c_str(),
              shape_text(tensor.shape).c_str());
  const int64_t count = tensor.element_count(), shown = std::min<int64_t>(count, 16);
  const bool strings = tensor.dtype == ir::DType::string;
  for (int64_t at = 0; at < shown; ++at) {
    const std::string text =
        strings ? cat("\"", tensor.strings[static_cast<size_t>(at)], "\"") : number_of(tensor, at);
    std::printf(" %s", text.c_str());
  }
  if (shown < count && strings) std::printf(" ...");
  if (shown < count && !strings) {
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (int64_t at = 0; at < count; ++at) {
      const double value = element(tensor, at);
      low = std::min(low, value), high = std::max(high, value), sum += value;
    }
    const bool whole = !ir::is_float(tensor.dtype);
    std::printf(" ... (min %s, max %s, mean %s)", short_number(low, whole).c_str(),
                short_number(high, whole).c_str(),
                short_number(sum / static_cast<double>(count), false).c_str());
  }
  std::printf("\n");
}

void print_text(const Runner& model, const Outcome& outcome, const RunOptions& options,
                const std::vector<std::string>& labels) {
  if (!labels.empty() && !outcome.outputs.empty()) {
    const auto chances = probabilities(outcome.outputs[0]);
    for (int64_t at : top_classes(outcome.outputs[0], options.top))
      std::printf("%6.2f%%  %s\n", 100 * chances[static_cast<size_t>(at)],
                  label_of(labels, at).c_str());
  } else {
    for (size_t at = 0; at < outcome.outputs.size(); ++at)
      print_tensor(model.outputs()[at], outcome.outputs[at]);
    for (const stages::PortGroup& group : model.groups()) {
      if (group.output && group.count == 0)
        std::printf("%s: %s\n", group.name.c_str(),
                    group.sequence ? "a sequence without elements" : "nothing");
    }
  }
  std::printf("%.3f ms\n", outcome.milliseconds);
}

void print_json(const Runner& model, const Outcome& outcome, const RunOptions& options,
                const std::vector<std::string>& labels) {
  // Straight to the file: the text of a large output is several times its size.
  std::vector<char> buffer(1 << 16);
  rapidjson::FileWriteStream text(stdout, buffer.data(), buffer.size());
  rapidjson::Writer<rapidjson::FileWriteStream, rapidjson::UTF8<>, rapidjson::UTF8<>,
                    rapidjson::CrtAllocator, rapidjson::kWriteNanAndInfFlag>
      json(text);
  json.StartObject();
  json.Key("ms");
  json.Double(outcome.milliseconds);
  if (!labels.empty() && !outcome.outputs.empty()) {
    json.Key("classes");
    json.StartArray();
    const auto chances = probabilities(outcome.outputs[0]);
    for (int64_t at : top_classes(outcome.outputs[0], options.top)) {
      json.StartObject();
      json.Key("class");
      json.Int64(at);
      json.Key("label");
      json.String(label_of(labels, at));
      json.Key("probability");
      json.Double(chances[static_cast<size_t>(at)]);
      json.Key("score");
      json.Double(element(outcome.outputs[0], at));
      json.EndObject();
    }
    json.EndArray();
  }
  json.Key("outputs");
  json.StartArray();
  for (size_t output = 0; output < outcome.outputs.size(); ++output) {
    const ops::TensorData& tensor = outcome.outputs[output];
    json.StartObject();
    json.Key("name");
    json.String(model.outputs()[output].name);
    json.Key("dtype");
    json.String(std::string(ir::name_of(tensor.dtype)));
    json.Key("shape");
    json.StartArray();
    for (int64_t extent : tensor.shape) json.Int64(extent);
    json.EndArray();
    json.Key("data");
    json.StartArray();
    for (const std::string& string : tensor.strings) json.String(string);
    if (tensor.strings.empty())
      for (int64_t at = 0; at < tensor.element_count(); ++at) json.Double(element(tensor, at));
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  text.Put('\n');
  text.Flush();
}

Result<> save_outputs(const Runner& model, const Outcome& outcome, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail_at(folder, cat("cannot be made: ", error.message()));
  for (size_t at = 0; at < outcome.outputs.size(); ++at) {
    std::string name = model.outputs()[at].name;
    std::replace(name.begin(), name.end(), '/', '_');
    const bool strings = outcome.outputs[at].dtype == ir::DType::string;
    name += strings ? ".json" : ".npy";
    const std::string file =
        strings ? write_json_strings(outcome.outputs[at]) : write_npy(outcome.outputs[at]);
    GS_TRY(write_file(fs::path(folder) / name, std::as_bytes(std::span(file))));
  }
  return {};
}

Result<Outcome> run_often(const RunOptions& options, Runner& model,
                          const std::vector<ops::TensorData>& feeds, Progress& progress) {
  GS_TRY(check_feeds(model.inputs(), feeds));
  Outcome outcome;
  outcome.milliseconds = INFINITY;
  for (int run = 0; run < options.runs; ++run) {
    progress.show("running", static_cast<double>(run) / options.runs);
    const TimeLimit limit(options.timeout, 1, [&] {
      report_error({"", cat("the run took longer than ", options.timeout, " s"), ""}, options.json);
    });
    const auto begin = std::chrono::steady_clock::now();
    GS_ASSIGN(outcome.outputs, model.run(feeds));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    outcome.milliseconds = std::min(outcome.milliseconds, time.count());
  }
  return outcome;
}

Result<> run_all(const RunOptions& options) {
  std::vector<std::string> labels;
  if (!options.labels.empty()) {
    GS_ASSIGN(const std::string text, read_text(options.labels));
    labels = lines_of(text);
  }
  Progress progress(options.json);
  progress.show("loading", 0);
  Items items;
  std::unique_ptr<Runner> model;
  Outcome outcome;
  if (is_compiled(options.model)) {
    GS_ASSIGN(model, load_package(options, items));
    GS_ASSIGN(const auto feeds,
              read_feeds(options, model->inputs(), model->groups(), items, defaults_of(*model)));
    GS_ASSIGN(outcome, run_often(options, *model, feeds, progress));
  } else {
    GS_ASSIGN(const ModelFile file, open_model(options, items));
    const std::vector<Port> ports = ports_of(file.graph);
    GS_ASSIGN(const Defaults defaults, defaults_of(file));
    const auto feeds = read_feeds(options, ports, file.graph.groups, items, defaults);
    records::Records records;
    GS_ASSIGN(RunnerOptions runner, runner_for(options, records));
    const auto attempt = [&](const onnx::Known& known) -> Result<> {
      runner.known = known;
      GS_ASSIGN(model, make_runner(options.target, file, runner));
      if (!feeds) return std::unexpected(feeds.error());
      GS_ASSIGN(outcome, run_often(options, *model, left_of(ports, *feeds, known), progress));
      return {};
    };
    // What is wrong with the model is said before what is wrong with its feeds.
    GS_TRY(feeds ? specialize(ports, file.graph.groups, *feeds, attempt) : attempt({}));
  }
  progress.show("done", 1);
  if (!options.save.empty()) GS_TRY(save_outputs(*model, outcome, options.save));
  if (options.json)
    print_json(*model, outcome, options, labels);
  else
    print_text(*model, outcome, options, labels);
  return {};
}

int run_run(const RunOptions& options) {
  if (auto done = run_all(options); !done) return report_error(done.error(), options.json);
  return 0;
}

}  // namespace

void add_run(CommandLine& app, Chosen& chosen) {
  auto options = std::make_shared<RunOptions>();
  const Command command = app.add_command("run", "Run a model on this machine");
  command
      .add_option("model", options->model,
                  "An ONNX file, or a package for a target of this machine")
      .required();
  command
      .add_option("--target,-t", options->target,
                  "cpu, wasm in an engine without JavaScript, a GPU by opencl, opengl, webgpu or "
                  "webgl, or interp (slow, the reference)")
      .one_of(target_names({"interp"}));
  command.add_option("--input,-i", options->inputs,
                     "NAME=FILE for each input: .npy, .pb (as ONNX keeps test data), .json "
                     "(strings), .png or .jpg; for a sequence once an element, or one .pb");
  add_fixed_inputs(command, options->fixed);
  command.add_option("--labels", options->labels, "Class names, one a line: print the best ones");
  command.add_option("--top", options->top, "How many of them").within(1, 100000);
  command.add_option("--runs", options->runs, "How often to run; the fastest time is printed")
      .within(1, 1000000);
  command.add_option("--timeout", options->timeout, "Seconds a run may take; 0: no limit")
      .not_negative();
  command.add_option("--save", options->save, "Folder for the outputs as .npy, strings as .json");
  command.add_option("--threads", options->runner.threads, "0: one a core").within(0, 1024);
  command.add_option("--cpu", options->runner.cpu, "LLVM's name of the processor");
  add_device_class_option(command, options->device_class);
  command
      .add_option("--mean", options->image.mean,
                  "Images: subtracted from the scaled bytes, one or one a channel (default: 0; "
                  "ImageNet's for floats of 3 channels without --mean, --std and --scale)")
      .delimiter(',');
  command
      .add_option("--std", options->image.std,
                  "Images: divisor, one or one a channel (default: 1, or ImageNet's as for --mean)")
      .delimiter(',');
  command.add_option("--scale", options->image.scale,
                     "Images: factor of the bytes before --mean and --std (default: 1/255 for "
                     "floats, 1 for integers)");
  command.add_option("--layout", options->image.layout, "Images: axes of the input")
      .one_of({"nchw", "nhwc"});
  command.add_option("--height", options->image.height, "Images: where the model leaves it open");
  command.add_option("--width", options->image.width, "Images: where the model leaves it open");
  command.add_flag("--json", options->json, "Machine-readable output");
  command.chosen([options, &chosen] { chosen.run = [options] { return run_run(*options); }; });
}

}  // namespace gossamer::command
