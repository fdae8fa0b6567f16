#include "extend/model.h"

#include "gossamer/files/model_file.h"
#include "interp/stages.h"
#include "lower/lower.h"
#include "onnx/model_writer.h"
#include "onnx/reader.h"
#include "ops/test_case.h"
#include "stages/stage_graph.h"

namespace gossamer::extend {
namespace {

using onnx::Message;
using ops::Attribute;
using ops::TensorData;

constexpr int newest_opset = 21;

int onnx_code(ir::DType dtype) {
  for (int code = 1; code <= 16; ++code) {
    if (ops::dtype_of_onnx(code) == dtype) return code;
  }
  GS_CHECK(false, ir::name_of(dtype), " has no ONNX type");
}

std::vector<Message> attributes_of(const ops::Case& test) {
  std::vector<Message> all;
  for (const auto& [name, value] : test.attributes) {
    if (const auto* number = std::get_if<int64_t>(&value)) {
      all.push_back(onnx::attribute(name, *number));
    } else if (const auto* real = std::get_if<double>(&value)) {
      all.push_back(onnx::attribute(name, static_cast<float>(*real)));
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      all.push_back(onnx::attribute(name, std::string_view(*text)));
    } else if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      all.push_back(onnx::attribute(name, *list));
    } else {
      GS_CHECK(false, "attribute ", name, " has a type that this test does not write");
    }
  }
  return all;
}

Message port(const std::string& name, const TensorData& data) {
  std::vector<std::string> dims;
  for (int64_t extent : data.shape) dims.push_back(std::to_string(extent));
  return onnx::value(name, dims, onnx_code(data.dtype));
}

// The interpreter on stages as they were defined: no fusion, no layouts, no kernels.
Result<std::vector<Named>> interpret(const std::string& bytes, const ops::Catalog& catalog,
                                     const std::vector<Named>& inputs) {
  command::ModelFile file;
  const auto view = std::as_bytes(std::span(bytes));
  file.bytes.assign(view.begin(), view.end());
  onnx::ReadOptions read;
  read.catalog = &catalog;
  GS_ASSIGN(file.graph, onnx::read_model(file.bytes, read));
  GS_ASSIGN(const stages::StageGraph graph, lower::lower(file.graph, catalog));
  interp::Values values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    GS_CHECK(graph.inputs[i].name == inputs[i].name, graph.inputs[i].name);
    values[graph.inputs[i].buffer.get()] = inputs[i].data;
  }
  for (const auto& constant : graph.constants) {
    GS_ASSIGN(auto elements, command::constant_bytes(file, constant.source));
    values[constant.buffer.get()] = {
        constant.source.dtype, constant.source.shape, std::move(elements), {}};
  }
  GS_TRY(interp::run_program(graph.program, values));
  std::vector<Named> outputs;
  for (const auto& output : graph.outputs)
    outputs.push_back({output.name, values.at(output.buffer.get())});
  return outputs;
}

}  // namespace

Result<Example> make_example(const ops::OpDef& def, const ops::Case& test,
                             const ops::Catalog& catalog, bool neighbours) {
  Example example;
  onnx::GraphParts parts;
  std::vector<std::string> operands;
  const std::vector<TensorData> data = ops::case_inputs(def, test);
  for (size_t i = 0; i < data.size(); ++i) {
    std::string name = i < def.inputs.size() ? def.inputs[i].name : cat("input", i);
    const bool given = i < test.inputs.size() && !test.inputs[i].bytes.empty();
    if (given && (neighbours || !ir::is_float(data[i].dtype))) {
      const auto* bytes = reinterpret_cast<const char*>(data[i].bytes.data());
      parts.initializers.push_back(
          onnx::tensor(name, onnx_code(data[i].dtype), data[i].shape,
                       std::vector<char>(bytes, bytes + data[i].bytes.size())));
    } else {
      parts.inputs.push_back(port(name, data[i]));
      example.inputs.push_back({name, data[i]});
    }
    if (i == 0 && neighbours) {
      parts.nodes.push_back(onnx::node("Tanh", {name}, {"before"}));
      name = "before";
    }
    operands.push_back(name);
  }
  parts.nodes.push_back(onnx::node(def.name, operands, {neighbours ? "between" : "Y"},
                                   attributes_of(test), "extension", def.domain));
  if (neighbours) parts.nodes.push_back(onnx::node("Exp", {"between"}, {"Y"}));
  parts.outputs.push_back(Message().text(1, "Y"));
  example.model = Message()
                      .integer(1, 8)
                      .add(8, onnx::opset(newest_opset))
                      .add(8, onnx::opset(def.since, def.domain))
                      .add(7, onnx::graph(parts))
                      .bytes;
  GS_ASSIGN(example.expected, interpret(example.model, catalog, example.inputs));
  return example;
}

}  // namespace gossamer::extend
