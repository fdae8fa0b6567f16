// Attention and rotary embedding as ONNX Runtime's domain has them, composed of the standard ones.
#include "ir/print.h"
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

// The mask of padded keys (input `i`): lengths [batch], or 1 for what counts as [batch, total],
// [batch, sequence, total]; as numbers to add to the scores, with the bias that is added anyway.
Result<Tensor> added_to_scores(Builder& b, int i, const Tensor& bias, const Shape& scores) {
  const Tensor& mask = b.input(i);
  if (bias) {
    std::vector<Tensor> both = {bias};
    for (int axis = 0; axis < 4 && bias.rank() == 4; ++axis) {
      const Expr& extent = bias.dim(axis);
      if (axis < 2 && ir::is_const(extent, 1)) continue;
      GS_TRY(b.require(extent == scores[static_cast<size_t>(axis)],
                       cat("attention_bias has extent ", ir::print(extent), " along axis ", axis,
                           ", not ", ir::print(scores[static_cast<size_t>(axis)]))));
    }
    if (bias.rank() != 4) return b.error(cat("attention_bias has rank ", bias.rank(), ", not 4"));
  }
  // Attention's [batch, 1] and [1, 1] are placeholders for no mask, of models with a past.
  const bool placeholder = mask && mask.rank() == 2 && ir::is_const(mask.dim(1), 1) &&
                           b.def().inputs[static_cast<size_t>(i)].name == "mask_index";
  if (!mask || placeholder) return bias;
  const Expr &batch = scores[0], &sequence = scores[2], &total = scores[3];
  if (mask.rank() < 1 || mask.rank() > 3)
    return b.error(cat("a mask of rank ", mask.rank(), " is not supported"));
  Shape wanted = {batch, sequence, total};
  if (mask.rank() < 3) wanted.erase(wanted.begin() + 1);
  if (mask.rank() < 2) wanted.pop_back();
  // One row of ends, or one of ends and one of starts, or one of ends and two of batch + 1 places
  // of a packed form, which say the same.
  const bool list = mask.rank() == 1;
  const bool starts = list && b.same(mask.dim(0), b.simplify(batch * 2.0));
  const bool places = list && b.same(mask.dim(0), b.simplify(batch * 3.0 + 2.0));
  if (starts || places) wanted[0] = mask.dim(0);
  GS_TRY(has_shape(b, i, wanted));
  double never = b.has_attribute("mask_filter_value") ? b.number("mask_filter_value") : -10000;
  DType dtype = b.input(0).dtype();
  Shape shape = {batch, ir::index(1), mask.rank() == 3 ? sequence : ir::index(1), total};
  if (bias) {
    GS_ASSIGN(shape, b.broadcast(shape, bias.shape()));
  }
  return b.compute("attention.mask", dtype, shape, [&](Point p) {
    Expr counts =
        starts ? p[3] < as_index(mask({p[0]})) && p[3] >= as_index(mask({b.simplify(p[0] + batch)}))
        : mask.rank() == 1 ? p[3] < as_index(mask({p[0]}))
        : mask.rank() == 2 ? mask({p[0], p[3]}) > 0
                           : mask({p[0], p[2], p[3]}) > 0;
    Expr value = ir::select(counts, ir::zero(dtype), ir::constant(dtype, never));
    return bias ? value + b.at_broadcast(bias, p) : value;
  });
}

