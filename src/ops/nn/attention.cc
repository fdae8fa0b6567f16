// Attention and rotary position embedding.
#include <cmath>
#include <limits>

#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/nn/attention_scale.h"
#include "ops/reduction/reduce.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

// A tensor of heads: [batch, heads, sequence, width], or [batch, sequence, heads * width].
struct Heads {
  Tensor tensor;
  Expr heads, sequence, width;

  Expr operator()(Expr batch, Expr head, Expr at, Expr within) const {
    if (tensor.rank() == 4) return tensor({batch, head, at, within});
    return tensor({batch, at, head * width + within});
  }
};

Result<Heads> heads_of(Builder& b, const Tensor& x, std::string_view attribute) {
  if (x.rank() == 4) return Heads{x, x.dim(1), x.dim(2), x.dim(3)};
  int64_t heads = b.integer(attribute);
  if (x.rank() != 3 || heads < 1) {
    return b.error(
        cat("an input has rank ", x.rank(), "; `", attribute, "` is ", heads),
        "inputs are [batch, heads, sequence, width], or [batch, sequence, heads * width] with it");
  }
  GS_TRY(b.require(ir::floormod(x.dim(2), heads) == 0,
                   cat(ir::print(x.dim(2)), " columns do not divide into ", heads, " heads")));
  return Heads{x, ir::index(heads), x.dim(1), b.simplify(ir::floordiv(x.dim(2), heads))};
}

// What came before and what is new, as one tensor of heads.
Heads joined(Builder& b, const std::string& name, const Tensor& past, const Heads& fresh) {
  Expr before = past ? past.dim(2) : ir::index(0);
  Expr sequence = b.simplify(before + fresh.sequence);
  Tensor all = b.compute(name, fresh.tensor.dtype(),
                         {fresh.tensor.dim(0), fresh.heads, sequence, fresh.width}, [&](Point p) {
                           Expr value = fresh(p[0], p[1], b.simplify(p[2] - before), p[3]);
                           return past ? ir::select(p[2] < before, past.at(p), value) : value;
                         });
  return {all, fresh.heads, sequence, fresh.width};
}

