#include "inspect/view.h"

#include <cctype>
#include <cstdio>

#include "base/strings.h"
#include "lower/lower.h"
#include "onnx/reader.h"
#include "ops/opdef.h"
#include "stages/stage_graph.h"
#include "tune/space.h"

namespace gossamer::inspect {
namespace {

// Shapes of outputs follow from the operators' definitions.
void infer_outputs(graph::Graph& graph) {
  const auto stages = lower::lower(graph, ops::builtin_catalog());
  if (!stages) return;  // each target's view says why
  // The elements of sequences stand for them.
  graph.groups = stages->groups;
  graph.outputs.clear();
  for (const stages::StageOutput& output : stages->outputs) {
    graph::Value value;
    value.name = output.name;
    value.dtype = output.buffer->dtype;
    value.shape = output.buffer->shape;
    value.shape_known = true;
    graph.outputs.push_back(graph.add_value(std::move(value)));
  }
}

std::string file_name(size_t at, const std::string& kernel) {
  std::string name;
  for (char letter : kernel.substr(0, 60))
    name += std::isalnum(static_cast<unsigned char>(letter)) || letter == '.' ? letter : '_';
  char number[16];
  std::snprintf(number, sizeof number, "%03zu_", at);
  return number + name;
}

}  // namespace

Result<Subject> read(std::span<const std::byte> model, onnx::ExternalFiles* external,
                     onnx::Known known) {
  Subject subject{model, external, std::move(known), {}};
  onnx::ReadOptions options;
  options.known = subject.known;
  options.external = external;
  GS_ASSIGN(subject.graph, onnx::read_model(model, options));
  infer_outputs(subject.graph);
  return subject;
}

View view(const Subject& subject, compiler::Options options, const records::Records& records,
          const Details& details) {
  View view;
  view.target = options.target;
  options.known = subject.known;
  options.external = subject.external;
  options.groups = details.space;
  options.ir = true;
  const records::LayoutWatch watch(&records, &records);
  options.records = &watch;
  const auto files = compiler::compile(subject.bytes, options, &view.report);
  if (!files) {
    view.problem = files.error().to_string();
    view.where = files.error().where;
    return view;
  }
  for (const package::File& file : *files) {
    view.package_bytes += file.bytes.size();
    if (file.name == "manifest.json")
      view.manifest.assign(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  }
  view.layouts = watch.seen();
  for (const compiler::KernelReport& kernel : view.report.kernels) {
    std::vector<std::string>& space = view.spaces.emplace_back();
    if (!kernel.group) continue;
    const tune::Space searched(*kernel.group, kernel.capabilities);
    for (const schedule::Point& point : searched.some_legal(details.points))
      space.push_back(to_string(point));
  }
  return view;
}

Result<package::Files> dump(const View& view) {
  GS_ASSIGN(const TargetKind target, target_named(view.target));
  package::Files files;
  const auto write = [&](const std::string& name, const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    files.push_back({cat(view.target, "/", name), {bytes.begin(), bytes.end()}});
  };
  write("stages.txt", view.report.stages);
  for (size_t at = 0; at < view.report.kernels.size(); ++at) {
    const compiler::KernelReport& kernel = view.report.kernels[at];
    const std::string name = file_name(at, kernel.name);
    write(name + ".ir", cat("# ", kernel.origin, "\n# ", kernel.schedule, "\n", kernel.ir));
    if (!kernel.code.empty()) write(cat(name, target_of(target).ending), kernel.code);
  }
  return files;
}

}  // namespace gossamer::inspect