// Self-attention with its projection: input, weights [in, q + k + v], bias, mask, past [2, batch,
// heads, before, width].
Result<> attention(Builder& b) {
  const Tensor &x = b.input(0), &w = b.input(1), &bias = b.input(2), &past = b.input(4);
  GS_TRY(one_type(b, {0, 1, 2, 4, 5}));
  int64_t heads = b.integer("num_heads");
  if (x.rank() != 3 || w.rank() != 2 || heads < 1)
    return b.error("input has rank 3, weights rank 2, `num_heads` is positive");
  if (b.integer("do_rotary") != 0 || b.integer("past_present_share_buffer") != 0)
    return b.error("do_rotary and past_present_share_buffer are not supported");
  if (int64_t rotary = b.integer("rotary_embedding_dim");
      rotary != 0 && rotary != 32 && rotary != 64 && rotary != 128)
    return b.error(cat("`rotary_embedding_dim` is ", rotary), "it must be 32, 64 or 128");
  GS_TRY(
      b.require(w.dim(0) == x.dim(2), cat("weights have ", ir::print(w.dim(0)), " rows, input has ",
                                          ir::print(x.dim(2)), " columns")));
  Expr third = b.simplify(ir::floordiv(w.dim(1), 3));
  Shape columns = {third, third, third};  // of queries, keys, values
  if (Numbers given = b.integers("qkv_hidden_sizes"); !given.empty()) {
    if (given.size() != 3 || given[0] != given[1])
      return b.error("`qkv_hidden_sizes` are three, the first two equal");
    for (size_t i = 0; i < 3; ++i) columns[i] = ir::index(given[i]);
  }
  Expr all_columns = b.simplify(columns[0] + columns[1] + columns[2]);
  for (const Expr& part : columns) {
    GS_TRY(b.require(ir::floormod(part, heads) == 0 && w.dim(1) == all_columns,
                     cat("weights have ", ir::print(w.dim(1)), " columns, not those of ", heads,
                         " heads for queries, keys and values")));
  }
  GS_TRY(has_shape(b, 2, {w.dim(1)}));
  Tensor all = b.reduce(
      "attention.projection", Builder::Join::sum, x.dtype(), {x.dim(0), x.dim(1), w.dim(1)},
      {x.dim(2)}, [&](Point p, Point r) { return x({p[0], p[1], r[0]}) * w({r[0], p[2]}); },
      [&](Point p, Expr sum) { return bias ? sum + bias({p[2]}) : sum; });
  Expr begin = ir::index(0);
  std::vector<Tensor> inputs;
  for (const Expr& part : columns) {
    inputs.push_back(
        b.compute("attention.part", x.dtype(), {x.dim(0), x.dim(1), part},
                  [&](Point p) { return all({p[0], p[1], b.simplify(p[2] + begin)}); }));
    begin = b.simplify(begin + part);
  }
  Tensor before[2];
  Expr total = x.dim(1), width = b.simplify(ir::floordiv(columns[0], heads));
  if (past || b.wants(1)) {
    GS_TRY(b.require(columns[0] == columns[2], "keys and values of a past have one width"));
  }
  if (past) {
    if (past.rank() != 5) return b.error(cat("past has rank ", past.rank(), ", not 5"));
    GS_TRY(has_shape(b, 4, {ir::index(2), x.dim(0), ir::index(heads), past.dim(3), width}));
    total = b.simplify(total + past.dim(3));
    for (int i : {0, 1}) {
      before[i] = b.compute("attention.past", past.dtype(),
                            {past.dim(1), past.dim(2), past.dim(3), past.dim(4)},
                            [&](Point p) { return past({ir::index(i), p[0], p[1], p[2], p[3]}); });
    }
  }
  GS_ASSIGN(Tensor added,
            added_to_scores(b, 3, b.input(5), {x.dim(0), ir::index(heads), x.dim(1), total}));
  inputs.insert(inputs.end(), {added, before[0], before[1]});
  Attributes attributes = {
      {"q_num_heads", heads}, {"kv_num_heads", heads}, {"is_causal", b.integer("unidirectional")}};
  if (b.has_attribute("scale") && b.number("scale") != 0) attributes["scale"] = b.number("scale");
  GS_ASSIGN(std::vector<Tensor> made,
            b.call("Attention", std::move(inputs), attributes, b.wants(1) ? 3 : 1));
  b.output(0, made[0]);
  if (b.wants(1)) {
    b.output(1, b.compute("attention.present", x.dtype(),
                          {ir::index(2), x.dim(0), ir::index(heads), total, width}, [&](Point p) {
                            Point rest = p.subspan(1);
                            return ir::select(p[0] == 0, made[1].at(rest), made[2].at(rest));
                          }));
  }
  return {};
}

