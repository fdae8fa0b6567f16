#include "onnx/facts.h"

#include <algorithm>

#include "onnx/tensor.h"

namespace gossamer::onnx {
namespace {

using ir::DType;

// Operators whose first output has their first input's rank.
constexpr std::string_view rank_keepers[] = {"AveragePool",
                                             "BatchNormalization",
                                             "Cast",
                                             "Clip",
                                             "Concat",
                                             "Conv",
                                             "ConvTranspose",
                                             "Dropout",
                                             "Elu",
                                             "Exp",
                                             "GlobalAveragePool",
                                             "GlobalMaxPool",
                                             "HardSigmoid",
                                             "HardSwish",
                                             "Identity",
                                             "InstanceNormalization",
                                             "LRN",
                                             "LeakyRelu",
                                             "Log",
                                             "LogSoftmax",
                                             "MaxPool",
                                             "PRelu",
                                             "Pad",
                                             "Relu",
                                             "Resize",
                                             "Sigmoid",
                                             "Slice",
                                             "Softmax",
                                             "Softplus",
                                             "Split",
                                             "Sqrt",
                                             "Tanh",
                                             "Transpose"};
constexpr std::string_view broadcasters[] = {"Add", "Sub", "Mul", "Div",
                                             "Pow", "Sum", "Max", "Min"};
constexpr std::string_view makers_of_i64[] = {"ArgMax", "ArgMin", "NonZero", "Shape", "Size"};
constexpr std::string_view makers_of_bool[] = {"And",   "Equal", "Greater", "GreaterOrEqual",
                                               "IsInf", "IsNaN", "Less",    "LessOrEqual",
                                               "Not",   "Or",    "Xor"};

bool one_of(std::string_view name, auto& list) {
  return std::ranges::find(list, name) != std::end(list);
}

std::optional<DType> guess_dtype(const ImportNode& node, size_t index, const UpgradeScope& scope) {
  auto of_input = [&](size_t i) {
    return i < node.inputs.size() ? scope.facts(node.inputs[i]).dtype : std::nullopt;
  };
  const std::string& op = node.op;
  if (op == "Cast") {
    auto to = node.attributes.find("to");
    if (to == node.attributes.end()) return std::nullopt;
    const auto* number = std::get_if<int64_t>(&to->second);
    if (!number || *number < 0 || *number > 64) return std::nullopt;
    auto dtype = dtype_of(static_cast<int>(*number));
    return dtype ? std::optional(*dtype) : std::nullopt;
  }
  if (one_of(op, makers_of_i64) || (op == "TopK" && index == 1)) return DType::i64;
  if (one_of(op, makers_of_bool) || (op == "Dropout" && index == 1)) return DType::boolean;
  if (op == "ConstantOfShape") {
    auto value = node.attributes.find("value");
    if (value == node.attributes.end()) return DType::f32;
    const auto* tensor = std::get_if<ops::TensorData>(&value->second);
    return tensor ? std::optional(tensor->dtype) : std::nullopt;
  }
  if (op == "MatMulInteger" || op == "ConvInteger") return DType::i32;
  if (op == "Where" || op == "DequantizeLinear" || op == "CastLike") return of_input(1);
  if (op == "QuantizeLinear" || op == "OneHot") return of_input(2);
  return of_input(0);
}

std::optional<int> guess_rank(const ImportNode& node, size_t index, const UpgradeScope& scope) {
  auto of_input = [&](size_t i) {
    return i < node.inputs.size() ? scope.facts(node.inputs[i]).rank : std::nullopt;
  };
  if (one_of(node.op, rank_keepers)) return of_input(0);
  if (index > 0) return std::nullopt;
  if (node.op == "Flatten" || node.op == "Gemm") return 2;
  if (node.op == "Reshape" && node.inputs.size() > 1) {
    const stages::ConstantSource* shape = scope.facts(node.inputs[1]).constant;
    if (shape && shape->shape.size() == 1) return static_cast<int>(shape->shape[0]);
  }
  if (one_of(node.op, broadcasters)) {
    int rank = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      auto one = of_input(i);
      if (!one) return std::nullopt;
      rank = std::max(rank, *one);
    }
    return rank;
  }
  if (node.op == "MatMul") {
    auto a = of_input(0), b = of_input(1);
    if (a && b && *a >= 2 && *b >= 2) return std::max(*a, *b);
  }
  return std::nullopt;
}

}  // namespace

ValueFacts guess_output(const ImportNode& node, size_t index, const UpgradeScope& scope) {
  return {guess_dtype(node, index, scope), guess_rank(node, index, scope), nullptr};
}

}  // namespace gossamer::onnx
