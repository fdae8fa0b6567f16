// gossamer inspect: what a model is, and what each target makes of it.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdio>
#include <map>

#include "api/files.h"
#include "compiler/compile.h"
#include "gossamer/commands.h"
#include "gossamer/compile_options.h"
#include "gossamer/fixed_inputs.h"
#include "gossamer/model_file.h"
#include "gossamer/progress.h"
#include "gossamer/records_file.h"
#include "gossamer/runner.h"
#include "graph/stage_graph.h"
#include "ir/print.h"
#include "tune/space.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

struct InspectOptions {
  std::string model, dump;
  compiler::Options compile;
  RecordOptions records;
  std::vector<std::string> targets = {"webgpu", "webgl", "wasm", "cpu"};
  FixedInputs fixed;
  size_t points = 64;
  bool stages = false, kernels = false, space = false, json = false;
};

struct TargetView {
  std::string target;
  std::string problem;  // why it cannot be compiled
  compiler::Report report;
  std::vector<std::vector<std::string>> spaces;  // of its kernels, where asked for
  std::vector<schedule::SeenLayout> layouts;
  size_t package_bytes = 0;
};

std::string shape_of(const graph::Value& value) {
  if (!value.shape_known) return "[...]";
  std::string text = "[";
  for (size_t axis = 0; axis < value.shape.size(); ++axis)
    text += cat(axis ? ", " : "", ir::print(value.shape[axis]));
  return text + "]";
}

std::map<std::string, int> count_operators(const graph::Graph& graph) {
  std::map<std::string, int> counts;
  for (const graph::Node& node : graph.nodes) {
    ++counts[node.def->name];
    for (const auto& region : node.regions) {
      if (!region) continue;
      for (const auto& [name, count] : count_operators(*region)) counts[name] += count;
    }
  }
  return counts;
}

// `points`: at most so many of each kernel's space; 0: its space is not asked for.
TargetView view(compiler::Options options, const ModelFile& model, size_t points,
                const schedule::Records& records) {
  TargetView view;
  const std::string& target = view.target = options.target;
  options.known = model.known;
  options.external = model.external.get();
  options.groups = points > 0;
  options.ir = true;
  const schedule::LayoutWatch watch(&records, &records);
  options.records = &watch;
  Progress progress;
  options.progress = [&](std::string_view step, double fraction) {
    progress.show(cat(target, ": ", step), fraction);
  };
  const auto files = compiler::compile(model.bytes, options, &view.report);
  if (!files) {
    view.problem = files.error().to_string();
    return view;
  }
  for (const package::File& file : *files) view.package_bytes += file.bytes.size();
  view.layouts = watch.seen();
  for (const compiler::KernelReport& kernel : view.report.kernels) {
    std::vector<std::string>& space = view.spaces.emplace_back();
    if (!kernel.group) continue;
    const tune::Space searched(*kernel.group, kernel.capabilities);
    for (const schedule::Point& point : searched.some_legal(points))
      space.push_back(to_string(point));
  }
  return view;
}

// Where its point comes from; empty: it is the default one.
std::string record_of(const compiler::KernelReport& kernel) {
  if (!kernel.recorded) return "";
  const std::string whose = kernel.near.empty() ? "its own" : cat("of ", kernel.near, ", nearest");
  return kernel.shipped.empty() ? whose : cat(whose, ", shipped for ", kernel.shipped);
}

std::string dump_name(size_t at, const std::string& kernel) {
  std::string name;
  for (char letter : kernel.substr(0, 60))
    name += std::isalnum(static_cast<unsigned char>(letter)) || letter == '.' ? letter : '_';
  char number[16];
  std::snprintf(number, sizeof number, "%03zu_", at);
  return number + name;
}

// DIR/TARGET/stages.txt, and for each kernel its loop IR, below its origin and schedule as
// comments, and, for shaders, the code.
Result<> dump(const TargetView& view, const fs::path& folder) {
  const fs::path place = folder / view.target;
  std::error_code error;
  fs::create_directories(place, error);
  if (error) return fail_at(place.string(), cat("cannot be made: ", error.message()));
  const auto write = [&](const std::string& name, const std::string& text) {
    return write_file(place / name, std::as_bytes(std::span(text)));
  };
  GS_ASSIGN(const TargetKind target, target_named(view.target));
  GS_TRY(write("stages.txt", view.report.stages));
  for (size_t at = 0; at < view.report.kernels.size(); ++at) {
    const compiler::KernelReport& kernel = view.report.kernels[at];
    const std::string name = dump_name(at, kernel.name);
    GS_TRY(write(name + ".ir", cat("# ", kernel.origin, "\n# ", kernel.schedule, "\n", kernel.ir)));
    if (!kernel.code.empty()) GS_TRY(write(cat(name, target_of(target).ending), kernel.code));
  }
  return {};
}