// Part `which` of [batch, sequence, heads, parts, width] as [batch, sequence, heads * width].
Tensor part_of(Builder& b, const Tensor& packed, int which) {
  const Expr& width = packed.dim(4);
  Shape shape = {packed.dim(0), packed.dim(1), b.simplify(packed.dim(2) * width)};
  return b.compute("attention.part", packed.dtype(), shape, [&](Point p) {
    Expr head = b.simplify(ir::floordiv(p[2], width)), at = b.simplify(ir::floormod(p[2], width));
    return packed({p[0], p[1], head, ir::index(which), at});
  });
}

// Inputs query, key, value (apart, keys with values, or all packed), bias, mask, attention bias,
// past key and value.
Result<> multi_head_attention(Builder& b) {
  Tensor parts[] = {b.input(0), b.input(1), b.input(2)};
  const Tensor &bias = b.input(3), &past_key = b.input(6), &past_value = b.input(7);
  GS_TRY(one_type(b, {0, 1, 2, 3, 5, 6, 7}));
  if (b.has(8) || b.has(9)) {
    return b.error("past and present in one buffer are not supported",
                   "leave out past_sequence_length and cache_indirection");
  }
  int64_t heads = b.integer("num_heads");
  if (heads < 1) return b.error("`num_heads` is not positive");
  int packed = !parts[1] && !parts[2] ? 0 : parts[1] && !parts[2] ? 1 : -1;
  if (packed >= 0) {
    Tensor all = parts[packed];
    int64_t count = 3 - packed;
    if (all.rank() != 5 || !b.same(all.dim(2), ir::index(heads)) ||
        !b.same(all.dim(3), ir::index(count))) {
      return b.error(cat("packed inputs are [batch, sequence, ", heads, ", ", count, ", width]"));
    }
    for (int i = packed; i < 3; ++i) parts[i] = part_of(b, all, i - packed);
  }
  if (!parts[1] || parts[0].rank() != 3 || parts[1].rank() != parts[2].rank())
    return b.error("query has rank 3, key and value rank 3 or 4",
                   "or query is packed with both, or key with value");
  if (bias) {
    // Keys and values in heads are finished ones.
    bool finished = parts[1].rank() == 4;
    Expr begin = ir::index(0);
    for (Tensor& part : parts) {
      Expr columns = part.rank() == 4 ? b.simplify(part.dim(1) * part.dim(3)) : part.dim(2);
      Expr from = begin;
      begin = b.simplify(begin + columns);
      if (finished && from.get() != nullptr && !ir::is_const(from, 0)) continue;
      Tensor bare = part;
      part = b.compute("attention.biased", bare.dtype(), bare.shape(),
                       [&](Point p) { return bare.at(p) + bias({b.simplify(from + p[2])}); });
    }
    GS_TRY(has_shape(b, 3, {begin}));
  }
  const Tensor &query = parts[0], &key = parts[1];
  Expr total = key.dim(-2);
  if (past_key) {
    if (past_key.rank() != 4) return b.error("past_key is [batch, heads, past, width]");
    total = b.simplify(total + past_key.dim(2));
  }
  GS_ASSIGN(Tensor added, added_to_scores(b, 4, b.input(5),
                                          {query.dim(0), ir::index(heads), query.dim(1), total}));
  Attributes attributes = {
      {"q_num_heads", heads}, {"kv_num_heads", heads}, {"is_causal", b.integer("unidirectional")}};
  if (b.has_attribute("scale") && b.number("scale") != 0) attributes["scale"] = b.number("scale");
  int count = b.wants(1) || b.wants(2) ? 3 : 1;
  GS_ASSIGN(std::vector<Tensor> made,
            b.call("Attention", {parts[0], parts[1], parts[2], added, past_key, past_value},
                   attributes, count));
  for (int i = 0; i < count; ++i) b.output(i, made[static_cast<size_t>(i)]);
  return {};
}

