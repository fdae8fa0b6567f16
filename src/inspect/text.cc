#include <cstdio>

#include "base/strings.h"
#include "inspect/view.h"
#include "inspect/words.h"

namespace gossamer::inspect {
namespace {

// At least so many characters.
std::string padded(std::string_view text, size_t width) {
  std::string made(text);
  if (made.size() < width) made.append(width - made.size(), ' ');
  return made;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

void add_ports(std::string& text, const graph::Graph& graph, std::string_view what,
               const std::vector<graph::ValueId>& ids) {
  for (graph::ValueId id : ids) {
    const graph::Value& value = graph.values[id];
    text += cat(padded(what, 7), " ", value.name, ": ", ir::name_of(value.dtype), shape_of(value),
                "\n");
  }
}

void add_layouts(std::string& text, const View& view, const Details& details) {
  for (const records::SeenLayout& one : view.layouts) {
    if (!details.space && !one.recorded) continue;
    text +=
        cat("    ", name_of(one.rule.of), " of ", padded(one.name, 26), " ", padded(one.origin, 44),
            " ", to_string(one.choice()),
            one.recorded ? cat(" by its record, ", to_string(one.rule), " by the rule") : "", "\n");
    if (!details.space) continue;
    text += cat("        key ", one.key, ", class ", one.machine, ";");
    for (const auto choice : one.choices()) text += cat(" ", to_string(choice));
    text += "\n";
  }
}

void add_kernels(std::string& text, const View& view, const Details& details) {
  for (size_t at = 0; at < view.report.kernels.size(); ++at) {
    const compiler::KernelReport& kernel = view.report.kernels[at];
    text += cat("    ", padded(kernel.name, 36), " ", padded(kernel.origin, 44), " ",
                kernel.schedule, "\n");
    if (const std::string record = record_of(kernel); !record.empty())
      text += cat("        record: ", record, "\n");
    if (!details.space) continue;
    text += cat("        key ", kernel.key, ", class ", kernel.machine, "; ",
                view.spaces[at].size(), " points, the default one first\n");
    for (const std::string& point : view.spaces[at]) text += cat("        ", point, "\n");
  }
}

}  // namespace

std::string to_text(const Subject& subject, std::span<const View> views, const Details& details) {
  const graph::Graph& graph = subject.graph;
  std::string text =
      cat(graph.name, ": ", graph.nodes.size(), " nodes, ", subject.bytes.size(), " bytes\n");
  add_ports(text, graph, "input", graph.inputs);
  add_ports(text, graph, "output", graph.outputs);
  for (const stages::PortGroup& group : graph.groups) {
    text += cat(padded(group.output ? "output" : "input", 7), " ", group.name, ": ",
                group.sequence ? cat("sequence of ", group.count) : "optional, nothing", "\n");
  }
  text += "operators";
  for (const auto& [name, count] : count_operators(graph))
    text += cat(" ", name, count > 1 ? cat(" x", count) : "");
  text += "\n";
  for (const View& view : views) {
    const std::string target = padded(view.target, 6);
    if (!view.problem.empty()) {
      text += cat(target, "  cannot run it: ", view.problem, "\n");
      continue;
    }
    text += cat(target, "  ", view.report.kernels.size(), " kernels, ",
                fixed(static_cast<double>(view.report.memory_bytes) / 1e6, 2), " MB of memory, ",
                fixed(static_cast<double>(view.report.weight_bytes) / 1e6, 2),
                " MB of weights, package ", fixed(static_cast<double>(view.package_bytes) / 1e3, 1),
                " KB\n");
    if (details.stages) text += cat(view.report.stages, "\n");
    if (!details.kernels && !details.space) continue;
    add_layouts(text, view, details);
    add_kernels(text, view, details);
  }
  return text;
}

}  // namespace gossamer::inspect