void print_text(const ModelFile& model, const std::vector<TargetView>& views,
                const InspectOptions& options) {
  const graph::Graph& graph = model.graph;
  std::printf("%s: %zu nodes, %zu bytes\n", graph.name.c_str(), graph.nodes.size(),
              model.bytes.size());
  const auto print_ports = [&](const char* what, const std::vector<graph::ValueId>& ids) {
    for (graph::ValueId id : ids) {
      const graph::Value& value = graph.values[id];
      std::printf("%-7s %s: %s%s\n", what, value.name.c_str(),
                  std::string(ir::name_of(value.dtype)).c_str(), shape_of(value).c_str());
    }
  };
  print_ports("input", graph.inputs);
  print_ports("output", graph.outputs);
  for (const graph::Group& group : graph.groups) {
    std::printf("%-7s %s: %s", group.output ? "output" : "input", group.name.c_str(),
                group.sequence ? "sequence" : "optional, nothing");
    if (group.sequence) std::printf(" of %d", group.count);
    std::printf("\n");
  }
  std::printf("operators");
  for (const auto& [name, count] : count_operators(graph)) {
    std::printf(" %s", name.c_str());
    if (count > 1) std::printf(" x%d", count);
  }
  std::printf("\n");
  for (const TargetView& seen : views) {
    if (!seen.problem.empty()) {
      std::printf("%-6s  cannot run it: %s\n", seen.target.c_str(), seen.problem.c_str());
      continue;
    }
    std::printf("%-6s  %zu kernels, %.2f MB of memory, %.2f MB of weights, package %.1f KB\n",
                seen.target.c_str(), seen.report.kernels.size(),
                static_cast<double>(seen.report.memory_bytes) / 1e6,
                static_cast<double>(seen.report.weight_bytes) / 1e6,
                static_cast<double>(seen.package_bytes) / 1e3);
    if (options.stages) std::printf("%s\n", seen.report.stages.c_str());
    if (!options.kernels && !options.space) continue;
    for (const schedule::SeenLayout& one : seen.layouts) {
      if (!options.space && !one.recorded) continue;
      std::printf(
          "    %s of %-26s %-44s %s%s\n", name_of(one.rule.of).data(), one.name.c_str(),
          one.origin.c_str(), to_string(one.choice()).c_str(),
          one.recorded ? cat(" by its record, ", to_string(one.rule), " by the rule").c_str() : "");
      if (!options.space) continue;
      std::printf("        key %s, class %s;", one.key.c_str(), one.machine.c_str());
      for (const auto choice : one.choices()) std::printf(" %s", to_string(choice).c_str());
      std::printf("\n");
    }
    for (size_t at = 0; at < seen.report.kernels.size(); ++at) {
      const compiler::KernelReport& kernel = seen.report.kernels[at];
      std::printf("    %-36s %-44s %s\n", kernel.name.c_str(), kernel.origin.c_str(),
                  kernel.schedule.c_str());
      if (const std::string record = record_of(kernel); !record.empty())
        std::printf("        record: %s\n", record.c_str());
      if (!options.space) continue;
      std::printf("        key %s, class %s; %zu points, the default one first\n",
                  kernel.key.c_str(), kernel.machine.c_str(), seen.spaces[at].size());
      for (const std::string& point : seen.spaces[at]) std::printf("        %s\n", point.c_str());
    }
  }
}

void write_layout(rapidjson::Writer<rapidjson::StringBuffer>& json, const schedule::SeenLayout& one,
                  bool space) {
  if (!space && !one.recorded) return;
  json.StartObject();
  for (const auto& [key, text] : {std::pair("key", one.key),
                                  {"class", one.machine},
                                  {"name", one.name},
                                  {"origin", one.origin},
                                  {name_of(one.rule.of).data(), to_string(one.choice())},
                                  {"rule", to_string(one.rule)}}) {
    json.Key(key);
    json.String(text);
  }
  json.Key("recorded");
  json.Bool(one.recorded.has_value());
  json.Key("layouts");
  json.StartArray();
  for (const auto choice : one.choices()) json.String(to_string(choice));
  json.EndArray();
  json.EndObject();
}