// Positions are given for each element, or for the first of each sample.
Result<> rotary_embedding(Builder& b) {
  const Tensor &x = b.input(0), &given = b.input(1), &cosines = b.input(2);
  GS_TRY(one_type(b, {0, 2, 3}));
  if (x.rank() != 3 && x.rank() != 4)
    return b.error(cat("input has rank ", x.rank()), "it is 3 or 4");
  if (cosines.rank() != 2) return b.error("caches are [positions, rotated / 2]");
  if (b.number("scale") != 1) return b.error("a `scale` beside 1 is not supported");
  Expr sequence = x.dim(-2);
  if (given.rank() > 2) return b.error("position_ids have rank 0, 1 or 2");
  if (given.rank() == 2) GS_TRY(has_shape(b, 1, {x.dim(0), sequence}));
  if (given.rank() == 1) GS_TRY(has_shape(b, 1, {ir::index(1)}));
  Tensor positions = given;
  if (given.rank() < 2) {
    positions =
        b.compute("rotary_embedding.positions", DType::i64, {x.dim(0), sequence}, [&](Point p) {
          Expr first = given.rank() == 0 ? given({}) : given({ir::index(0)});
          return first + ir::cast(DType::i64, p[1]);
        });
  }
  const int64_t rotated = b.integer("rotary_embedding_dim");
  if (x.rank() == 3 && b.integer("num_heads") == 0 && rotated != 0)
    return b.error("`rotary_embedding_dim` needs `num_heads`");
  GS_ASSIGN(const int64_t heads, rotated_heads(b, x, cosines));
  GS_ASSIGN(Tensor y, b.call1("RotaryEmbedding", {x, cosines, b.input(3), positions},
                              {{"interleaved", b.integer("interleaved")},
                               {"num_heads", heads},
                               {"rotary_embedding_dim", rotated}}));
  b.output(0, y);
  return {};
}

}  // namespace

Result<int64_t> rotated_heads(Builder& b, const Tensor& x, const Tensor& cosines) {
  const int64_t heads = b.integer("num_heads");
  if (x.rank() != 3 || heads != 0) return heads;
  const auto count = ir::as_int(b.simplify(ir::floordiv(x.dim(2), cosines.dim(1) * 2.0)));
  if (!count) return b.error("the number of heads must be known when compiling");
  return *count;
}

