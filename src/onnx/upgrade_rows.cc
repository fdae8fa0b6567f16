// The table of what changed between opsets. Rows of one operator apply in the order of the list,
// each to nodes older than its version.
#include <algorithm>

#include "onnx/upgrade_step.h"

namespace gossamer::onnx {
namespace {

using Step = UpgradeStep;

Result<> axes_to_input(Step& step) {
  step.integers_to_input("axes", 1);
  return {};
}

Result<> reshape_1(Step& step) {
  step.integers_to_input("shape", 1);
  return {};
}

Result<> split_2(Step& step) {
  step.integers_to_input("split", 1);
  return {};
}
// The number of parts was that of the outputs.
Result<> split_13(Step& step) {
  if (step.input(1).empty()) {
    step.set_default("num_outputs", static_cast<int64_t>(step.node.outputs.size()));
  }
  return {};
}

Result<> slice_1(Step& step) {
  step.integers_to_input("starts", 1);
  step.integers_to_input("ends", 2);
  step.integers_to_input("axes", 3);
  return {};
}

Result<> pad_1(Step& step) {
  if (step.has("paddings")) step.integers_to_input("paddings", 1);
  return {};
}
Result<> pad_2(Step& step) {
  step.integers_to_input("pads", 1);
  if (step.has("value")) {
    step.set_input(2, step.constant_like(step.input(0), step.take_number("value", 0)));
  }
  return {};
}

Result<> clip_6(Step& step) {
  if (step.has("min")) {
    step.set_input(1, step.constant_like(step.input(0), step.take_number("min", 0)));
  }
  if (step.has("max")) {
    step.set_input(2, step.constant_like(step.input(0), step.take_number("max", 0)));
  }
  return {};
}

Result<> topk_1(Step& step) {
  if (step.has("k")) step.set_input(1, step.constant({step.take_integer("k", 1)}));
  return {};
}

// Before version 7 a node could be in training mode by default; a compiled model only infers.
Result<> dropout_10(Step& step) {
  step.drop({"is_test"});
  if (step.has("ratio")) {
    step.set_input(1, step.constant_like("", step.take_number("ratio", 0.5)));
  }
  return {};
}

// Statistics of every element (spatial = 0) have the shape of a sample, which tells them apart.
Result<> batch_normalization_9(Step& step) {
  step.drop({"is_test", "spatial"});
  return {};
}
// Outputs beside the first were statistics of training.
Result<> batch_normalization_14(Step& step) {
  step.node.outputs.resize(1);
  return {};
}

Result<> cast_5(Step& step) {
  if (!step.has("to")) return {};
  std::string name = step.take_text("to", "");
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  constexpr std::string_view names[] = {"UNDEFINED", "FLOAT",  "UINT8",  "INT8",   "UINT16",
                                        "INT16",     "INT32",  "INT64",  "STRING", "BOOL",
                                        "FLOAT16",   "DOUBLE", "UINT32", "UINT64"};
  auto found = std::ranges::find(names, name);
  if (found == std::end(names)) return step.error(cat("casts to an unknown type \"", name, "\""));
  step.node.attributes["to"] = static_cast<int64_t>(found - std::begin(names));
  return {};
}

// `broadcast` with `axis`: the second operand's axes match the first's from `axis` on.
Result<> broadcast_6(Step& step) {
  bool broadcasts = step.take_integer("broadcast", 0) != 0;
  if (!broadcasts || !step.has("axis")) {
    step.drop({"axis"});
    return {};
  }
  int64_t axis = step.take_integer("axis", 0);
  auto left = step.facts(step.input(0)).rank, right = step.facts(step.input(1)).rank;
  if (!right) return step.error("broadcasts along an axis an operand of unknown rank");
  if (!left && axis == 1 && *right == 1) left = 4;  // a channel's value in an image
  if (!left) return step.error("broadcasts along an axis of an operand of unknown rank");
  if (axis < 0) axis += *left;
  std::vector<int64_t> axes;
  for (int64_t i = axis + *right; i < *left; ++i) axes.push_back(i - axis);
  if (!axes.empty()) {
    step.set_input(1, step.prepend("Unsqueeze", {step.input(1), step.constant(axes)}));
  }
  return {};
}

Result<> gemm_6(Step& step) {
  step.drop({"broadcast"});
  return {};
}

Result<> concat_3(Step& step) {
  step.set_default("axis", int64_t{1});
  return {};
}

// The slope of a channel became a broadcast operand.
Result<> prelu_6(Step& step) {
  auto rank = step.facts(step.input(0)).rank, slope = step.facts(step.input(1)).rank;
  auto known = step.known(step.input(1));
  if (slope != 1 || (known && known->size() == 1)) return {};
  std::vector<int64_t> axes;
  for (int64_t i = 1; i < rank.value_or(4) - 1; ++i) axes.push_back(i);
  if (!axes.empty()) {
    step.set_input(1, step.prepend("Unsqueeze", {step.input(1), step.constant(axes)}));
  }
  return {};
}

// Softmax and its kin normalised over all axes from `axis` on.
Result<> softmax_12(Step& step) {
  int64_t axis = step.take_integer("axis", 1);
  auto rank = step.facts(step.input(0)).rank;
  if (axis == -1 || (rank && axis == *rank - 1)) {
    step.node.attributes["axis"] = int64_t{-1};
    return {};
  }
  std::string data = step.input(0);
  std::string shape = step.prepend("Shape", {data});
  step.set_input(0, step.prepend("Flatten", {data}, {{"axis", axis}}));
  step.node.attributes["axis"] = int64_t{-1};
  step.append("Reshape", {shape}, {{"allowzero", int64_t{1}}});
  return {};
}

// Nearest neighbours were chosen by a rule without a name: floor along axes that grow, ceil along
// those that shrink. Where there are both, or only the run knows, growing is a node of its own.
Result<> resize_asymmetric(Step& step, const std::string& scales) {
  step.set_default("mode", std::string("nearest"));
  std::string mode = step.take_text("mode", "nearest");
  if (mode == "bilinear") mode = "linear";
  step.node.attributes["mode"] = mode;
  step.node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  auto known = step.known(scales);
  const auto some = [&](auto holds) { return !known || std::ranges::any_of(*known, holds); };
  const bool shrinks = some([](double scale) { return scale < 1; });
  const bool grows = some([](double scale) { return scale > 1; });
  std::string x = step.input(0), rest = scales;
  if (mode == "nearest") {
    ops::Attributes& attributes = step.node.attributes;
    if (shrinks && grows) {
      const std::string one = step.constant_floats({1});
      attributes["nearest_mode"] = std::string("floor");
      x = step.prepend("Resize", {x, "", step.prepend("Max", {scales, one})}, attributes);
      rest = step.prepend("Min", {scales, one});
    }
    attributes["nearest_mode"] = std::string(shrinks ? "ceil" : "floor");
  }
  step.node.inputs = {x, "", rest};
  return {};
}
Result<> upsample_7(Step& step) {
  std::vector<double> scales = step.take_numbers("scales");
  if (step.has("height_scale")) {
    double height = step.take_number("height_scale", 1), width = step.take_number("width_scale", 1);
    scales = {1, 1, height, width};
  }
  std::string input = scales.empty() ? step.input(1) : step.constant_floats(scales);
  step.rename("Resize");
  return resize_asymmetric(step, input);
}
Result<> resize_10(Step& step) { return resize_asymmetric(step, step.input(1)); }
// Absent inputs could be written as empty tensors.
Result<> resize_11(Step& step) {
  for (size_t i = 1; i < step.node.inputs.size(); ++i) {
    const stages::ConstantSource* constant = step.facts(step.input(i)).constant;
    if (constant && std::ranges::find(constant->shape, 0) != constant->shape.end()) {
      step.set_input(i, "");
    }
  }
  return {};
}

Result<> scatter(Step& step) {
  step.rename("ScatterElements");
  return {};
}

Result<> rnn_6(Step& step) {
  step.drop({"output_sequence"});
  return {};
}

Result<> roi_align_15(Step& step) {
  step.set_default("coordinate_transformation_mode", std::string("output_half_pixel"));
  return {};
}

Result<> grid_sample_19(Step& step) {
  std::string mode = step.take_text("mode", "bilinear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  step.node.attributes["mode"] = mode;
  return {};
}

Result<> dft_19(Step& step) {
  int64_t axis = step.take_integer("axis", 1);
  step.set_input(2, step.constant_scalar(axis));
  return {};
}

// Scale and bias were per group.
Result<> group_normalization_20(Step& step) {
  auto groups = step.node.attributes.find("num_groups");
  if (groups == step.node.attributes.end()) return {};
  std::string shape =
      step.prepend("Shape", {step.input(0)}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  std::string per_group = step.constant({std::get<int64_t>(groups->second)});
  std::string times = step.prepend("Div", {shape, per_group});
  std::string target = step.prepend("Concat", {per_group, times}, {{"axis", int64_t{0}}});
  for (size_t i : {1, 2}) {
    std::string column = step.prepend("Unsqueeze", {step.input(i), step.constant({1})});
    std::string wide = step.prepend("Expand", {column, target});
    step.set_input(i, step.prepend("Reshape", {wide, shape}));
  }
  return {};
}

// Experimental operators of opset 1 that exporters to Windows wrote: arithmetic.
Result<> image_scaler(Step& step) {
  double scale = step.take_number("scale", 1);
  std::vector<double> bias = step.take_numbers("bias");
  std::string factor = step.constant_like(step.input(0), scale);
  step.rename("Mul");
  step.node.inputs = {step.input(0), factor};
  if (bias.empty()) return {};
  std::string flat = step.constant_floats(bias);
  step.append("Add", {step.prepend("Unsqueeze", {flat, step.constant({1, 2})})});
  return {};
}
Result<> affine(Step& step) {
  double alpha = step.take_number("alpha", 1), beta = step.take_number("beta", 0);
  step.rename("Mul");
  step.node.inputs = {step.input(0), step.constant_like(step.input(0), alpha)};
  step.append("Add", {step.constant_like(step.input(0), beta)});
  return {};
}
Result<> scale(Step& step) {
  double factor = step.take_number("scale", 1);
  step.rename("Mul");
  step.node.inputs = {step.input(0), step.constant_like(step.input(0), factor)};
  return {};
}
Result<> crop(Step& step) {
  std::vector<int64_t> border = step.take_integers("border"), extent = step.take_integers("scale");
  if (border.size() != 4) return step.error("`border` must have four numbers");
  // Left, top, right, bottom; with `scale`, a height and width from the left and top corner.
  std::vector<int64_t> starts{border[1], border[0]}, ends{-border[3], -border[2]};
  if (extent.size() == 2) ends = {starts[0] + extent[0], starts[1] + extent[1]};
  for (size_t i = 0; i < 2; ++i) {
    if (ends[i] == 0) ends[i] = INT64_MAX;
  }
  step.rename("Slice");
  step.node.inputs = {step.input(0), step.constant(starts), step.constant(ends),
                      step.constant({2, 3})};
  return {};
}

constexpr int any_version = newest_opset + 1;

constexpr UpgradeRow rows[] = {
    {"Add", 7, broadcast_6},
    {"Sub", 7, broadcast_6},
    {"Mul", 7, broadcast_6},
    {"Div", 7, broadcast_6},
    {"Pow", 7, broadcast_6},
    {"And", 7, broadcast_6},
    {"Or", 7, broadcast_6},
    {"Xor", 7, broadcast_6},
    {"Equal", 7, broadcast_6},
    {"Greater", 7, broadcast_6},
    {"Less", 7, broadcast_6},
    {"Affine", any_version, affine},
    {"BatchNormalization", 9, batch_normalization_9},
    {"BatchNormalization", 14, batch_normalization_14},
    {"Cast", 6, cast_5},
    {"Clip", 11, clip_6},
    {"Concat", 4, concat_3},
    {"Crop", any_version, crop},
    {"DFT", 20, dft_19},
    {"Dropout", 12, dropout_10},
    {"GRU", 7, rnn_6},
    {"Gemm", 7, gemm_6},
    {"GridSample", 20, grid_sample_19},
    {"GroupNormalization", 21, group_normalization_20},
    {"Hardmax", 13, softmax_12},
    {"ImageScaler", any_version, image_scaler},
    {"LSTM", 7, rnn_6},
    {"LogSoftmax", 13, softmax_12},
    {"PRelu", 7, prelu_6},
    {"Pad", 2, pad_1},
    {"Pad", 11, pad_2},
    {"RNN", 7, rnn_6},
    {"ReduceL1", 18, axes_to_input},
    {"ReduceL2", 18, axes_to_input},
    {"ReduceLogSum", 18, axes_to_input},
    {"ReduceLogSumExp", 18, axes_to_input},
    {"ReduceMax", 18, axes_to_input},
    {"ReduceMean", 18, axes_to_input},
    {"ReduceMin", 18, axes_to_input},
    {"ReduceProd", 18, axes_to_input},
    {"ReduceSum", 13, axes_to_input},
    {"ReduceSumSquare", 18, axes_to_input},
    {"Reshape", 5, reshape_1},
    {"Resize", 11, resize_10},
    {"Resize", 18, resize_11},
    {"RoiAlign", 16, roi_align_15},
    {"Scale", any_version, scale},
    {"Scatter", any_version, scatter},
    {"Slice", 10, slice_1},
    {"Softmax", 13, softmax_12},
    {"Split", 13, split_2},
    {"Split", 18, split_13},
    {"Squeeze", 13, axes_to_input},
    {"TopK", 10, topk_1},
    {"Unsqueeze", 13, axes_to_input},
    {"Upsample", any_version, upsample_7},
};

}  // namespace

std::span<const UpgradeRow> upgrade_rows() { return rows; }

}  // namespace gossamer::onnx