Result<> attention(Builder& b) {
  GS_ASSIGN(Heads q, heads_of(b, b.input(0), "q_num_heads"));
  GS_ASSIGN(Heads k, heads_of(b, b.input(1), "kv_num_heads"));
  GS_ASSIGN(Heads v, heads_of(b, b.input(2), "kv_num_heads"));
  const Tensor &mask = b.input(3), &past_key = b.input(4), &past_value = b.input(5),
               &lengths = b.input(6);
  GS_TRY(b.require(q.width == k.width, cat("queries have width ", ir::print(q.width),
                                           ", keys have ", ir::print(k.width))));
  GS_TRY(b.require(ir::floormod(q.heads, k.heads) == 0,
                   cat(ir::print(q.heads), " query heads do not divide among ", ir::print(k.heads),
                       " key heads")));
  if ((past_key && past_key.dtype() != b.input(1).dtype()) ||
      (past_value && past_value.dtype() != b.input(2).dtype())) {
    return b.error("past keys or values differ in type from new ones", "insert a Cast");
  }
  if (static_cast<bool>(past_key) != static_cast<bool>(past_value))
    return b.error("past_key and past_value go together");
  for (int i : {1, 2}) {
    GS_TRY(b.require(b.input(i).dim(0) == b.input(0).dim(0), "Q, K and V differ in batch"));
  }
  GS_TRY(b.require(k.heads == v.heads && k.sequence == v.sequence,
                   "K and V differ in heads or sequence"));
  for (int i : {4, 5}) {
    const Heads& fresh = i == 4 ? k : v;
    if (b.has(i))
      GS_TRY(has_shape(b, i, {b.input(0).dim(0), fresh.heads, past_key.dim(2), fresh.width}));
  }
  GS_TRY(has_shape(b, 6, {b.input(0).dim(0)}));
  Expr before = past_key ? past_key.dim(2) : ir::index(0);
  if (past_key || b.wants(1)) k = joined(b, "attention.key", past_key, k);
  if (past_value || b.wants(2)) v = joined(b, "attention.value", past_value, v);
  b.output(1, k.tensor);
  b.output(2, v.tensor);

  DType dtype = b.input(0).dtype(), wide = accumulator(dtype);
  Expr batch = b.input(0).dim(0), group = b.simplify(ir::floordiv(q.heads, k.heads));
  auto kv_head = [&](Expr head) { return b.simplify(ir::floordiv(head, group)); };
  double softcap = b.number("softcap");
  bool causal = b.integer("is_causal") != 0;
  int64_t shown = b.integer("qk_matmul_output_mode");
  Shape score_shape = {batch, q.heads, q.sequence, k.sequence};

  auto show = [&](int64_t mode, const Tensor& scores) {
    if (!b.wants(3) || shown != mode) return;
    b.output(3, b.compute("attention.shown", dtype, score_shape,
                          [&](Point p) { return ir::cast(dtype, scores.at(p)); }));
  };
  Tensor scores = b.reduce(
      "attention.scores", Builder::Join::sum, wide, score_shape, {q.width},
      [&](Point p, Point r) {
        return ir::cast(wide, q(p[0], p[1], p[2], r[0])) *
               ir::cast(wide, k(p[0], kv_head(p[1]), p[3], r[0]));
      },
      [&](Point, Expr sum) { return sum * attention_scale(b, q.width, wide); });
  show(0, scores);
  if (softcap != 0) {
    scores = b.compute("attention.capped", wide, score_shape,
                       [&](Point p) { return ir::tanh(scores.at(p) / softcap) * softcap; });
  }
  show(1, scores);
  int64_t left = b.integer("left_window_size"), right = b.integer("right_window_size");
  if (left < -1 || right < -1)
    return b.error("a window size is negative", "-1 leaves that side unbounded");
  if (mask || causal || lengths || left >= 0 || right >= 0) {
    if (mask && mask.rank() > 4) return b.error(cat("attn_mask has rank ", mask.rank()));
    Expr never = ir::lowest(wide);
    scores = b.compute("attention.masked", wide, score_shape, [&](Point p) {
      Expr value = scores.at(p);
      if (mask) {
        // A mask shorter than the keys leaves the rest out.
        const Expr& reach = mask.dim(-1);
        bool whole = ir::is_const(reach, 1) || b.same(reach, k.sequence);
        Expr given = b.at_broadcast(mask, p);
        Expr with = mask.dtype() == DType::boolean ? ir::select(given, value, never)
                                                   : value + ir::cast(wide, given);
        value = whole ? with : ir::select(p[3] < reach || reach == 1.0, with, never);
      }
      Expr offset = before;
      if (lengths && !past_key) offset = as_index(lengths({p[0]})) - q.sequence;
      if (causal) value = ir::select(p[3] <= p[2] + offset, value, never);
      // How far a query at its place in the whole sequence looks back and ahead.
      auto far = [](int64_t size) { return static_cast<double>(size); };
      if (left >= 0) value = ir::select(p[3] + far(left) >= p[2] + offset, value, never);
      if (right >= 0 && !causal)
        value = ir::select(p[3] <= p[2] + offset + far(right), value, never);
      if (lengths) value = ir::select(p[3] < as_index(lengths({p[0]})), value, never);
      return value;
    });
  }
  show(2, scores);
  std::optional<DType> precision;
  if (b.has_attribute("softmax_precision")) {
    precision = dtype_of_onnx(b.integer("softmax_precision"));
    if (!precision || !ir::is_float(*precision))
      return b.error(cat("`softmax_precision` ", b.integer("softmax_precision"), " is no float"));
  }
  // One that holds less than the sums rounds each step of softmax.
  bool rounds = precision && ir::byte_size(*precision) < ir::byte_size(wide);
  auto rounded = [&](Expr value) {
    return rounds ? ir::cast(wide, ir::cast(*precision, value)) : value;
  };
  auto row = [](Point p) { return std::vector<Expr>{p[0], p[1], p[2], ir::index(0)}; };
  Tensor largest = reduce_axes(
      b, "attention.max", scores, {3}, true, Builder::Join::max, wide,
      [&](Point p) { return rounded(scores.at(p)); },
      // A row that sees nothing has no largest score.
      [&](Expr value) { return ir::select(ir::is_inf(value), ir::zero(wide), value); });
  Tensor power = b.compute("attention.exp", wide, score_shape, [&](Point p) {
    return rounded(ir::exp(rounded(rounded(scores.at(p)) - largest.at(row(p)))));
  });
  Tensor total = reduce_axes(
      b, "attention.sum", power, {3}, true, Builder::Join::sum, wide,
      [&](Point p) { return power.at(p); },
      [&](Expr value) { return rounded(ir::select(value == 0, ir::constant(wide, 1), value)); });
  Tensor shares = b.compute("attention.shares", wide, score_shape,
                            [&](Point p) { return rounded(power.at(p) / total.at(row(p))); });
  show(3, shares);

  bool flat = b.input(0).rank() == 3;
  Shape shape = flat ? Shape{batch, q.sequence, q.heads, v.width}
                     : Shape{batch, q.heads, q.sequence, v.width};
  Tensor y =
      b.reduce("attention", Builder::Join::sum, dtype, shape, {k.sequence}, [&](Point p, Point r) {
        Expr head = flat ? p[2] : p[1], at = flat ? p[1] : p[2];
        return shares({p[0], head, at, r[0]}) * ir::cast(wide, v(p[0], kv_head(head), r[0], p[3]));
      });
  b.output(0, flat ? b.reshape("attention.y", y, {batch, q.sequence, q.heads * v.width}) : y);
  return {};
}

