// Layers of ONNX Runtime's domain on quantised tensors: the real ones on what they stand for.
#include "ir/print.h"
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/nn/recurrent.h"
#include "ops/reshape_index.h"

namespace gossamer::ops {
namespace {

Result<> as_standard(Builder& b, std::string_view op) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < b.input_count(); ++i) inputs.push_back(b.input(i));
  // A parameter of one element is that of all.
  for (size_t i : {1, 2}) {
    if (i < inputs.size() && inputs[i] && inputs[i].rank() == 1 &&
        ir::is_const(inputs[i].dim(0), 1))
      inputs[i] = b.reshape("parameter", inputs[i], {});
  }
  GS_ASSIGN(Tensor y, b.call1(op, std::move(inputs), passed_on(b, {"axis"})));
  b.output(0, y);
  return {};
}

// x as real numbers: one scale, or one a column.
Result<Tensor> real_of(Builder& b, const Tensor& x, Tensor scale, Tensor zero) {
  for (Tensor* one : {&scale, &zero}) {
    if (*one && one->rank() > 0 && ir::is_const(one->dim(-1), 1) && one->rank() == 1)
      *one = b.reshape("parameter", *one, {});
  }
  return b.call1("DequantizeLinear", {x, scale, zero}, {{"axis", int64_t{x.rank()} - 1}});
}

Result<> quantized_attention(Builder& b) {
  GS_TRY(one_type(b, {0, 6}));
  GS_TRY(one_type(b, {1, 7}));
  GS_TRY(one_type(b, {2, 3, 4, 8}));
  GS_ASSIGN(Tensor x, real_of(b, b.input(0), b.input(3), b.input(6)));
  GS_ASSIGN(Tensor w, real_of(b, b.input(1), b.input(4), b.input(7)));
  Attributes attributes = passed_on(b, {"do_rotary", "mask_filter_value", "num_heads",
                                        "past_present_share_buffer", "scale", "unidirectional"});
  const int count = b.wants(1) ? 2 : 1;
  GS_ASSIGN(std::vector<Tensor> made,
            b.call("com.microsoft::Attention", {x, w, b.input(2), b.input(5), b.input(8)},
                   std::move(attributes), count));
  for (int i = 0; i < count; ++i) b.output(i, made[static_cast<size_t>(i)]);
  return {};
}

// An LSTM whose products see X and the hidden state as u8, as they do where the products are of
// integers.
Result<> quantized_lstm(Builder& b) {
  static const OpDef lstm = [] {
    OpDef made = *builtin_catalog().find("", "LSTM");
    Cell cell = lstm_cell();
    cell.quantized_state = true;
    made.define = [cell](Builder& inner) { return recurrent_define(inner, cell); };
    return made;
  }();
  // X by the range of all of it up to the longest sequence, the states each by its own.
  Tensor given = b.input(0);
  if (given.rank() != 3) return b.error(cat("X has rank ", given.rank(), ", not 3"));
  if (const Tensor& lengths = b.input(4)) {
    if (lengths.rank() != 1) return b.error("sequence_lens has one axis");
    const Tensor longest =
        b.reduce("lstm.longest", Builder::Join::max, DType::i32, {}, {lengths.dim(0)},
                 [&](Point, Point r) { return lengths({r[0]}); });
    const Tensor all = given;
    given = b.compute("lstm.read", DType::f32, all.shape(), [&](Point p) {
      return ir::select(p[0] < as_index(longest({})), all.at(p), ir::zero(DType::f32));
    });
  }
  const Expr size = b.simplify(given.dim(0) * given.dim(1) * given.dim(2));
  const Tensor seen = seen_as_bytes(b, b.reshape("lstm.flat", given, {ir::index(1), size}));
  const Tensor x = b.reshape("lstm.x", seen, given.shape());
  std::vector<Tensor> inputs = {x};
  for (int i : {1, 2}) {
    const Tensor& w = b.input(i);
    const Tensor &scale = b.input(i == 1 ? 8 : 10), &zero = b.input(i == 1 ? 9 : 11);
    GS_TRY(one_type(b, {i, i == 1 ? 9 : 11}));
    if (w.rank() != 3) return b.error(cat("input ", i, " has rank ", w.rank(), ", not 3"));
    for (const Tensor* one : {&scale, &zero}) {
      if (one->rank() != 1 && one->rank() != 2)
        return b.error("scales are [directions] or [directions, columns]");
    }
    // [directions, rows, columns] of [directions, columns, rows].
    inputs.push_back(
        b.compute("lstm.weights", DType::f32, {w.dim(0), w.dim(2), w.dim(1)}, [&](Point p) {
          const auto at = [&](const Tensor& one) {
            return one.rank() == 1 ? one({p[0]}) : one({p[0], p[1]});
          };
          const Expr value =
              ir::cast(DType::i32, w({p[0], p[2], p[1]})) - ir::cast(DType::i32, at(zero));
          return ir::cast(DType::f32, value) * at(scale);
        }));
  }
  for (int i = 3; i < 8; ++i) inputs.push_back(b.input(i));
  GS_ASSIGN(std::vector<Tensor> made,
            b.call(lstm, std::move(inputs),
                   passed_on(b, {"activation_alpha", "activation_beta", "activations", "clip",
                                 "direction", "hidden_size", "input_forget"}),
                   b.output_count()));
  for (int i = 0; i < b.output_count(); ++i) b.output(i, made[static_cast<size_t>(i)]);
  return {};
}

