// ONNX Runtime's attention of language models: grouped heads, a cache of keys and values, rotation.
#include "ir/print.h"
#include "ops/families.h"
#include "ops/microsoft/fused.h"

namespace gossamer::ops {
namespace {

// What the lengths of this run say.
struct Lengths {
  Expr sequence;  // new elements
  Expr room;      // elements the present has room for
  Expr prompt;    // whether everything is new; null: it is
  Tensor last;    // of each sample, [batch] i32: all of its elements less one
  Expr before(const Expr& sample) const {  // how many came before the new ones
    if (prompt.get() == nullptr) return ir::index(0);
    Expr past = ir::max(as_index(last({sample})) + 1.0 - sequence, ir::index(0));
    return ir::select(prompt, ir::index(0), past);
  }
};

// x [batch, sequence, heads * width] from column `begin` of x.
Tensor columns(Builder& b, const Tensor& x, const Expr& begin, const Expr& count) {
  return b.compute("group_attention.part", x.dtype(), {x.dim(0), x.dim(1), count},
                   [&](Point p) { return x({p[0], p[1], b.simplify(p[2] + begin)}); });
}

// Queries or keys turned by their positions.
Result<Tensor> rotated(Builder& b, const Tensor& x, int64_t heads, const Lengths& lengths) {
  const Tensor &cosines = b.input(7), &sines = b.input(8), &given = b.input(9);
  if (!cosines || !sines || cosines.rank() != 2)
    return b.error("`do_rotary` needs caches [positions, rotated / 2]");
  auto half = ir::as_int(cosines.dim(1));
  if (!half) return b.error("the width of the caches must be known when compiling");
  if (given) GS_TRY(has_shape(b, 9, {x.dim(0), x.dim(1)}));
  Tensor positions =
      b.compute("group_attention.positions", DType::i64, {x.dim(0), x.dim(1)}, [&](Point p) {
        Expr at = ir::cast(DType::i64, lengths.before(p[0]) + p[1]);
        if (!given) return at;
        // A prompt's positions count from the first one.
        Expr counted = given({ir::index(0), ir::index(0)}) + ir::cast(DType::i64, p[1]);
        return lengths.prompt.get() ? ir::select(lengths.prompt, counted, given.at(p)) : counted;
      });
  return b.call1("RotaryEmbedding", {x, cosines, sines, positions},
                 {{"interleaved", b.integer("rotary_interleaved")},
                  {"num_heads", heads},
                  {"rotary_embedding_dim", 2 * *half}});
}

// The past's elements and then the new ones, in heads; zero behind them.
Tensor present(Builder& b, const std::string& name, const Tensor& past, const Tensor& fresh,
               int64_t heads, const Expr& width, const Lengths& lengths) {
  Shape shape = {fresh.dim(0), ir::index(heads), lengths.room, width};
  const auto row = [&](Point p) { return fresh({p[0], p[2], p[1] * width + p[3]}); };
  if (past)
    return b.append(
        name, past, shape, 2, lengths.sequence, [&](Point p) { return lengths.before(p[0]); }, row);
  return b.compute(name, fresh.dtype(), shape, [&](Point p) {
    return ir::select(p[2] < lengths.sequence, row(p), ir::zero(fresh.dtype()));
  });
}

// One more key of zeros, which the smooth softmax counts.
Tensor one_more(Builder& b, const Tensor& x) {
  Shape shape = x.shape();
  shape[2] = b.simplify(shape[2] + 1);
  return b.compute("group_attention.sink", x.dtype(), shape, [&](Point p) {
    return ir::select(p[2] < x.dim(2), x.at(p), ir::zero(x.dtype()));
  });
}

Result<> refuse_other_forms(Builder& b) {
  if (b.text("k_quant_type") != "NONE" || b.text("v_quant_type") != "NONE")
    return b.error("quantised caches are not supported");
  if (b.integer("sliding_window_cache") != 0)
    return b.error("`sliding_window_cache` is not supported");
  if (b.integer("qk_output") != 0) return b.error("`qk_output` is not supported");
  return one_type(b, {0, 1, 2, 3, 4, 7, 8, 10, 11});
}

Result<> group_query_attention(Builder& b) {
  GS_TRY(refuse_other_forms(b));
  const Tensor &query = b.input(0), &past_key = b.input(3), &past_value = b.input(4),
               &bias = b.input(10), &sink = b.input(11);
  int64_t heads = b.integer("num_heads"), groups = b.integer("kv_num_heads");
  if (heads < 1 || groups < 1 || heads % groups != 0)
    return b.error("`num_heads` is not a multiple of `kv_num_heads`");
  if (query.rank() != 3 || b.has(1) != b.has(2))
    return b.error("query has rank 3, key and value go together");
  bool packed = !b.has(1);
  int64_t parts = packed ? heads + 2 * groups : heads;
  GS_TRY(b.require(ir::floormod(query.dim(2), parts) == 0,
                   cat(ir::print(query.dim(2)), " columns do not divide into ", parts, " heads")));
  Expr width = b.simplify(ir::floordiv(query.dim(2), parts));
  Expr wide = b.simplify(width * static_cast<double>(heads)),
       narrow = b.simplify(width * static_cast<double>(groups));
  for (int i : {1, 2}) GS_TRY(has_shape(b, i, {query.dim(0), query.dim(1), narrow}));
  if (static_cast<bool>(past_key) != static_cast<bool>(past_value))
    return b.error("past_key and past_value go together");
  if (past_key && past_key.rank() != 4) return b.error("past_key is [batch, heads, past, width]");
  for (int i : {3, 4}) {
    if (b.has(i))
      GS_TRY(has_shape(b, i, {query.dim(0), ir::index(groups), past_key.dim(2), width}));
  }
  GS_ASSIGN(const Tensor last, as_list(b, 5, query.dim(0)));
  GS_TRY(has_shape(b, 11, {ir::index(heads)}));

  Lengths lengths{query.dim(1), query.dim(1), {}, last};
  GS_ASSIGN(std::vector<Expr> totals, b.elements(6));
  if (totals.size() != 1) return b.error("total_sequence_length is one number");
  const Expr& total = totals[0];
  if (past_key) {
    lengths.room = b.simplify(ir::max(total, past_key.dim(2)));
    lengths.prompt = total == lengths.sequence;
  } else {
    GS_TRY(b.require(total == query.dim(1),
                     "without a past, total_sequence_length is the length of the query"));
  }
  Tensor q = query, k = b.input(1), v = b.input(2);
  if (packed) {
    q = columns(b, query, ir::index(0), wide);
    k = columns(b, query, wide, narrow);
    v = columns(b, query, b.simplify(wide + narrow), narrow);
  }
  if (b.integer("do_rotary") != 0) {
    if (const Tensor& cosines = b.input(7))
      GS_TRY(b.require(total <= cosines.dim(0),
                       cat("the prompt and the tokens after it are more than the context of ",
                           ir::print(cosines.dim(0)),
                           " positions for which the model has rotations: give a shorter prompt, "
                           "or ask for fewer tokens")));
    GS_ASSIGN(q, rotated(b, q, heads, lengths));
    GS_ASSIGN(k, rotated(b, k, groups, lengths));
  }
  k = present(b, "group_attention.key", past_key, k, groups, width, lengths);
  v = present(b, "group_attention.value", past_value, v, groups, width, lengths);
  b.output(1, k);
  b.output(2, v);

  bool smooth = sink || b.integer("smooth_softmax") != 0, causal = b.integer("causal") != 0;
  int64_t window = b.integer("local_window_size");
  if (bias && bias.rank() != 4) return b.error("attention_bias has rank 4");
  DType dtype = query.dtype();
  Expr room = lengths.room;
  // A sample shorter than the others has padding behind its elements. Queries in the padding see
  // the sample's keys; in ONNX Runtime their window ends where they are, or, in its general kernel,
  // where the sample does.
  const bool general = smooth || b.number("softcap") != 0;
  const auto place_of = [&](const Expr& sample, const Expr& row) -> Expr {
    const Expr here = lengths.before(sample) + row;
    return general ? ir::min(here, as_index(last({sample}))) : here;
  };
  Tensor keys = smooth ? one_more(b, k) : k, values = smooth ? one_more(b, v) : v;
  Shape shape = {query.dim(0), ir::index(sink ? heads : 1), query.dim(1), keys.dim(2)};
  if (bias) shape[1] = ir::index(heads);
  Tensor mask = b.compute("group_attention.mask", dtype, shape, [&](Point p) {
    const Expr here = place_of(p[0], p[2]), end = as_index(last({p[0]}));
    Expr seen = p[3] <= (causal ? ir::min(here, end) : end);
    if (causal && window > 0) seen = seen && p[3] > here - static_cast<double>(window);
    Expr value = ir::zero(dtype);
    if (bias) {
      std::vector<Expr> at(p.begin(), p.end());
      for (size_t axis : {0u, 1u})
        if (ir::is_const(bias.shape()[axis], 1)) at[axis] = ir::index(0);
      value = bias.at(at);
    }
    value = ir::select(seen, value, ir::lowest(dtype));
    if (!smooth) return value;
    return ir::select(p[3] < room, value, sink ? sink({p[1]}) : ir::zero(dtype));
  });
  Attributes attributes = {{"q_num_heads", heads}, {"softcap", b.number("softcap")}};
  if (b.number("scale") != 0) attributes["scale"] = b.number("scale");
  GS_ASSIGN(Tensor y, b.call1("Attention", {q, keys, values, mask}, std::move(attributes)));
  if (causal && window > 0 && !general) {
    // Zeros where the window has no key of the sample.
    y = b.compute("group_attention.seen", dtype, y.shape(), [&](Point p) {
      const Expr first = place_of(p[0], p[1]) - static_cast<double>(window - 1);
      return ir::select(first > as_index(last({p[0]})), ir::zero(dtype), y.at(p));
    });
  }
  b.output(0, y);
  return {};
}

}  // namespace

std::vector<OpDef> microsoft_group_attention_family() {
  std::vector<int64_t> none = {-1};
  auto optional = InputDef::optional;
  TypeSet ids = only(DType::i32);
  auto numbers = [](std::vector<int32_t> of) {
    return int32s({static_cast<int64_t>(of.size())}, of);
  };
  // Lengths are inputs 5 and 6; those before and after are random or absent.
  auto lengths = [numbers](std::vector<int32_t> last, int32_t total) {
    std::vector<TensorData> inputs(5);
    inputs.push_back(numbers(std::move(last)));
    inputs.push_back(numbers({total}));
    return inputs;
  };
  return {
      {.name = "GroupQueryAttention",
       .doc = "Causal attention of grouped heads over a cache of keys and values.",
       .domain = std::string(microsoft),
       .since = 1,
       .inputs = {{"query", any_float},
                  {"key", any_float, optional},
                  {"value", any_float, optional},
                  {"past_key", any_float, optional},
                  {"past_value", any_float, optional},
                  {"seqlens_k", ids},
                  {"total_sequence_length", ids},
                  {"cos_cache", any_float, optional},
                  {"sin_cache", any_float, optional},
                  {"position_ids", only(DType::i64), optional},
                  {"attention_bias", any_float, optional},
                  {"head_sink", any_float, optional}},
       .outputs = {"output", "present_key", "present_value"},
       .attributes = {{"causal", 1},
                      {"do_rotary", 0},
                      {"k_quant_type", "NONE"},
                      {"kv_cache_bit_width", 0},
                      {"kv_num_heads", {}, true},
                      {"local_window_size", -1},
                      {"num_heads", {}, true},
                      {"qk_norm_epsilon", 1e-6},
                      {"qk_output", 0},
                      {"rotary_interleaved", 0},
                      {"scale", 0.0},
                      {"sliding_window_cache", 0},
                      {"smooth_softmax", 0},
                      {"softcap", 0.0},
                      {"v_quant_type", "NONE"}},
       .define = group_query_attention,
       .cases = [=] -> Cases {
         return {
             {.name = "prompt",
              .shapes = {{2, 3, 32}, {2, 3, 16}, {2, 3, 16}, none, none},
              .attributes = {{"num_heads", 4}, {"kv_num_heads", 2}},
              .inputs = lengths({2, 1}, 3)},
             {.name = "padding behind a sample",
              .shapes = {{2, 5, 16}, {2, 5, 8}, {2, 5, 8}, none, none},
              .attributes = {{"num_heads", 2}, {"kv_num_heads", 1}, {"local_window_size", 2}},
              .inputs = lengths({4, 1}, 5)},
             {.name = "lengths of rank 2",
              .shapes = {{2, 3, 32}, {2, 3, 16}, {2, 3, 16}, none, none},
              .attributes = {{"num_heads", 4}, {"kv_num_heads", 2}},
              .inputs = {{}, {}, {}, {}, {}, int32s({2, 1}, {2, 1}), int32s({1, 1}, {3})}},
             {.name = "one more, packed, rotated",
              .shapes =
                  {{2, 1, 64}, none, none, {2, 1, 5, 16}, {2, 1, 5, 16}, {}, {}, {8, 8}, {8, 8}},
              .attributes = {{"num_heads", 2}, {"kv_num_heads", 1}, {"do_rotary", 1}},
              .inputs = lengths({5, 3}, 6)},
             {.name = "room, window, sinks",
              .shapes = {{1, 2, 16},
                         {1, 2, 8},
                         {1, 2, 8},
                         {1, 1, 9, 8},
                         {1, 1, 9, 8},
                         {},
                         {},
                         none,
                         none,
                         none,
                         none,
                         {2}},
              .attributes = {{"num_heads", 2}, {"kv_num_heads", 1}, {"local_window_size", 3}},
              .inputs = lengths({5}, 6)},
             {.name = "tiles of samples of different lengths",
              .shapes = {{2, 40, 32}, {2, 40, 16}, {2, 40, 16}, none, none},
              .attributes = {{"num_heads", 4}, {"kv_num_heads", 2}},
              .inputs = lengths({39, 20}, 40)},
             {.name = "tiles after a past",
              .shapes = {{1, 20, 32}, {1, 20, 16}, {1, 20, 16}, {1, 2, 31, 8}, {1, 2, 31, 8}},
              .attributes = {{"num_heads", 4}, {"kv_num_heads", 2}},
              .inputs = lengths({50}, 51)},
             {.name = "tiles, sinks",
              .shapes = {{1, 40, 64},
                         {1, 40, 32},
                         {1, 40, 32},
                         none,
                         none,
                         {},
                         {},
                         none,
                         none,
                         none,
                         none,
                         {4}},
              .attributes = {{"num_heads", 4}, {"kv_num_heads", 2}},
              .inputs = lengths({39}, 40)}};
       }},
  };
}

}  // namespace gossamer::ops
