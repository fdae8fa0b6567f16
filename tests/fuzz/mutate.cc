#include "fuzz/mutate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "interp/expr_eval.h"
#include "ir/scalar.h"

namespace gossamer::fuzz {
namespace {

using ir::DType;
using ir::Scalar;
using ops::Attribute;
using ops::Case;
using ops::OpDef;
using ops::TensorData;

constexpr int64_t max_elements = 20000;

const std::vector<DType>& common_types() {
  static const std::vector<DType> types{DType::f32,     DType::f32, DType::f32, DType::f32,
                                        DType::i32,     DType::i64, DType::i8,  DType::u8,
                                        DType::i16,     DType::u16, DType::u32, DType::u64,
                                        DType::boolean, DType::f16, DType::f64, DType::bf16};
  return types;
}

bool in_files(DType dtype) { return dtype <= DType::boolean; }

DType type_of(const ops::InputDef& input, DType wanted) {
  if (input.types & ops::only(wanted)) return wanted;
  for (unsigned i = 0; i <= static_cast<unsigned>(DType::boolean); ++i)
    if (input.types & (1u << i)) return static_cast<DType>(i);
  return DType::string;
}

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= std::max<int64_t>(extent, 1);
  return count;
}

int64_t some_extent(const Call& call, Random& random) {
  if (call.empties && random.chance(0.3)) return 0;
  static const std::vector<int64_t> usual{1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9, 11, 13, 16, 17};
  static const std::vector<int64_t> odd{0, 0, 0, 1, 23, 31, 32, 33, 64, 65, 127, 257, 5000, 9000};
  return random.of(random.chance(0.8) ? usual : odd);
}

std::vector<int64_t> some_shape(const Call& call, Random& random) {
  static const std::vector<int64_t> ranks{0, 1, 1, 2, 2, 3, 3, 4, 5, 6};
  std::vector<int64_t> shape;
  const int64_t rank = random.of(ranks);
  for (int64_t axis = 0; axis < rank; ++axis) {
    shape.push_back(some_extent(call, random));
    if (count_of(shape) > max_elements) shape.back() = 1;
  }
  return shape;
}

template <class F>
void each_free(Call& call, const F& callback) {
  for (Operand& operand : call.operands)
    if (!operand.absent && !operand.given) callback(operand.data.shape);
}

void broadcast_shapes(Call& call, Random& random) {
  const std::vector<int64_t> full = some_shape(call, random);
  each_free(call, [&](std::vector<int64_t>& shape) {
    shape = full;
    if (!random.chance(0.4)) return;
    for (int64_t& extent : shape)
      if (random.chance(0.3)) extent = 1;
    const int64_t drop = random.below(static_cast<int64_t>(shape.size()) + 1);
    if (random.chance(0.5)) shape.erase(shape.begin(), shape.begin() + drop);
  });
}

void mutate(Attribute& value, Random& random) {
  const auto tweak = [&](int64_t& number) {
    static const std::vector<int64_t> steps{-2, -1, -1, 1, 1, 2};
    number = random.chance(0.2) ? random.below(4) - 1 : number + random.of(steps);
  };
  if (auto* number = std::get_if<int64_t>(&value)) {
    tweak(*number);
  } else if (auto* real = std::get_if<double>(&value)) {
    static const std::vector<double> factors{0, -1, 0.5, 2, 1.25};
    *real *= random.of(factors);
  } else if (auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    if (list->empty()) return;
    if (random.chance(0.4)) {
      std::swap((*list)[static_cast<size_t>(random.below(std::ssize(*list)))], list->back());
    } else {
      tweak((*list)[static_cast<size_t>(random.below(std::ssize(*list)))]);
    }
  }
}

double some_number(DType dtype, double low, double high, bool extremes, Random& random) {
  static const std::vector<double> corners{0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, 100, -100, 1e-3};
  const double value = low + (high - low) * random.real();
  if (!extremes) return value;
  if (ir::is_float(dtype)) return random.of(corners);
  const int bits = ir::bit_width(dtype);
  const double most = std::ldexp(1, ir::is_signed_int(dtype) ? bits - 1 : bits) - 1;
  const double least = ir::is_signed_int(dtype) ? -most - 1 : 0;
  static const std::vector<double> shares{0, 0, 1, 1, 0.5, 0.999};
  return least + (most - least) * random.of(shares);
}

}  // namespace

bool reads_at_places(const OpDef& def) {
  static const std::set<std::string, std::less<>> names{"Gather",
                                                        "GatherElements",
                                                        "GatherND",
                                                        "ScatterElements",
                                                        "ScatterND",
                                                        "TensorScatter",
                                                        "MaxUnpool",
                                                        "ArrayFeatureExtractor",
                                                        "Scatter",
                                                        "NegativeLogLikelihoodLoss",
                                                        "SoftmaxCrossEntropyLoss",
                                                        "GatherBlockQuantized",
                                                        "RotaryEmbedding",
                                                        "MultiHeadAttention",
                                                        "GroupQueryAttention",
                                                        "Attention",
                                                        "EmbedLayerNormalization",
                                                        "QEmbedLayerNormalization",
                                                        "TorchEmbedding",
                                                        "QAttention",
                                                        "DecoderMaskedMultiHeadAttention",
                                                        "DecoderMaskedSelfAttention",
                                                        "RoiAlign",
                                                        "ReverseSequence",
                                                        "TfIdfVectorizer",
                                                        "Compress",
                                                        "Bernoulli",
                                                        "Multinomial"};
  return names.contains(def.name);
}

bool is_elementwise(const OpDef& def) {
  static const std::set<std::string, std::less<>> others{"MatMul", "MatMulInteger", "Gemm", "Det",
                                                         "Unique", "Loop",          "Scan", "If"};
  return !others.contains(def.name) && def.attributes.empty() && !reads_at_places(def) &&
         std::ranges::none_of(def.cases(), [](const Case& test) {
           return !test.inputs.empty() || test.shapes.empty();
         });
}