std::vector<OpDef> microsoft_attention_family() {
  std::vector<int64_t> none = {-1};
  std::string ms(microsoft);
  TypeSet ids = only(DType::i32);
  auto optional = InputDef::optional;
  auto with_heads = [](int64_t count) { return Attributes{{"num_heads", count}}; };
  return {
      {.name = "Attention",
       .doc = "Self-attention with its projection.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input", any_float},
                  {"weights", any_float},
                  {"bias", any_float, optional},
                  {"mask_index", ids, optional},
                  {"past", any_float, optional},
                  {"attention_bias", any_float, optional}},
       .outputs = {"output", "present"},
       .attributes = {{"do_rotary", 0},
                      {"mask_filter_value", {}},
                      {"num_heads", {}, true},
                      {"past_present_share_buffer", 0},
                      {"qkv_hidden_sizes", Numbers{}},
                      {"rotary_embedding_dim", 0},
                      {"scale", {}},
                      {"unidirectional", 0}},
       .define = attention,
       .cases = [=] -> Cases {
         return {{.name = "past",
                  .shapes = {{1, 3, 4}, {4, 24}, {24}, none, {2, 1, 2, 2, 4}},
                  .attributes = {{"num_heads", 2}, {"unidirectional", 1}}},
                 {.name = "mask",
                  .shapes = {{2, 3, 4}, {4, 12}, {12}},
                  .attributes = {{"num_heads", 2}},
                  .inputs = {{}, {}, {}, int32s({2}, {2, 3})},
                  .outputs = 1},
                 {.name = "placeholder of a mask",
                  .shapes = {{2, 3, 4}, {4, 12}, {12}},
                  .attributes = {{"num_heads", 2}},
                  .inputs = {{}, {}, {}, int32s({2, 1}, {0, 1})},
                  .outputs = 1},
                 {.name = "wider values, mask of elements",
                  .shapes = {{2, 3, 4}, {4, 14}, {14}},
                  .attributes = {{"num_heads", 2}, {"qkv_hidden_sizes", Numbers{4, 4, 6}}},
                  .inputs = {{}, {}, {}, int32s({2, 3}, {1, 1, 0, 1, 1, 1})},
                  .outputs = 1}};
       }},
      {.name = "MultiHeadAttention",
       .doc = "Attention after the projections, with bias, masks and past keys and values.",
       .domain = ms,
       .since = 1,
       .inputs = {{"query", any_float},
                  {"key", any_float, optional},
                  {"value", any_float, optional},
                  {"bias", any_float, optional},
                  {"key_padding_mask", ids, optional},
                  {"attention_bias", any_float, optional},
                  {"past_key", any_float, optional},
                  {"past_value", any_float, optional},
                  {"past_sequence_length", ids, optional},
                  {"cache_indirection", ids, optional}},
       .outputs = {"output", "present_key", "present_value"},
       .attributes = {{"mask_filter_value", {}},
                      {"num_heads", {}, true},
                      {"scale", {}},
                      {"unidirectional", 0}},
       .define = multi_head_attention,
       .cases = [=] -> Cases {
         return {{.name = "bias, wider values",
                  .shapes = {{2, 3, 4}, {2, 5, 4}, {2, 5, 6}, {14}},
                  .attributes = with_heads(2),
                  .outputs = 1},
                 {.name = "packed", .shapes = {{2, 3, 2, 3, 4}}, .attributes = with_heads(2)},
                 {.name = "packed keys, lengths",
                  .shapes = {{2, 3, 8}, {2, 5, 2, 2, 4}},
                  .attributes = with_heads(2),
                  .inputs = {{},
                             {},
                             {DType::f32, {-1}, {}, {}},
                             {DType::f32, {-1}, {}, {}},
                             int32s({2}, {4, 5})},
                  .outputs = 1},
                 {.name = "lengths and places",
                  .shapes = {{2, 3, 8}, {2, 5, 8}, {2, 5, 8}, none},
                  .attributes = with_heads(2),
                  .inputs = {{}, {}, {}, {}, int32s({8}, {5, 2, 0, 3, 6, 0, 5, 7})},
                  .outputs = 1},
                 {.name = "past, attention bias",
                  .shapes = {{1, 2, 8},
                             {1, 2, 8},
                             {1, 2, 8},
                             none,
                             none,
                             {1, 1, 2, 5},
                             {1, 2, 3, 4},
                             {1, 2, 3, 4}},
                  .attributes = {{"num_heads", 2}, {"unidirectional", 1}}},
                 {.name = "keys in heads",
                  .shapes = {{1, 2, 8}, {1, 2, 5, 4}, {1, 2, 5, 4}},
                  .attributes = {{"num_heads", 2}, {"scale", 0.25}},
                  .outputs = 1}};
       }},
      {.name = "RotaryEmbedding",
       .doc = "Turns pairs of elements by angles of their position.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input", any_float},
                  {"position_ids", only(DType::i64)},
                  {"cos_cache", any_float},
                  {"sin_cache", any_float}},
       .outputs = {"output"},
       .attributes = {{"interleaved", 0},
                      {"is_packed_batching", 0},
                      {"num_heads", 0},
                      {"rotary_embedding_dim", 0},
                      {"scale", 1.0}},
       .define = rotary_embedding,
       .cases = [] -> Cases {
         return {{.name = "first position",
                  .shapes = {{2, 3, 8}, {}, {6, 2}, {6, 2}},
                  .inputs = {{}, int64s({1}, {2})}},
                 {.name = "interleaved heads",
                  .shapes = {{2, 2, 3, 4}, {}, {6, 2}, {6, 2}},
                  .attributes = {{"interleaved", 1}},
                  .inputs = {{}, int64s({2, 3}, {0, 1, 5, 3, 2, 4})}},
                 {.name = "part",
                  .shapes = {{1, 2, 12}, {}, {6, 2}, {6, 2}},
                  .attributes = {{"num_heads", 2}, {"rotary_embedding_dim", 4}},
                  .inputs = {{}, int64s({1, 2}, {3, 1})}}};
       }},
  };
}

}  // namespace gossamer::ops