void print_json(const ModelFile& model, const std::vector<TargetView>& views, bool space) {
  const graph::Graph& graph = model.graph;
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  json.StartObject();
  json.Key("name");
  json.String(graph.name);
  json.Key("nodes");
  json.Uint64(graph.nodes.size());
  const auto write_ports = [&](const char* key, const std::vector<graph::ValueId>& ids) {
    json.Key(key);
    json.StartArray();
    for (graph::ValueId id : ids) {
      json.StartObject();
      json.Key("name");
      json.String(graph.values[id].name);
      json.Key("dtype");
      json.String(std::string(ir::name_of(graph.values[id].dtype)));
      json.Key("shape");
      json.String(shape_of(graph.values[id]));
      json.EndObject();
    }
    json.EndArray();
  };
  write_ports("inputs", graph.inputs);
  write_ports("outputs", graph.outputs);
  json.Key("groups");
  json.StartArray();
  for (const graph::Group& group : graph.groups) {
    json.StartObject();
    json.Key("name");
    json.String(group.name);
    json.Key("kind");
    json.String(group.sequence ? "sequence" : "optional");
    json.Key(group.output ? "outputs" : "inputs");
    json.StartArray();
    json.Int(group.first);
    json.Int(group.count);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.Key("operators");
  json.StartObject();
  for (const auto& [name, count] : count_operators(graph)) {
    json.Key(name.c_str());
    json.Int(count);
  }
  json.EndObject();
  json.Key("targets");
  json.StartArray();
  for (const TargetView& seen : views) {
    json.StartObject();
    json.Key("target");
    json.String(seen.target);
    if (!seen.problem.empty()) {
      json.Key("problem");
      json.String(seen.problem);
    } else {
      json.Key("memory_bytes");
      json.Int64(seen.report.memory_bytes);
      json.Key("weight_bytes");
      json.Int64(seen.report.weight_bytes);
      json.Key("package_bytes");
      json.Uint64(seen.package_bytes);
      json.Key("layouts");
      json.StartArray();
      for (const schedule::SeenLayout& one : seen.layouts) write_layout(json, one, space);
      json.EndArray();
      json.Key("kernels");
      json.StartArray();
      for (size_t at = 0; at < seen.report.kernels.size(); ++at) {
        const compiler::KernelReport& kernel = seen.report.kernels[at];
        json.StartObject();
        json.Key("name");
        json.String(kernel.name);
        json.Key("schedule");
        json.String(kernel.schedule);
        json.Key("origin");
        json.String(kernel.origin);
        if (const std::string record = record_of(kernel); !record.empty()) {
          json.Key("record");
          json.String(record);
        }
        if (!kernel.key.empty()) {
          json.Key("key");
          json.String(kernel.key);
          json.Key("class");
          json.String(kernel.machine);
          if (kernel.group) {
            const schedule::Likeness likeness = likeness_of(*kernel.group);
            json.Key("structure");
            json.String(likeness.structure);
            json.Key("extents");
            json.StartArray();
            for (const int64_t extent : likeness.extents) json.Int64(extent);
            json.EndArray();
          }
          json.Key("points");
          json.StartArray();
          for (const std::string& point : seen.spaces[at]) json.String(point);
          json.EndArray();
        }
        json.EndObject();
      }
      json.EndArray();
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  std::printf("%s\n", text.GetString());
}

// Shapes of outputs follow from the operators' definitions.
void infer_outputs(graph::Graph& graph) {
  const auto stages = graph::lower(graph, ops::builtin_catalog());
  if (!stages) return;  // each target's view says why
  // The elements of sequences stand for them.
  graph.groups = stages->groups;
  graph.outputs.clear();
  for (const graph::StageOutput& output : stages->outputs) {
    graph::Value value;
    value.name = output.name;
    value.dtype = output.buffer->dtype;
    value.shape = output.buffer->shape;
    value.shape_known = true;
    graph.outputs.push_back(graph.add_value(std::move(value)));
  }
}

int run_inspect(const InspectOptions& options) {
  onnx::Known known;
  if (auto done = apply(options.fixed, known); !done)
    return report_error(done.error(), options.json);
  auto model = read_model_file(options.model, std::move(known));
  if (!model) return report_error(model.error(), options.json);
  infer_outputs(model->graph);
  std::vector<TargetView> views;
  for (const std::string& target : options.targets) {
    compiler::Options compile = options.compile;
    compile.target = target;
    const auto records =
        records_for(options.records, compile, runs_here(target) ? Here::yes : Here::no);
    if (!records) return report_error(records.error(), options.json);
    views.push_back(view(compile, *model, options.space ? options.points : 0, *records));
    if (options.dump.empty() || !views.back().problem.empty()) continue;
    if (auto done = dump(views.back(), options.dump); !done)
      return report_error(done.error(), options.json);
  }
  if (options.json)
    print_json(*model, views, options.space);
  else
    print_text(*model, views, options);
  return 0;
}

}  // namespace

void add_inspect(CommandLine& app, Chosen& chosen) {
  auto options = std::make_shared<InspectOptions>();
  const Command command =
      app.add_command("inspect", "Show a model's graph and what each target makes of it");
  command.add_option("model", options->model, "An ONNX file").required();
  command
      .add_option("--target,-t", options->targets,
                  "Only these targets; opencl and opengl are told of where they are named")
      .delimiter(',')
      .one_of(target_names());
  add_fixed_inputs(command, options->fixed);
  add_compile_options(command, options->compile);
  command.add_flag("--stages", options->stages, "Print the stages after fusion");
  command.add_flag("--kernels", options->kernels, "Print each kernel's schedule and origin");
  command.add_flag("--space", options->space,
                   "Print points of the space that tune searches for each kernel, for "
                   "compile --records");
  command
      .add_option("--points", options->points, "With --space: at most so many points of a kernel")
      .within(uint64_t{1}, uint64_t{1000000})
      .show_default();
  add_records_option(command, options->records,
                     "As compile --records; says which kernels take a recorded point, of whom");
  add_device_class_option(command, options->records.device_class);
  command.add_option("--dump", options->dump,
                     "Write stages, loop IR and shaders below this folder");
  command.add_flag("--json", options->json, "Machine-readable output");
  command.chosen([options, &chosen] { chosen.run = [options] { return run_inspect(*options); }; });
}

}  // namespace gossamer::command