Result<> rotary_embedding(Builder& b) {
  GS_ASSIGN(Heads x, heads_of(b, b.input(0), "num_heads"));
  const Tensor &cosines = b.input(1), &sines = b.input(2), &positions = b.input(3);
  if (cosines.dtype() != b.input(0).dtype() || sines.dtype() != b.input(0).dtype()) {
    return b.error("the caches differ in type from X", "insert a Cast");
  }
  if (cosines.rank() != (positions ? 2 : 3)) {
    return b.error(cat("caches have rank ", cosines.rank()),
                   "it is 2 with position_ids, 3 without");
  }
  Expr turned =
      b.integer("rotary_embedding_dim") ? ir::index(b.integer("rotary_embedding_dim")) : x.width;
  Expr half = b.simplify(ir::floordiv(turned, 2));
  Expr batch = b.input(0).dim(0);
  for (int i : {1, 2}) {
    GS_TRY(
        has_shape(b, i, positions ? Shape{cosines.dim(0), half} : Shape{batch, x.sequence, half}));
  }
  GS_TRY(has_shape(b, 3, {batch, x.sequence}));
  bool interleaved = b.integer("interleaved") != 0, flat = b.input(0).rank() == 3;
  DType dtype = b.input(0).dtype();
  Shape shape = flat ? Shape{x.tensor.dim(0), x.sequence, x.heads, x.width} : x.tensor.shape();
  Tensor y = b.compute("rotary_embedding", dtype, shape, [&](Point p) {
    Expr batch = p[0], head = flat ? p[2] : p[1], at = flat ? p[1] : p[2], within = p[3];
    Expr pair = interleaved ? ir::floordiv(within, 2) : ir::floormod(within, half);
    Expr is_first = interleaved ? ir::floormod(within, 2) == 0 : within < half;
    auto angle = [&](const Tensor& cache) {
      return positions ? cache({as_index(positions({batch, at})), pair}) : cache({batch, at, pair});
    };
    Expr first = x(batch, head, at, interleaved ? pair * 2.0 : pair);
    Expr second = x(batch, head, at, interleaved ? pair * 2.0 + 1 : pair + half);
    Expr c = angle(cosines), s = angle(sines);
    Expr value = ir::select(is_first, c * first - s * second, s * first + c * second);
    return b.same(turned, x.width) ? value
                                   : ir::select(within < turned, value, x(batch, head, at, within));
  });
  b.output(0, flat ? b.reshape("rotary_embedding.y", y, b.input(0).shape()) : y);
  return {};
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Numbers between -1 and 1, and some that are given, by place.
TensorData with_numbers(std::vector<int64_t> shape,
                        const std::vector<std::pair<size_t, float>>& given) {
  size_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(std::sin(1.7F * static_cast<float>(i)));
  for (const auto& [place, value] : given) values[place] = value;
  return floats(std::move(shape), std::move(values));
}

// A mask of which row 3 hides all keys, row 5 has an infinite score, row 9 a NaN, and row 36 shows
// the last key alone.
TensorData special_mask(size_t queries, size_t keys) {
  std::vector<std::pair<size_t, float>> given = {{5 * keys + 7, infinity},
                                                 {9 * keys + keys - 1, nan}};
  for (size_t key = 0; key < keys; ++key) {
    given.emplace_back(3 * keys + key, -infinity);
    if (key + 1 < keys) given.emplace_back(36 * keys + key, -infinity);
  }
  return with_numbers({static_cast<int64_t>(queries), static_cast<int64_t>(keys)}, given);
}

}  // namespace

