// Layers of ONNX Runtime's domain that stand for others: of channels last, of quantised weights, of
// fused parts.
#include <cmath>
#include <limits>

#include "ir/print.h"
#include "ops/contrib.h"
#include "ops/families.h"
#include "ops/linearize.h"
#include "ops/recurrent.h"
#include "ops/window.h"

namespace gossamer::ops {
namespace {

Attributes convolution_attributes(const Builder& b) {
  return passed_on(b, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

// X and Y have channels last, the weights do not.
Result<> nhwc_conv(Builder& b) {
  GS_TRY(same_types(b));
  GS_ASSIGN(Tensor x, with_channels(b, b.input(0), false));
  GS_ASSIGN(Tensor y, b.call1("Conv", {x, b.input(1), b.input(2)}, convolution_attributes(b)));
  GS_ASSIGN(y, with_channels(b, y, true));
  if (b.has(3)) {
    GS_TRY(has_shape(b, 3, y.shape()));
    GS_ASSIGN(y, b.call1("Add", {y, b.input(3)}));
  }
  if (b.def().name == "NhwcFusedConv") {
    GS_ASSIGN(y, activated(b, y));
  }
  b.output(0, y);
  return {};
}

Result<> quantized_conv(Builder& b) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < b.input_count(); ++i) inputs.push_back(b.input(i));
  const bool last = b.integer("channels_last") != 0;
  if (last) {
    GS_ASSIGN(inputs[0], with_channels(b, inputs[0], false));
  }
  GS_ASSIGN(Tensor y, b.call1("QLinearConv", std::move(inputs), convolution_attributes(b)));
  if (last) {
    GS_ASSIGN(y, with_channels(b, y, true));
  }
  b.output(0, y);
  return {};
}

// The pads of a transposed convolution are an input.
Result<> conv_with_pads(Builder& b) {
  Attributes attributes =
      passed_on(b, {"auto_pad", "dilations", "group", "kernel_shape", "output_padding", "strides"});
  if (b.has(2)) {
    GS_ASSIGN(Numbers pads, b.host_ints(2));
    attributes["pads"] = std::move(pads);
  }
  GS_ASSIGN(Tensor y,
            b.call1("ConvTranspose", {b.input(0), b.input(1), b.input(3)}, std::move(attributes)));
  b.output(0, y);
  return {};
}

Result<> gemm_fast_gelu(Builder& b) {
  GS_TRY(same_types(b));
  GS_ASSIGN(Tensor y, b.call1("MatMul", {b.input(0), b.input(1)}));
  if (b.has(2)) {
    GS_ASSIGN(y, b.call1("Add", {y, b.input(2)}));
  }
  GS_ASSIGN(y, b.call1("Gelu", {y}, {{"approximate", "tanh"}}));
  b.output(0, y);
  return {};
}

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

Result<> no_shared_buffer(const Builder& b, std::initializer_list<int> inputs) {
  for (int i : inputs) {
    if (b.has(i))
      return b.error("beams are not supported", "leave out beam_width and cache_indirection");
  }
  if (b.integer("past_present_share_buffer") == 0) return {};
  return b.error("past and present in one buffer are not supported",
                 "leave out past_present_share_buffer");
}

Result<> decoder_attention(Builder& b) {
  GS_TRY(no_shared_buffer(b, {8, 9}));
  Tensor parts[] = {b.input(0), b.input(1), b.input(2)};
  if (!parts[1]) {
    const Tensor all = parts[0];
    if (all.rank() != 3) return b.error(cat("query has rank ", all.rank(), ", not 3"));
    const Expr third = b.simplify(ir::floordiv(all.dim(2), 3));
    for (int i = 0; i < 3; ++i) {
      parts[i] =
          b.compute("attention.part", all.dtype(), {all.dim(0), all.dim(1), third},
                    [&](Point p) { return all({p[0], p[1], b.simplify(p[2] + third * i)}); });
    }
  }
  // Keys in heads are those of another sequence: there is no past.
  const bool crossed = parts[1].rank() == 4;
  const Tensor none;
  const int count = crossed ? 1 : std::min(b.output_count(), 3);
  GS_ASSIGN(std::vector<Tensor> made,
            b.call("com.microsoft::MultiHeadAttention",
                   {parts[0], parts[1], parts[2], b.input(10), b.input(3), b.input(4),
                    crossed ? none : b.input(5), crossed ? none : b.input(6)},
                   passed_on(b, {"mask_filter_value", "num_heads", "scale"}), count));
  for (int i = 0; i < count; ++i) b.output(i, made[static_cast<size_t>(i)]);
  return {};
}

Result<> decoder_self_attention(Builder& b) {
  GS_TRY(no_shared_buffer(b, {7, 8}));
  GS_ASSIGN(std::vector<Tensor> made,
            b.call("com.microsoft::Attention",
                   {b.input(0), b.input(1), b.input(2), b.input(3), b.input(4), b.input(5)},
                   passed_on(b, {"do_rotary", "mask_filter_value", "num_heads", "scale"}), 2));
  b.output(0, made[0]);
  b.output(1, made[1]);
  return {};
}

// The elements of a window up to the first that the mask leaves out, along each row of it; an
// image's first element always counts.
Result<> masked_pool(Builder& b) {
  const Tensor &x = b.input(0), &mask = b.input(1);
  if (x.rank() < 3) return b.error("X has no spatial axis");
  if (b.integer("storage_order") != 0) return b.error("`storage_order` is not supported");
  const Numbers sizes = b.integers("kernel_shape");
  Shape kernel;
  for (int64_t size : sizes) kernel.push_back(ir::index(size));
  if (kernel.size() + 2 != x.shape().size() || mask.rank() != x.rank())
    return b.error("`kernel_shape` and M have X's spatial axes");
  for (int axis = 2; axis < x.rank(); ++axis) {
    GS_TRY(b.require(mask.dim(axis) == x.dim(axis), "M has X's spatial extents"));
  }
  GS_ASSIGN(Window window, make_window(b, spatial_of(x), kernel));
  // ONNX Runtime reads the mask of each plane at an offset of less than the mask's planes.
  const Expr size = b.simplify(product(spatial_of(x)));
  const Tensor flat = b.reshape("masked_pool.mask", mask, {product(mask.shape())});
  const Expr planes = b.simplify(mask.dim(0) * mask.dim(1));
  const auto masked = [&](Point p) {
    Expr place = ir::index(0);
    for (size_t i = 2; i < p.size(); ++i) place = place * x.shape()[i] + p[i];
    const Expr plane = p[0] * x.dim(1) + p[1];
    const Expr out = flat({b.simplify(ir::floormod(plane * size, planes) + place)}) == 0.0;
    return x.rank() == 4 ? Expr(place > 0.0 && ir::Condition(out)) : out;
  };
  Shape shape = {x.dim(0), x.dim(1)};
  shape.insert(shape.end(), window.out.begin(), window.out.end());
  const size_t last = window.rank() - 1;
  b.output(
      0,
      b.reduce(
          "masked_pool", Builder::Join::max, x.dtype(), shape, kernel,
          [&](Point p, Point over) {
            const auto place = [&](size_t axis, const Expr& tap) {
              return b.simplify(tap_at(window, axis, p[axis + 2], tap) - window.pad_begin[axis]);
            };
            std::vector<Expr> at = {p[0], p[1]};
            Expr inside = ir::boolean(true);
            for (size_t i = 0; i <= last; ++i) {
              at.push_back(place(i, over[i]));
              inside = inside && at.back() >= 0.0 && at.back() < x.shape()[i + 2];
            }
            Expr counts = inside;
            for (int64_t tap = 0; tap < sizes[last]; ++tap) {
              std::vector<Expr> before = at;
              before.back() = place(last, ir::index(tap));
              const Expr there =
                  before.back() >= 0.0 && over[last] >= ir::index(tap) && ir::Condition(inside);
              counts =
                  counts && !ir::Condition(ir::select(there, masked(before), ir::boolean(false)));
            }
            return ir::select(counts, x.at(at), ir::lowest(x.dtype()));
          },
          [&](Point, Expr most) { return ir::max(most, std::numeric_limits<float>::lowest()); }));
  return {};
}

// T5's buckets: distances up to half of them one by one, then in powers up to the greatest.
Result<> relative_bias(Builder& b) {
  const Tensor& table = b.input(0);
  if (table.rank() != 2) return b.error("bias_table is [buckets, heads]");
  GS_ASSIGN(const std::vector<Expr> rows, b.elements(1));
  GS_ASSIGN(const std::vector<Expr> columns, b.elements(2));
  if (rows.size() != 1 || columns.size() != 1) return b.error("lengths are single numbers");
  const auto known = ir::as_int(b.simplify(table.dim(0)));
  if (!known) return b.error("the number of buckets must be known when compiling");
  const bool both = b.integer("is_bidirectional") != 0;
  const int64_t buckets = both ? *known / 2 : *known, exact = buckets / 2;
  const auto most = static_cast<double>(b.integer("max_distance"));
  if (exact < 1 || most <= static_cast<double>(exact))
    return b.error("`max_distance` is not beyond the buckets of one distance");
  const auto word = [](int64_t value) { return ir::constant_int(DType::i32, value); };
  const double scale =
      static_cast<double>(buckets - exact) / std::log(most / static_cast<double>(exact));
  b.output(0, b.compute("relative_bias", table.dtype(),
                        {ir::index(1), table.dim(1), rows[0], columns[0]}, [&](Point p) {
                          const Expr distance = ir::cast(DType::i32, p[2] - p[3]);
                          const Expr size = both ? ir::abs(distance) : ir::max(distance, word(0));
                          const Expr ratio = ir::cast(DType::f32, ir::max(size, word(exact))) *
                                             (1.0 / static_cast<double>(exact));
                          const Expr far =
                              word(exact) + ir::cast(DType::i32, ir::log(ratio) * scale);
                          Expr bucket =
                              ir::select(size < word(exact), size, ir::min(far, word(buckets - 1)));
                          if (both)
                            bucket = bucket + ir::select(distance < 0.0, word(buckets), word(0));
                          return table({as_index(bucket), p[1]});
                        }));
  return {};
}

// Queries turn into two gates, which scale the bias of positions.
Result<> gated_bias(Builder& b) {
  const Tensor &query = b.input(0), &bias = b.input(1), &positions = b.input(2), &w = b.input(3),
               &offset = b.input(4), &a = b.input(5);
  GS_TRY(one_type(b, {0, 1, 2, 3, 4, 5}));
  if (b.has(6)) return b.error("packed queries are not supported", "leave out token_offset");
  const int64_t heads = b.integer("num_heads");
  if (query.rank() != 3 || w.rank() != 2 || heads < 1)
    return b.error("query_layer has rank 3, weight rank 2, `num_heads` is positive");
  const Expr width = w.dim(0), half = b.simplify(ir::floordiv(w.dim(1), 2));
  GS_TRY(b.require(query.dim(2) == width * static_cast<double>(heads),
                   "query_layer is as wide as all heads"));
  GS_TRY(has_shape(b, 1, {query.dim(2)}));
  GS_TRY(has_shape(b, 2, {ir::index(1), ir::index(heads), query.dim(1), query.dim(1)}));
  GS_TRY(has_shape(b, 4, {w.dim(1)}));
  GS_TRY(has_shape(b, 5, {ir::index(1), ir::index(heads), ir::index(1), ir::index(1)}));
  const DType dtype = query.dtype(), wide = accumulator(dtype);
  const auto sum_of = [&](const char* name, const Shape& shape,
                          const std::function<Expr(Point, const Expr&)>& at) {
    return b.reduce(name, Builder::Join::sum, wide, shape, {half}, [&](Point p, Point r) {
      return ir::cast(wide, at(p, b.simplify(p.back() * half + r[0])));
    });
  };
  const Expr two = ir::index(2);
  const Tensor weights =
      sum_of("gates.weights", {width, two}, [&](Point p, const Expr& at) { return w({p[0], at}); });
  const Tensor offsets =
      sum_of("gates.offsets", {two}, [&](Point, const Expr& at) { return offset({at}); });
  const Tensor gates = b.reduce(
      "gates", Builder::Join::sum, wide, {query.dim(0), ir::index(heads), query.dim(1), two},
      {width},
      [&](Point p, Point r) {
        const Expr column = b.simplify(p[1] * width + r[0]);
        const Expr value =
            ir::cast(wide, query({p[0], p[2], column})) + ir::cast(wide, bias({column}));
        return value * weights({r[0], p[3]});
      },
      [&](Point p, Expr sum) { return 1.0 / (ir::exp(-(sum + offsets({p[3]}))) + 1.0); });
  b.output(0, b.compute("gated_bias", dtype,
                        {query.dim(0), ir::index(heads), query.dim(1), query.dim(1)}, [&](Point p) {
                          const Expr zero = ir::index(0);
                          const Expr u = gates({p[0], p[1], p[2], zero}),
                                     r = gates({p[0], p[1], p[2], ir::index(1)});
                          const Expr turn = r * ir::cast(wide, a({zero, p[1], zero, zero})) - 1.0;
                          const Expr gate = u * turn + 2.0;
                          return ir::cast(
                              dtype, gate * ir::cast(wide, positions({zero, p[1], p[2], p[3]})));
                        }));
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

using A = AttributeDef;
std::vector<A> convolution(std::vector<A> more) {
  std::vector<A> all = {{"auto_pad", "NOTSET"}, {"dilations", Numbers{}},
                        {"group", 1},           {"kernel_shape", Numbers{}},
                        {"pads", Numbers{}},    {"strides", Numbers{}}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

std::vector<OpDef> contrib_layer_family() {
  const std::string ms(microsoft);
  const auto optional = InputDef::optional;
  const std::vector<int64_t> none = {-1};
  const TypeSet bytes = only(DType::u8) | only(DType::i8), f32 = only(DType::f32),
                ids = only(DType::i32), small = bytes | only(DType::i16) | only(DType::u16),
                real = only(DType::f32) | only(DType::f16) | only(DType::bf16);
  const TypeSet nibbles = only(DType::i4) | only(DType::u4);
  return {
      {.name = "NhwcConv",
       .doc = "Conv of images with channels last.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"W", any_float}, {"B", any_float, optional}},
       .attributes = convolution({}),
       .define = nhwc_conv,
       .cases = {{.name = "pads",
                  .shapes = {{1, 5, 4, 3}, {2, 3, 3, 3}, {2}},
                  .attributes = {{"pads", Numbers{1, 1, 1, 1}}}}}},
      {.name = "NhwcFusedConv",
       .doc = "Conv of images with channels last, a sum and an activation.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float},
                  {"W", any_float},
                  {"B", any_float, optional},
                  {"Z", any_float, optional}},
       .attributes =
           convolution({{"activation", ""}, {"activation_params", std::vector<double>{}}}),
       .define = nhwc_conv,
       .cases = {{.name = "sum",
                  .shapes = {{1, 5, 4, 3}, {2, 3, 3, 3}, {2}, {1, 3, 2, 2}},
                  .attributes = {{"activation", "Relu"}}}}},
      {.name = "QLinearConv",
       .doc = "QLinearConv, with channels last if asked.",
       .domain = ms,
       .since = 1,
       .inputs = {{"x", bytes},
                  {"x_scale", f32},
                  {"x_zero_point", bytes},
                  {"w", bytes},
                  {"w_scale", f32},
                  {"w_zero_point", bytes},
                  {"y_scale", f32},
                  {"y_zero_point", bytes},
                  {"B", ids, optional}},
       .outputs = {"y"},
       .attributes = convolution({{"channels_last", 0}}),
       .define = quantized_conv,
       .cases = {{.name = "channels last",
                  .shapes = {{1, 4, 5, 2}, {}, {}, {3, 2, 3, 3}},
                  .attributes = {{"channels_last", 1}},
                  .inputs = {{},
                             floats({}, {0.05f}),
                             uint8s({}, {100}),
                             {},
                             floats({}, {0.02f}),
                             uint8s({}, {90}),
                             floats({}, {0.1f}),
                             uint8s({}, {120})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255}}},
      {.name = "ConvTransposeWithDynamicPads",
       .doc = "ConvTranspose whose pads are an input.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float},
                  {"W", any_float},
                  {"Pads", only(DType::i64), optional},
                  {"B", any_float, optional}},
       .attributes = {{"auto_pad", "NOTSET"},
                      {"dilations", Numbers{}},
                      {"group", 1},
                      {"kernel_shape", Numbers{}},
                      {"output_padding", Numbers{}},
                      {"strides", Numbers{}}},
       .define = conv_with_pads,
       .cases = {{.name = "pads",
                  .shapes = {{1, 2, 4, 4}, {2, 3, 3, 3}},
                  .attributes = {{"strides", Numbers{2, 2}}},
                  .inputs = {{}, {}, int64s({4}, {1, 0, 1, 1})}}}},
      {.name = "GemmFastGelu",
       .doc = "FastGelu of a product of matrices.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"W", any_float}, {"bias", any_float, optional}},
       .define = gemm_fast_gelu,
       .cases = {{.name = "bias", .shapes = {{2, 3, 4}, {4, 5}, {5}}},
                 {.name = "bare", .shapes = {{3, 4}, {4, 5}}}}},
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
       .cases = {{.name = "16 bits",
                  .shapes = {{2, 5}},
                  .inputs = {{},
                             floats({1}, {0.001f}),
                             {DType::u16, {1}, {std::byte{0}, std::byte{128}}, {}}}},
                 {.name = "axis",
                  .shapes = {{2, 3, 4}},
                  .attributes = {{"axis", 1}},
                  .inputs = {{}, floats({3}, {0.1f, 0.2f, 0.3f}), uint8s({3}, {0, 100, 200})}}}},
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
       .cases = {{.name = "16 bits",
                  .shapes = {{2, 5}},
                  .inputs = {{}, floats({}, {0.001f})},
                  .dtype = DType::i16,
                  .low = -30000,
                  .high = 30000}}},
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
       .cases =
           {{.name = "mask, columns",
             .shapes = {{2, 3, 4}, {4, 12}, {12}, {}, {12}},
             .attributes = {{"num_heads", 2}},
             .inputs =
                 {{}, {}, {}, floats({}, {0.02f}), {}, int32s({2}, {2, 3}), uint8s({1}, {128})},
             .dtype = DType::u8,
             .low = 0,
             .high = 2,
             .outputs = 1}}},
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
       .cases = {{.name = "forward",
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
                  .high = 1}}},
      {.name = "MaxpoolWithMask",
       .doc = "MaxPool of rows of windows up to the first element that a mask leaves out.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", f32}, {"M", ids}},
       .attributes = {{"auto_pad", "NOTSET"},
                      {"dilations", Numbers{}},
                      {"kernel_shape", {}, true},
                      {"pads", Numbers{}},
                      {"storage_order", 0},
                      {"strides", Numbers{}}},
       .define = masked_pool,
       .cases = {{.name = "image",
                  .shapes = {{2, 2, 5, 6}, {2, 2, 5, 6}},
                  .attributes = {{"kernel_shape", Numbers{2, 3}}, {"pads", Numbers{1, 1, 0, 1}}},
                  .low = 0,
                  .high = 2},
                 {.name = "row",
                  .shapes = {{1, 3, 9}, {1, 1, 9}},
                  .attributes = {{"kernel_shape", Numbers{3}}, {"strides", Numbers{2}}},
                  .low = 0,
                  .high = 2}}},
      {.name = "RelativePositionBias",
       .doc = "T5's bias of attention by the distance of positions.",
       .domain = ms,
       .since = 1,
       .inputs = {{"bias_table", any_float},
                  {"query_length", only(DType::i64)},
                  {"key_length", only(DType::i64)}},
       .outputs = {"output"},
       .attributes = {{"is_bidirectional", 0}, {"max_distance", {}, true}},
       .define = relative_bias,
       .cases = {{.name = "both ways",
                  .shapes = {{8, 3}},
                  .attributes = {{"is_bidirectional", 1}, {"max_distance", 9}},
                  .inputs = {{}, int64s({1}, {7}), int64s({1}, {7})}},
                 {.name = "back only",
                  .shapes = {{8, 2}, {1}, {1}},
                  .attributes = {{"max_distance", 11}},
                  .low = 5,
                  .high = 5}}},
      {.name = "GatedRelativePositionBias",
       .doc = "A bias of positions, scaled by gates of the queries.",
       .domain = ms,
       .since = 1,
       .inputs = {{"query_layer", real},
                  {"query_bias", real},
                  {"rel_pos", real},
                  {"weight", real},
                  {"bias", real},
                  {"eco_a", real},
                  {"token_offset", ids, optional}},
       .outputs = {"output"},
       .attributes = {{"num_heads", {}, true}},
       .define = gated_bias,
       .cases = {{.name = "two heads",
                  .shapes = {{2, 3, 8}, {8}, {1, 2, 3, 3}, {4, 6}, {6}, {1, 2, 1, 1}},
                  .attributes = {{"num_heads", 2}}}}},
      {.name = "DecoderMaskedMultiHeadAttention",
       .doc = "Attention of one query after the projections, with past keys and values.",
       .domain = ms,
       .since = 1,
       .inputs = {{"query", any_float},
                  {"key", any_float, optional},
                  {"value", any_float, optional},
                  {"mask_index", ids, optional},
                  {"attention_bias", any_float, optional},
                  {"past_key", any_float, optional},
                  {"past_value", any_float, optional},
                  {"past_sequence_length", ids, optional},
                  {"beam_width", ids, optional},
                  {"cache_indirection", ids, optional},
                  {"bias", any_float, optional}},
       .outputs = {"output", "present_key", "present_value"},
       .attributes = {{"mask_filter_value", {}},
                      {"num_heads", {}, true},
                      {"output_qk", 0},
                      {"past_present_share_buffer", 0},
                      {"scale", {}}},
       .define = decoder_attention,
       .cases =
           {{.name = "past",
             .shapes = {{2, 1, 8}, {2, 1, 8}, {2, 1, 8}, none, none, {2, 2, 3, 4}, {2, 2, 3, 4}},
             .attributes = {{"num_heads", 2}}},
            {.name = "packed",
             .shapes = {{2, 1, 24}},
             .attributes = {{"num_heads", 2}},
             .outputs = 1},
            {.name = "crossed",
             .shapes = {{2, 1, 8}, {2, 2, 5, 4}, {2, 2, 5, 4}},
             .attributes = {{"num_heads", 2}},
             .outputs = 1}}},
      {.name = "DecoderMaskedSelfAttention",
       .doc = "Self-attention of one query with its projection and a past.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input", any_float},
                  {"weights", any_float},
                  {"bias", any_float},
                  {"mask_index", ids, optional},
                  {"past", any_float},
                  {"attention_bias", any_float, optional},
                  {"past_sequence_length", ids, optional},
                  {"beam_width", ids, optional},
                  {"cache_indirection", ids, optional}},
       .outputs = {"output", "present"},
       .attributes = {{"do_rotary", 0},
                      {"mask_filter_value", {}},
                      {"num_heads", {}, true},
                      {"past_present_share_buffer", 0},
                      {"scale", {}}},
       .define = decoder_self_attention,
       .cases = {{.name = "past",
                  .shapes = {{2, 1, 6}, {6, 12}, {12}, none, {2, 2, 2, 3, 2}},
                  .attributes = {{"num_heads", 2}}}}},
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
       .cases = {{.name = "without segments",
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
                  .outputs = 1}}},
  };
}

}  // namespace gossamer::ops
