// ONNX Runtime's internal domain of operators with channels last: the standard ones between
// transpositions.
#include <algorithm>

#include "ops/families.h"
#include "ops/microsoft/fused.h"

namespace gossamer::ops {
namespace {

// The operator of this name, of images with channels last. Weights and parameters lie as the
// standard has them.
Result<> define_channels_last(Builder& b, const std::string& op,
                              const std::vector<AttributeDef>& attributes) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < b.input_count(); ++i) inputs.push_back(b.input(i));
  GS_ASSIGN(inputs[0], with_channels(b, inputs[0], false));
  Attributes passed;
  for (const AttributeDef& attribute : attributes) {
    if (auto value = b.given(attribute.name)) passed.emplace(attribute.name, *value);
  }
  GS_ASSIGN(Tensor y, b.call1(op, std::move(inputs), std::move(passed)));
  if (op == "Conv") {
    GS_ASSIGN(y, activated(b, y));
  }
  GS_ASSIGN(y, with_channels(b, y, true));
  b.output(0, y);
  return {};
}

Cases cases_of(Cases cases) {
  std::erase_if(cases, [](const Case& test) {
    return test.outputs > 1 || test.attributes.contains("training_mode") ||
           (!test.inputs.empty() && !test.inputs[0].bytes.empty());
  });
  for (Case& test : cases) {
    test.outputs = 1;
    if (test.shapes.empty() || test.shapes[0].size() < 3) continue;
    std::rotate(test.shapes[0].begin() + 1, test.shapes[0].begin() + 2, test.shapes[0].end());
  }
  return cases;
}

OpDef channels_last(OpDef def) {
  def.doc = "With channels last: " + def.doc.text();
  def.domain = "com.ms.internal.nhwc";
  def.outputs.resize(1);
  def.define = [op = def.name, attributes = def.attributes](Builder& b) {
    return define_channels_last(b, op, attributes);
  };
  if (def.name == "Conv") {
    def.attributes.push_back({"activation", ""});
    def.attributes.push_back({"activation_params", std::vector<double>{}});
  }
  // Up to version 8; the shape of the statistics says the same.
  if (def.name == "BatchNormalization") def.attributes.push_back({"spatial", 1});
  def.cases = [first = def.cases] { return cases_of(first()); };
  return def;
}

}  // namespace

Result<Tensor> with_channels(Builder& b, const Tensor& x, bool last) {
  if (x.rank() < 3) return x;
  Numbers order = {0};
  for (int axis = 2; axis < x.rank(); ++axis) order.push_back(last ? axis : axis - 1);
  order.insert(last ? order.end() : order.begin() + 1, last ? 1 : x.rank() - 1);
  return b.call1("Transpose", {x}, {{"perm", std::move(order)}});
}

std::vector<OpDef> channels_last_family() {
  static constexpr std::string_view names[] = {
      "Conv",         "ConvTranspose", "QLinearConv",        "MaxPool",
      "AveragePool",  "LpPool",        "GlobalMaxPool",      "GlobalAveragePool",
      "GlobalLpPool", "LRN",           "BatchNormalization", "InstanceNormalization",
      "DepthToSpace", "SpaceToDepth",  "GridSample"};
  std::vector<OpDef> entries;
  for (auto family : {conv_family, conv_transpose_family, quantize_family, pool_family,
                      normalize_family, move_family, grid_sample_family}) {
    for (OpDef& def : family()) {
      if (std::ranges::find(names, def.name) == std::end(names)) continue;
      entries.push_back(channels_last(std::move(def)));
    }
  }
  return entries;
}

}  // namespace gossamer::ops