std::optional<Call> call_of(const OpDef& def, const Case& test, Random& random) {
  // GPUs compute halves in f32 (docs/specs/semantics.md); what is f32 outside is judged as f32.
  const auto precision = test.attributes.find("softmax_precision");
  if (precision != test.attributes.end() && std::get<int64_t>(precision->second) != 1)
    return std::nullopt;
  Call call{&def, test, test.attributes, {}, test.outputs};
  if (call.outputs == 0) call.outputs = std::max<int>(1, static_cast<int>(def.outputs.size()));
  const DType wanted = random.chance(0.5) ? test.dtype : random.of(common_types());
  const size_t count = std::max(test.shapes.size(), test.inputs.size());
  for (size_t i = 0; i < count; ++i) {
    Operand operand;
    const bool given =
        i < test.inputs.size() && (!test.inputs[i].bytes.empty() || !test.inputs[i].shape.empty());
    if (given) {
      operand.given = true;
      operand.data = test.inputs[i];
    } else if (i >= test.shapes.size() || test.shapes[i] == std::vector<int64_t>{-1}) {
      operand.absent = true;
    } else {
      operand.data.dtype = type_of(def.inputs[std::min(i, def.inputs.size() - 1)], wanted);
      operand.data.shape = test.shapes[i];
    }
    if (!operand.absent && !in_files(operand.data.dtype)) return std::nullopt;
    call.operands.push_back(std::move(operand));
  }
  return call;
}

void replace_extent(Call& call, int64_t from, int64_t to) {
  each_free(call, [&](std::vector<int64_t>& shape) { std::ranges::replace(shape, from, to); });
}

void mutate_shapes(Call& call, Random& random) {
  if (is_elementwise(*call.def) && random.chance(0.6)) return broadcast_shapes(call, random);
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>*> shapes;
  each_free(call, [&](std::vector<int64_t>& shape) {
    extents.insert(extents.end(), shape.begin(), shape.end());
    shapes.push_back(&shape);
  });
  if (shapes.empty()) return;
  for (int64_t turn = random.below(4); turn > 0; --turn) {
    const int64_t kind = random.below(8);
    std::vector<int64_t>& shape = *random.of(shapes);
    if (kind < 4 && !extents.empty()) {
      const int64_t from = random.of(extents), to = some_extent(call, random);
      replace_extent(call, from, to);
    } else if (kind == 4 && !shape.empty()) {
      shape[static_cast<size_t>(random.below(std::ssize(shape)))] =
          random.chance(0.5) ? 1 : some_extent(call, random);
    } else if (kind == 5) {
      const int64_t extent = some_extent(call, random);
      for (auto* one : shapes) one->insert(one->begin(), extent);
    } else if (kind == 6 && !shape.empty()) {
      shape.erase(shape.begin());
    } else if (kind == 7) {
      shape.insert(shape.begin(), 1);
    }
  }
  for (auto* one : shapes)
    while (count_of(*one) > max_elements) *std::ranges::max_element(*one) /= 2;
}

void mutate_attributes(Call& call, Random& random) {
  for (const ops::AttributeDef& def : call.def->attributes) {
    if (random.chance(0.75) || reads_at_places(*call.def)) continue;
    const Case other = random.of(call.def->cases());
    if (const auto found = other.attributes.find(def.name); found != other.attributes.end()) {
      call.attributes[def.name] = found->second;
    } else if (!call.attributes.contains(def.name) &&
               !std::holds_alternative<std::monostate>(def.fallback)) {
      call.attributes[def.name] = def.fallback;
    }
    if (call.attributes.contains(def.name) && random.chance(0.5))
      mutate(call.attributes[def.name], random);
  }
  for (Operand& operand : call.operands) {
    if (!operand.given || !ir::is_int(operand.data.dtype) || operand.data.bytes.empty()) continue;
    if (reads_at_places(*call.def) || random.chance(0.7)) continue;
    const int64_t at = random.below(operand.data.element_count());
    const int64_t step = random.below(2) == 0 ? 1 : -1;
    const int64_t value = interp::element(operand.data, at).i;
    interp::set_element(
        operand.data, at,
        Scalar::of_int(operand.data.dtype, random.chance(0.2) ? -value : value + step));
  }
}

TensorData fill(DType dtype, const std::vector<int64_t>& shape, const Call& call, Random& random) {
  TensorData data{dtype, shape, {}, {}};
  const int64_t count = data.element_count();
  data.bytes.resize(static_cast<size_t>(count * ir::byte_size(dtype)));
  const bool usual = call.test.low == -2 && call.test.high == 2 && !reads_at_places(*call.def);
  const double extremes = usual && random.chance(0.3) ? 0.3 : 0;
  const double wide = usual && ir::is_int(dtype) && random.chance(0.5) ? 20 : 1;
  static const std::vector<double> odd{std::numeric_limits<double>::infinity(),
                                       -std::numeric_limits<double>::infinity(),
                                       std::numeric_limits<double>::quiet_NaN()};
  const bool specials = usual && dtype == DType::f32 && random.chance(0.05);
  for (int64_t at = 0; at < count; ++at) {
    double value = some_number(dtype, call.test.low * wide, call.test.high * wide,
                               random.chance(extremes), random);
    if (specials && random.chance(0.1)) value = random.of(odd);
    if (dtype == DType::boolean) value = random.chance(0.5) ? 0 : 1;
    if (ir::is_int(dtype)) value = std::round(value);
    interp::set_element(data, at, Scalar::of_float(dtype, value));
  }
  return data;
}

}  // namespace gossamer::fuzz
