// gossamer gradient: a model that gives the gradients of one of its tensors as well.
#include <algorithm>
#include <cstdio>

#include "api/files.h"
#include "gossamer/commands/commands.h"
#include "gossamer/files/model_file.h"
#include "graph/gradient_op.h"
#include "onnx/write_model.h"

namespace gossamer::command {
namespace {

struct GradientOptions {
  std::string model, output, of;
  std::vector<std::string> by;
  bool json = false;
};

Result<graph::ValueId> find(const graph::Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.values, name, &graph::Value::name);
  if (found == graph.values.end())
    return fail_at(cat("tensor \"", name, "\""), "the model has none of this name",
                   "gossamer inspect lists its inputs and outputs");
  return static_cast<graph::ValueId>(found - graph.values.begin());
}

// Adds outputs NAME.gradient: d sum(of) / d NAME, of NAME's type and shape.
Result<> add_gradients(graph::Graph& graph, const GradientOptions& options) {
  graph::Node node;
  node.def = graph::gradient_op(graph::own_domain, "Gradient");
  node.name = cat("gradient of ", options.of);
  std::vector<graph::ValueId> xs;
  for (const std::string& name : options.by) {
    GS_ASSIGN(const graph::ValueId x, find(graph, name));
    xs.push_back(x);
  }
  if (xs.empty()) {
    std::ranges::copy_if(graph.inputs, std::back_inserter(xs),
                         [&](graph::ValueId id) { return ir::is_float(graph.values[id].dtype); });
  }
  if (xs.empty()) return fail("the model has no inputs of floats", "name tensors with --by");
  GS_ASSIGN(const graph::ValueId y, find(graph, options.of));
  node.attributes["count"] = static_cast<int64_t>(xs.size());
  node.inputs = xs;
  node.inputs.push_back(y);
  for (const graph::ValueId x : xs) {
    graph::Value gradient = graph.values[x];
    gradient.name += ".gradient";
    if (gradient.constant) gradient.dtype = gradient.constant->dtype;
    gradient.constant.reset();
    node.outputs.push_back(graph.add_value(std::move(gradient)));
    graph.outputs.push_back(node.outputs.back());
  }
  graph.nodes.push_back(std::move(node));
  return {};
}

Result<> write_gradients(const GradientOptions& options) {
  GS_ASSIGN(ModelFile model, read_model_file(options.model));
  GS_TRY(add_gradients(model.graph, options));
  GS_ASSIGN(const std::string made, onnx::write_model(model.graph, model.bytes));
  return write_file(options.output, std::as_bytes(std::span(made)));
}

}  // namespace

void add_gradient(CommandLine& app, Chosen& chosen) {
  auto options = std::make_shared<GradientOptions>();
  const Command command =
      app.add_command("gradient", "Write a model that also gives gradients of one of its tensors");
  command.add_option("model", options->model, "An ONNX file").required();
  command.add_option("--of", options->of, "The tensor, whose elements are summed, such as a loss")
      .required();
  command
      .add_option("--by", options->by, "Tensors to differentiate by; default: all inputs of floats")
      .one_value();
  command.add_option("--output,-o", options->output, "The .onnx file to write").required();
  command.add_flag("--json", options->json, "Errors as JSON");
  command.chosen([options, &chosen] {
    chosen.run = [options] {
      const auto done = write_gradients(*options);
      return done ? 0 : report_error(done.error(), options->json);
    };
  });
}

}  // namespace gossamer::command