// Ids, quantised embeddings with scales and zero points.
Result<> quantized_embedding(Builder& b) {
  std::vector<Tensor> real(5);
  for (int i = 0; i < 5; ++i) {
    if (!b.has(i + 2)) continue;
    GS_ASSIGN(real[static_cast<size_t>(i)],
              real_of(b, b.input(i + 2), b.input(i + 8), b.input(i + 13)));
  }
  GS_ASSIGN(std::vector<Tensor> made, b.call("com.microsoft::EmbedLayerNormalization",
                                             {b.input(0), b.input(1), real[0], real[1], real[2],
                                              real[3], real[4], b.input(7)},
                                             passed_on(b, {"epsilon"}), b.wants(1) ? 2 : 1));
  for (size_t i = 0; i < made.size(); ++i) b.output(static_cast<int>(i), made[i]);
  return {};
}

}  // namespace

std::vector<OpDef> microsoft_quantized_layer_family() {
  const std::string ms(microsoft);
  const auto optional = InputDef::optional;
  const std::vector<int64_t> none = {-1};
  const TypeSet bytes = only(DType::u8) | only(DType::i8), f32 = only(DType::f32),
                ids = only(DType::i32), small = bytes | only(DType::i16) | only(DType::u16);
  const TypeSet nibbles = only(DType::i4) | only(DType::u4);
  return {
      {.name = "QuantizeLinear",
       .doc = "Rounds x / scale + zero point into an integer type, saturating.",
       .domain = ms,
       .since = 1,
       .inputs = {{"x", any_float},
                  {"y_scale", any_float},
                  {"y_zero_point", small | nibbles, optional}},
       .outputs = {"y"},
       .attributes = {{"axis", {}}},
       .define = [](Builder& b) { return as_standard(b, "QuantizeLinear"); },
       .cases = [] -> Cases {
         return {{.name = "16 bits",
                  .shapes = {{2, 5}},
                  .inputs = {{},
                             floats({1}, {0.001f}),
                             {DType::u16, {1}, {std::byte{0}, std::byte{128}}, {}}}},
                 {.name = "axis",
                  .shapes = {{2, 3, 4}},
                  .attributes = {{"axis", 1}},
                  .inputs = {{}, floats({3}, {0.1f, 0.2f, 0.3f}), uint8s({3}, {0, 100, 200})}}};
       }},
      {.name = "DequantizeLinear",
       .doc = "(x - zero point) * scale.",
       .domain = ms,
       .since = 1,
       .inputs = {{"x", small | nibbles | ids},
                  {"x_scale", any_float},
                  {"x_zero_point", small | nibbles | ids, optional}},
       .outputs = {"y"},
       .attributes = {{"axis", {}}},
       .define = [](Builder& b) { return as_standard(b, "DequantizeLinear"); },
       .cases = [] -> Cases {
         return {{.name = "16 bits",
                  .shapes = {{2, 5}},
                  .inputs = {{}, floats({}, {0.001f})},
                  .dtype = DType::i16,
                  .low = -30000,
                  .high = 30000}};
       }},
      {.name = "QAttention",
       .doc = "Self-attention with its projection, of quantised numbers.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input", bytes},
                  {"weight", bytes},
                  {"bias", any_float},
                  {"input_scale", any_float},
                  {"weight_scale", any_float},
                  {"mask_index", ids, optional},
                  {"input_zero_point", bytes, optional},
                  {"weight_zero_point", bytes, optional},
                  {"past", any_float, optional}},
       .outputs = {"output", "present"},
       .attributes = {{"do_rotary", 0},
                      {"mask_filter_value", {}},
                      {"num_heads", {}, true},
                      {"past_present_share_buffer", 0},
                      {"scale", {}},
                      {"unidirectional", 0}},
       .define = quantized_attention,
       .cases = [] -> Cases {
         return {
             {.name = "mask, columns",
              .shapes = {{2, 3, 4}, {4, 12}, {12}, {}, {12}},
              .attributes = {{"num_heads", 2}},
              .inputs =
                  {{}, {}, {}, floats({}, {0.02f}), {}, int32s({2}, {2, 3}), uint8s({1}, {128})},
              .dtype = DType::u8,
              .low = 0,
              .high = 2,
              .outputs = 1}};
       }},
      {.name = "DynamicQuantizeLSTM",
       .doc = "LSTM of quantised weights; the inputs of products are quantised by their range.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", f32},
                  {"W", bytes},
                  {"R", bytes},
                  {"B", f32, optional},
                  {"sequence_lens", ids, optional},
                  {"initial_h", f32, optional},
                  {"initial_c", f32, optional},
                  {"P", f32, optional},
                  {"W_scale", f32},
                  {"W_zero_point", bytes},
                  {"R_scale", f32},
                  {"R_zero_point", bytes}},
       .outputs = {"Y", "Y_h", "Y_c"},
       .attributes = {{"activation_alpha", std::vector<double>{}},
                      {"activation_beta", std::vector<double>{}},
                      {"activations", std::vector<std::string>{}},
                      {"clip", {}},
                      {"direction", "forward"},
                      {"hidden_size", {}},
                      {"input_forget", 0}},
       .define = quantized_lstm,
       .cases = [=] -> Cases {
         return {{.name = "forward",
                  .shapes = {{3, 2, 4}, {1, 4, 20}, {1, 5, 20}, {1, 40}, none, none, none, none},
                  .inputs = {{},
                             {},
                             {},
                             {},
                             {},
                             {},
                             {},
                             {},
                             floats({1}, {0.01f}),
                             uint8s({1}, {128}),
                             floats({1}, {0.01f}),
                             uint8s({1}, {120})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255},
                 {.name = "both, columns",
                  .shapes = {{6, 1, 4},
                             {2, 4, 8},
                             {2, 2, 8},
                             none,
                             none,
                             none,
                             none,
                             none,
                             {2, 8},
                             {2, 8},
                             {2, 8},
                             {2, 8}},
                  .attributes = {{"direction", "bidirectional"}},
                  .dtype = DType::i8,
                  .low = 0,
                  .high = 1}};
       }},
      {.name = "QEmbedLayerNormalization",
       .doc = "EmbedLayerNormalization of quantised embeddings.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input_ids", ids},
                  {"segment_ids", ids, optional},
                  {"word_embedding_quant", bytes},
                  {"position_embedding_quant", bytes},
                  {"segment_embedding", bytes, optional},
                  {"gamma_quant", bytes},
                  {"beta_quant", bytes},
                  {"mask", ids, optional},
                  {"word_embedding_scale", f32},
                  {"position_embedding_scale", f32},
                  {"segment_embedding_scale", f32, optional},
                  {"gamma_scale", f32},
                  {"beta_scale", f32},
                  {"word_embedding_zero_point", bytes},
                  {"position_embedding_zero_point", bytes},
                  {"segment_embedding_zero_point", bytes, optional},
                  {"gamma_zero_point", bytes},
                  {"beta_zero_point", bytes}},
       .outputs = {"layernorm_out", "mask_index_out"},
       .attributes = {{"epsilon", 1e-12}},
       .define = quantized_embedding,
       .cases = [=] -> Cases {
         return {{.name = "without segments",
                  .shapes = {{2, 3},
                             none,
                             {5, 4},
                             {3, 4},
                             none,
                             {4},
                             {4},
                             none,
                             {},
                             {},
                             none,
                             {},
                             {},
                             {},
                             {},
                             none,
                             {},
                             {}},
                  .inputs = {int32s({2, 3}, {0, 4, 2, 1, 1, 3})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255,
                  .outputs = 1}};
       }},
  };
}

}  // namespace gossamer::ops
