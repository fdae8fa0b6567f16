// Attention in decoders of ONNX Runtime's domain, and the biases of positions.
#include <cmath>

#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/functions.h"
#include "ops/microsoft/fused.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

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
      [&](Point p, Expr sum) { return sigmoid(sum + offsets({p[3]})); });
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

}  // namespace

std::vector<OpDef> microsoft_decoder_family() {
  const std::string ms(microsoft);
  const auto optional = InputDef::optional;
  const std::vector<int64_t> none = {-1};
  const TypeSet ids = only(DType::i32),
                real = only(DType::f32) | only(DType::f16) | only(DType::bf16);
  return {
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
       .cases = [] -> Cases {
         return {{.name = "both ways",
                  .shapes = {{8, 3}},
                  .attributes = {{"is_bidirectional", 1}, {"max_distance", 9}},
                  .inputs = {{}, int64s({1}, {7}), int64s({1}, {7})}},
                 {.name = "back only",
                  .shapes = {{8, 2}, {1}, {1}},
                  .attributes = {{"max_distance", 11}},
                  .low = 5,
                  .high = 5}};
       }},
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
       .cases = [] -> Cases {
         return {{.name = "two heads",
                  .shapes = {{2, 3, 8}, {8}, {1, 2, 3, 3}, {4, 6}, {6}, {1, 2, 1, 1}},
                  .attributes = {{"num_heads", 2}}}};
       }},
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
       .cases = [=] -> Cases {
         return {
             {.name = "past",
              .shapes = {{2, 1, 8}, {2, 1, 8}, {2, 1, 8}, none, none, {2, 2, 3, 4}, {2, 2, 3, 4}},
              .attributes = {{"num_heads", 2}}},
             {.name = "packed",
              .shapes = {{2, 1, 24}},
              .attributes = {{"num_heads", 2}},
              .outputs = 1},
             {.name = "crossed",
              .shapes = {{2, 1, 8}, {2, 2, 5, 4}, {2, 2, 5, 4}},
              .attributes = {{"num_heads", 2}},
              .outputs = 1}};
       }},
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
       .cases = [=] -> Cases {
         return {{.name = "past",
                  .shapes = {{2, 1, 6}, {6, 12}, {12}, none, {2, 2, 2, 3, 2}},
                  .attributes = {{"num_heads", 2}}}};
       }},
  };
}

}  // namespace gossamer::ops
