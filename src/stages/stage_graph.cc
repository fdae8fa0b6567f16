#include "stages/stage_graph.h"

#include "ir/print.h"

namespace gossamer::stages {
namespace {

std::string tensor_text(const ir::Buffer& buffer) {
  std::string text = cat(buffer->name, " ", ir::name_of(buffer->dtype), "[");
  for (size_t i = 0; i < buffer->shape.size(); ++i) {
    text += (i ? ", " : "") + ir::print(buffer->shape[i]);
  }
  text += "]";
  if (buffer->storage != buffer->dtype) text += cat(" as ", ir::name_of(buffer->storage));
  if (buffer->layout != ir::Layout()) text += cat(" ", ir::to_string(buffer->layout));
  return text;
}

std::string source_text(const ConstantSource& source) {
  if (source.file < 0) return cat(source.bytes.size(), " bytes");
  std::string from = source.file == 0 ? "the model" : cat("file ", source.file);
  return cat(source.length, " bytes at ", source.offset, " of ", from);
}

std::string indented(const std::string& text, int depth) {
  const std::string margin(static_cast<size_t>(2 * depth), ' ');
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at) + 1;
    result += margin + text.substr(at, end - at);
    at = end;
  }
  return result;
}

}  // namespace

std::unordered_set<const ir::BufferNode*> states_of(const StageGraph& graph) {
  std::unordered_set<const ir::BufferNode*> seen, states;
  for (const Entry& entry : graph.program) {
    const ir::BufferNode* output = entry.output().get();
    if (output && !seen.insert(output).second) states.insert(output);
  }
  for (const Dim& dim : graph.dims)
    if (dim.rows) states.insert(graph.inputs[static_cast<size_t>(dim.input)].buffer.get());
  return states;
}

std::string print(const StageGraph& graph) {
  std::string text = cat("graph \"", graph.name, "\"\n");
  for (const Dim& dim : graph.dims) {
    text += cat("dim ", dim.var->name, dim.rows ? ": room along axis " : ": axis ", dim.axis,
                " of input ", dim.input, "\n");
  }
  for (const StageInput& input : graph.inputs) {
    text += cat("input ", tensor_text(input.buffer), "\n");
  }
  for (const StageConstant& constant : graph.constants) {
    text +=
        cat("constant ", tensor_text(constant.buffer), ": ", source_text(constant.source), "\n");
  }
  for (const Check& check : graph.checks) {
    text += cat("check ", ir::print(check.condition), ": ", check.message, "\n");
  }
  int depth = 0;
  for (const Entry& entry : graph.program) {
    const bool opens = entry.is(StepKind::branch) || entry.is(StepKind::loop);
    const bool closes = entry.is(StepKind::end);
    const bool turns = entry.is(StepKind::otherwise);
    depth -= closes || turns ? 1 : 0;
    text += indented(print(entry), depth);
    depth += opens || turns ? 1 : 0;
  }
  for (const StageOutput& output : graph.outputs) {
    text += cat("output ", output.name, ": ", tensor_text(output.buffer), "\n");
  }
  return text;
}

}  // namespace gossamer::stages