std::vector<OpDef> attention_family() {
  std::vector<int64_t> none = {-1};
  return {
      {.name = "Attention",
       .doc = "softmax(Q K^T * scale + mask) V, with grouped heads, past keys and values.",
       .since = 25,
       .inputs = {{"Q", any_float},
                  {"K", any_float},
                  {"V", any_float},
                  {"attn_mask", any_number | boolean_only, InputDef::optional},
                  {"past_key", any_float, InputDef::optional},
                  {"past_value", any_float, InputDef::optional},
                  {"nonpad_kv_seqlen", only(DType::i64), InputDef::optional}},
       .outputs = {"Y", "present_key", "present_value", "qk_matmul_output"},
       .attributes = {{"is_causal", 0},
                      {"kv_num_heads", 0},
                      {"left_window_size", -1},
                      {"q_num_heads", 0},
                      {"qk_matmul_output_mode", 0},
                      {"right_window_size", -1},
                      {"scale", {}},
                      {"softcap", 0.0},
                      {"softmax_precision", {}}},
       .define = attention,
       .cases = [=] -> Cases {
         return {
             {.name = "plain", .shapes = {{2, 3, 4, 8}, {2, 3, 6, 8}, {2, 3, 6, 8}}, .outputs = 1},
             {.name = "flat, grouped heads",
              .shapes = {{1, 4, 12}, {1, 5, 6}, {1, 5, 10}},
              .attributes = {{"q_num_heads", 4}, {"kv_num_heads", 2}},
              .outputs = 1},
             {.name = "causal",
              .shapes = {{1, 2, 5, 4}, {1, 2, 5, 4}, {1, 2, 5, 4}},
              .attributes = {{"is_causal", 1}},
              .outputs = 1},
             {.name = "mask and past",
              .shapes =
                  {{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}, {3, 5}, {1, 2, 2, 4}, {1, 2, 2, 4}},
              .attributes = {{"softcap", 2.0}}},
             {.name = "window, past",
              .shapes =
                  {{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}, none, {1, 2, 4, 4}, {1, 2, 4, 4}},
              .attributes = {{"left_window_size", 2}, {"right_window_size", 1}},
              .outputs = 1},
             {.name = "softmax in half",
              .shapes = {{1, 2, 5, 4}, {1, 2, 5, 4}, {1, 2, 5, 4}},
              .attributes = {{"softmax_precision", 10}},
              .outputs = 1},
             {.name = "tiles",
              .shapes = {{1, 4, 37, 16}, {1, 2, 45, 16}, {1, 2, 45, 16}, {37, 45}},
              .outputs = 1},
             {.name = "special scores",
              .shapes = {{1, 2, 37, 16}, {1, 2, 53, 16}, {1, 2, 53, 16}, {37, 53}},
              .inputs = {{}, {}, {}, special_mask(37, 53)},
              .outputs = 1},
             {.name = "special operands",
              .shapes = {{1, 2, 37, 16}, {1, 2, 53, 16}, {1, 2, 53, 16}},
              .inputs = {with_numbers({1, 2, 37, 16}, {{3 * 16 + 2, infinity}, {700, nan}}),
                         with_numbers({1, 2, 53, 16}, {{52 * 16 + 1, infinity}}),
                         with_numbers({1, 2, 53, 16}, {{53 * 16 + 5, -infinity}})},
              .outputs = 1},
             {.name = "causal tiles",
              .shapes = {{1, 2, 70, 32}, {1, 2, 70, 32}, {1, 2, 70, 32}},
              .attributes = {{"is_causal", 1}},
              .outputs = 1},
             {.name = "parts of the keys",
              .shapes = {{2, 6, 1, 16}, {2, 2, 70, 16}, {2, 2, 70, 16}, {1, 70}},
              .outputs = 1},
             {.name = "parts, few rows, causal",
              .shapes = {{1, 4, 3, 48}, {1, 1, 130, 48}, {1, 1, 130, 48}},
              .attributes = {{"is_causal", 1}},
              .outputs = 1}};
       }},
      {.name = "RotaryEmbedding",
       .doc = "Turns pairs of elements by angles of their position.",
       .since = 23,
       .inputs = {{"X", any_float},
                  {"cos_cache", any_float},
                  {"sin_cache", any_float},
                  {"position_ids", only(DType::i64), InputDef::optional}},
       .attributes = {{"interleaved", 0}, {"num_heads", 0}, {"rotary_embedding_dim", 0}},
       .define = rotary_embedding,
       .cases = [] -> Cases {
         return {{.name = "halves",
                  .shapes = {{1, 2, 3, 8}, {5, 4}, {5, 4}},
                  .inputs = {{}, {}, {}, int64s({1, 3}, {0, 4, 2})}},
                 {.name = "interleaved",
                  .shapes = {{2, 3, 8}, {2, 3, 2}, {2, 3, 2}},
                  .attributes = {{"interleaved", 1}, {"num_heads", 2}}},
                 {.name = "part",
                  .shapes = {{1, 2, 3, 8}, {1, 3, 2}, {1, 3, 2}},
                  .attributes = {{"rotary_embedding_dim", 4}}}};
       }},
  };
}

}  // namespace gossamer::ops
