// ONNX Runtime's attention of language models: grouped heads, a cache of keys and values, rotation.
#include "ir/print.h"
#include "ops/families.h"
#include "ops/microsoft/attention_cache.h"
#include "ops/microsoft/fused.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

// x [batch, sequence, heads * width] from column `begin` of x.
Tensor columns(Builder& b, const Tensor& x, const Expr& begin, const Expr& count) {
  return b.compute("group_attention.part", x.dtype(), {x.dim(0), x.dim(1), count},
                   [&](Point p) { return x({p[0], p[1], b.simplify(p[2] + begin)}); });
}

// Queries or keys turned by their positions.
Result<Tensor> rotated(Builder& b, const Tensor& x, int64_t heads, int caches, const Tensor& given,
                       const Lengths& lengths) {
  const Tensor &cosines = b.input(caches), &sines = b.input(caches + 1);
  if (!cosines || !sines || cosines.rank() != 2)
    return b.error("`do_rotary` needs caches [positions, rotated / 2]");
  auto half = ir::as_int(cosines.dim(1));
  if (!half) return b.error("the width of the caches must be known when compiling");
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

// Each head of x divided by its root mean square, times `weight` [width].
Result<Tensor> normalized(Builder& b, const Tensor& x, int64_t heads, const Expr& width,
                          const Tensor& weight, std::string_view epsilon) {
  const Shape& flat = x.shape();
  Tensor split =
      b.reshape("group_attention.heads", x, {x.dim(0), x.dim(1), ir::index(heads), width});
  double number = b.number(epsilon);
  if (number == 0) number = b.number("qk_norm_epsilon");
  GS_ASSIGN(Tensor y, b.call1("RMSNormalization", {split, weight}, {{"epsilon", number}}));
  return b.reshape("group_attention.normalized", y, flat);
}

// One more key of zeros, which the smooth softmax counts.
Tensor one_more(Builder& b, const Tensor& x) {
  Shape shape = x.shape();
  shape[2] = b.simplify(shape[2] + 1);
  return b.compute("group_attention.sink", x.dtype(), shape, [&](Point p) {
    return ir::select(p[2] < x.dim(2), x.at(p), ir::zero(x.dtype()));
  });
}

struct Parts {
  int64_t heads, groups;
  Expr width;
  Tensor query, key, value;
};

// The inputs query, key and value, or the three that the query holds.
Result<Parts> parts_of(Builder& b) {
  const Tensor& query = b.input(0);
  const int64_t heads = b.integer("num_heads"), groups = b.integer("kv_num_heads");
  if (heads < 1 || groups < 1 || heads % groups != 0)
    return b.error("`num_heads` is not a multiple of `kv_num_heads`");
  if (query.rank() != 3 || b.has(1) != b.has(2))
    return b.error("query has rank 3, key and value go together");
  const bool packed = !b.has(1);
  const int64_t parts = packed ? heads + 2 * groups : heads;
  GS_TRY(b.require(ir::floormod(query.dim(2), parts) == 0,
                   cat(ir::print(query.dim(2)), " columns do not divide into ", parts, " heads")));
  const Expr width = b.simplify(ir::floordiv(query.dim(2), parts)),
             wide = b.simplify(width * static_cast<double>(heads)),
             narrow = b.simplify(width * static_cast<double>(groups));
  for (int i : {1, 2}) GS_TRY(has_shape(b, i, {query.dim(0), query.dim(1), narrow}));
  if (!packed) return Parts{heads, groups, width, query, b.input(1), b.input(2)};
  return Parts{heads,
               groups,
               width,
               columns(b, query, ir::index(0), wide),
               columns(b, query, wide, narrow),
               columns(b, query, b.simplify(wide + narrow), narrow)};
}

Result<> group_query_attention(Builder& b) {
  GS_TRY(one_type(b, {0, 1, 2, 7, 8, 10, 11, 14, 15}));
  const Tensor &query = b.input(0), &past_key = b.input(3), &past_value = b.input(4),
               &bias = b.input(10), &sink = b.input(11);
  GS_ASSIGN(const Parts parts, parts_of(b));
  const int64_t heads = parts.heads, groups = parts.groups;
  const Expr width = parts.width;
  if (static_cast<bool>(past_key) != static_cast<bool>(past_value))
    return b.error("past_key and past_value go together");
  if (past_key && past_key.rank() != 4) return b.error("past_key is [batch, heads, past, width]");
  GS_ASSIGN(const Cache key_cache, cache_of(b, "k_quant_type", 3, 12, query.dtype()));
  GS_ASSIGN(const Cache value_cache, cache_of(b, "v_quant_type", 4, 13, query.dtype()));
  for (int i : {3, 4}) {
    const Cache& cache = i == 3 ? key_cache : value_cache;
    if (b.has(i))
      GS_TRY(has_shape(
          b, i, {query.dim(0), ir::index(groups), past_key.dim(2), cache.stored_width(b, width)}));
  }
  GS_ASSIGN(const Tensor last, as_list(b, 5, query.dim(0)));
  GS_TRY(has_shape(b, 11, {ir::index(heads)}));

  Lengths lengths{query.dim(1), query.dim(1), {}, last, {}};
  if (b.has(16)) {
    if (!past_key) return b.error("query_seqlens needs a past");
    GS_ASSIGN(lengths.valid, as_list(b, 16, query.dim(0)));
  }
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
  const int64_t window = b.integer("local_window_size");
  const bool slides = b.integer("sliding_window_cache") != 0;
  if (slides && (window < 1 || !past_key))
    return b.error("`sliding_window_cache` needs `local_window_size` and a past");
  const Slide slide{slides ? past_key.dim(2) : Expr(), static_cast<double>(window)};
  if (slides)
    GS_TRY(b.require(slide.capacity >= slide.window,
                     cat("a cache of ", ir::print(slide.capacity),
                         " elements is shorter than its window of ", window)));
  if (slides || lengths.valid) lengths.prompt = ir::boolean(false);
  Tensor q = parts.query, k = parts.key, v = parts.value;
  if (b.has(14) != b.has(15)) return b.error("q_norm_weight and k_norm_weight go together");
  if (b.has(14)) {
    for (int i : {14, 15}) GS_TRY(has_shape(b, i, {width}));
    GS_ASSIGN(q, normalized(b, q, heads, width, b.input(14), "q_norm_epsilon"));
    GS_ASSIGN(k, normalized(b, k, groups, width, b.input(15), "k_norm_epsilon"));
  }
  if (b.integer("do_rotary") != 0) {
    if (b.has(9)) GS_TRY(has_shape(b, 9, {query.dim(0), query.dim(1)}));
    if (const Tensor& cosines = b.input(7))
      GS_TRY(b.require(total <= cosines.dim(0),
                       cat("the prompt and the tokens after it are more than the context of ",
                           ir::print(cosines.dim(0)),
                           " positions for which the model has rotations: give a shorter prompt, "
                           "or ask for fewer tokens")));
    GS_ASSIGN(q, rotated(b, q, heads, 7, b.input(9), lengths));
    GS_ASSIGN(k, rotated(b, k, groups, 7, b.input(9), lengths));
  }
  const Fresh keys_made{k, width, key_cache}, values_made{v, width, value_cache};
  if (slides) {
    k = pieces(b, "group_attention.keys", past_key, keys_made, slide, lengths);
    v = pieces(b, "group_attention.values", past_value, values_made, slide, lengths);
    b.output(1, slid(b, "group_attention.key", k, past_key, slide, lengths));
    b.output(2, slid(b, "group_attention.value", v, past_value, slide, lengths));
  } else {
    k = present(b, "group_attention.key", past_key, keys_made, groups, lengths);
    v = present(b, "group_attention.value", past_value, values_made, groups, lengths);
    b.output(1, k);
    b.output(2, v);
  }
  k = decoded(b, k, key_cache, width, query.dtype());
  v = decoded(b, v, value_cache, width, query.dtype());

  bool smooth = sink || b.integer("smooth_softmax") != 0, causal = b.integer("causal") != 0;
  if (bias && bias.rank() != 4) return b.error("attention_bias has rank 4");
  DType dtype = query.dtype();
  const Expr room = k.dim(2);
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
    const Expr here = place_of(p[0], p[2]), end = as_index(last({p[0]})),
               position = slides ? slide.position(lengths, p[0], p[3]) : p[3];
    Expr seen = position <= (causal ? ir::min(here, end) : end);
    if (causal && window > 0) seen = seen && position > here - static_cast<double>(window);
    if (slides) seen = seen && slide.exists(lengths, p[0], p[3]);
    Expr value = ir::zero(dtype);
    if (bias) {
      std::vector<Expr> at(p.begin(), p.end());
      for (size_t axis : {0u, 1u})
        if (ir::is_const(bias.shape()[axis], 1)) at[axis] = ir::index(0);
      at[3] = slides ? ir::min(ir::max(position, ir::index(0)), bias.dim(3) - 1.0) : position;
      value = bias.at(at);
    }
    value = ir::select(seen, value, ir::lowest(dtype));
    if (!smooth) return value;
    return ir::select(p[3] < room, value, sink ? sink({p[1]}) : ir::zero(dtype));
  });
  Attributes attributes = {{"q_num_heads", heads}, {"softcap", b.number("softcap")}};
  if (b.number("scale") != 0) attributes["scale"] = b.number("scale");
  const bool shows = b.wants(3) && b.integer("qk_output") != 0;
  if (shows && (smooth || slides))
    return b.error("`qk_output` with sinks or a sliding cache is not supported");
  if (shows) attributes["qk_matmul_output_mode"] = b.integer("qk_output") + 1;
  GS_ASSIGN(std::vector<Tensor> made,
            b.call("Attention", {q, keys, values, mask}, std::move(attributes), shows ? 4 : 1));
  Tensor y = made[0];
  if (shows) {
    const Tensor& scores = made[3];
    Shape seen = scores.shape();
    seen[3] = total;
    // Before the softmax, ONNX Runtime has zeros where a query sees no key.
    const bool raw = b.integer("qk_output") == 1;
    b.output(3, b.compute("group_attention.scores", dtype, seen, [&](Point p) {
      const Expr score = scores.at(p);
      return raw ? ir::select(score > ir::lowest(dtype), score, ir::zero(dtype)) : score;
    }));
  }
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

// Which blocks of keys a block of queries sees is in compressed rows: a layout's columns of block
// row i are those from rows[i] to rows[i + 1].
Result<> sparse_attention(Builder& b) {
  GS_TRY(one_type(b, {0, 1, 2, 3, 4, 9, 10}));
  const Tensor &query = b.input(0), &past_key = b.input(3), &past_value = b.input(4),
               &starts = b.input(5), &blocks = b.input(6);
  GS_ASSIGN(const Parts parts, parts_of(b));
  const int64_t size = b.integer("sparse_block_size");
  if (size < 1) return b.error("`sparse_block_size` is positive");
  if (past_key.rank() != 4) return b.error("past_key is [batch, heads, room, width]");
  for (int i : {3, 4})
    GS_TRY(has_shape(b, i, {query.dim(0), ir::index(parts.groups), past_key.dim(2), parts.width}));
  if (starts.rank() != 2 || blocks.rank() != 2)
    return b.error("indices of blocks are [layouts, ...]");
  const auto layouts = ir::as_int(starts.dim(0));
  if (!layouts || *layouts < 1 || parts.heads % *layouts != 0 ||
      !b.same(starts.dim(0), blocks.dim(0)))
    return b.error("`num_heads` is not a multiple of the number of layouts");
  GS_ASSIGN(const Tensor totals, as_list(b, 8, query.dim(0)));
  GS_ASSIGN(const std::vector<Expr> total, b.elements(7));
  if (total.size() != 1) return b.error("total_sequence_length is one number");
  const Tensor last = b.compute("sparse_attention.last", DType::i32, totals.shape(), [&](Point p) {
    return totals.at(p) - ir::constant_int(DType::i32, 1);
  });
  const Lengths lengths{query.dim(1), past_key.dim(2), total[0] == query.dim(1), last, {}};
  Tensor q = parts.query, k = parts.key;
  if (b.integer("do_rotary") != 0) {
    GS_ASSIGN(q, rotated(b, q, parts.heads, 9, {}, lengths));
    GS_ASSIGN(k, rotated(b, k, parts.groups, 9, {}, lengths));
  }
  const DType dtype = query.dtype();
  const Cache plain{dtype, 0, {}};
  k = present(b, "sparse_attention.key", past_key, {k, parts.width, plain}, parts.groups, lengths);
  const Tensor v = present(b, "sparse_attention.value", past_value,
                           {parts.value, parts.width, plain}, parts.groups, lengths);
  b.output(1, k);
  b.output(2, v);

  const Expr rows = b.simplify(starts.dim(1) - 1);
  const Tensor seen = b.reduce("sparse_attention.blocks", Builder::Join::max, DType::i32,
                               {starts.dim(0), rows, rows}, {blocks.dim(1)}, [&](Point p, Point r) {
                                 const Expr inside = r[0] >= as_index(starts({p[0], p[1]})) &&
                                                     r[0] < as_index(starts({p[0], p[1] + 1.0})) &&
                                                     as_index(blocks({p[0], r[0]})) == p[2];
                                 return ir::cast(DType::i32, inside);
                               });
  const auto block_of = [&](const Expr& place) {
    return ir::min(ir::floordiv(place, size), rows - 1.0);
  };
  const Tensor mask = b.compute(
      "sparse_attention.mask", dtype,
      {query.dim(0), ir::index(*layouts == 1 ? 1 : parts.heads), query.dim(1), k.dim(2)},
      [&](Point p) {
        const Expr here = lengths.before(p[0]) + p[2];
        const Expr chosen =
            seen({b.simplify(ir::floormod(p[1], *layouts)), block_of(here), block_of(p[3])});
        return ir::select(p[3] <= here && chosen > ir::constant_int(DType::i32, 0), ir::zero(dtype),
                          ir::lowest(dtype));
      });
  Attributes attributes = {{"q_num_heads", parts.heads}};
  if (b.number("scale") != 0) attributes["scale"] = b.number("scale");
  GS_ASSIGN(const Tensor y, b.call1("Attention", {q, k, v, mask}, std::move(attributes)));
  b.output(0, y);
  return {};
}

}  // namespace

std::vector<OpDef> microsoft_group_attention_family() {
  std::vector<int64_t> none = {-1};
  auto optional = InputDef::optional;
  TypeSet ids = only(DType::i32);
  TypeSet cached = any_float | only(DType::i8) | only(DType::u8) | only(DType::f8e4m3fn);
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
  // A cache, twice, and scales of both.
  auto bytes = [](DType dtype, std::vector<int64_t> shape) {
    TensorData data{dtype, std::move(shape), {}};
    for (int64_t i = 0; i < data.element_count(); ++i)
      data.bytes.push_back(static_cast<std::byte>(i * 37));
    return data;
  };
  auto with_caches = [lengths](std::vector<int32_t> last, int32_t total, const TensorData& cache) {
    std::vector<TensorData> inputs = lengths(std::move(last), total);
    inputs[3] = inputs[4] = cache;
    return inputs;
  };
  auto chunks = [lengths, numbers](std::vector<int32_t> last, int32_t total,
                                   std::vector<int32_t> valid) {
    std::vector<TensorData> inputs = lengths(std::move(last), total);
    inputs.resize(16);
    inputs.push_back(numbers(std::move(valid)));
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
                  {"past_key", cached, optional},
                  {"past_value", cached, optional},
                  {"seqlens_k", ids},
                  {"total_sequence_length", ids},
                  {"cos_cache", any_float, optional},
                  {"sin_cache", any_float, optional},
                  {"position_ids", only(DType::i64), optional},
                  {"attention_bias", any_float, optional},
                  {"head_sink", any_float, optional},
                  {"k_scale", any_float, optional},
                  {"v_scale", any_float, optional},
                  {"q_norm_weight", any_float, optional},
                  {"k_norm_weight", any_float, optional},
                  {"query_seqlens", ids, optional}},
       .outputs = {"output", "present_key", "present_value", "output_qk"},
       .attributes = {{"causal", 1},
                      {"do_rotary", 0},
                      {"k_norm_epsilon", 0.0},
                      {"k_quant_type", "NONE"},
                      {"kv_cache_bit_width", 0},
                      {"kv_num_heads", {}, true},
                      {"local_window_size", -1},
                      {"num_heads", {}, true},
                      {"q_norm_epsilon", 0.0},
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
         Cases cases = {
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
             {.name = "norms of queries and keys",
              .shapes = {{1, 2, 32},
                         {1, 2, 16},
                         {1, 2, 16},
                         {1, 2, 3, 8},
                         {1, 2, 3, 8},
                         {},
                         {},
                         none,
                         none,
                         none,
                         none,
                         none,
                         none,
                         none,
                         {8},
                         {8}},
              .attributes = {{"num_heads", 4}, {"kv_num_heads", 2}, {"q_norm_epsilon", 1e-3}},
              .inputs = lengths({4}, 5)},
             {.name = "cache of bytes",
              .shapes = {{1, 2, 16},
                         {1, 2, 8},
                         {1, 2, 8},
                         {},
                         {},
                         {},
                         {},
                         none,
                         none,
                         none,
                         none,
                         none,
                         {1},
                         {1, 1, 1, 8}},
              .attributes = {{"num_heads", 2},
                             {"kv_num_heads", 1},
                             {"k_quant_type", "PER_TENSOR"},
                             {"v_quant_type", "PER_CHANNEL"}},
              .inputs = with_caches({4}, 5, bytes(DType::i8, {1, 1, 3, 8})),
              .low = 0.1},
             {.name = "cache of halves of bytes",
              .shapes = {{1, 1, 16},
                         {1, 1, 8},
                         {1, 1, 8},
                         {},
                         {},
                         {},
                         {},
                         none,
                         none,
                         none,
                         none,
                         none,
                         {1},
                         {1, 1, 1, 8}},
              .attributes = {{"num_heads", 2},
                             {"kv_num_heads", 1},
                             {"kv_cache_bit_width", 4},
                             {"k_quant_type", "PER_TENSOR"},
                             {"v_quant_type", "PER_CHANNEL"}},
              .inputs = with_caches({3}, 4, bytes(DType::u8, {1, 1, 3, 4})),
              .low = 0.1},
             {.name = "cache of the window alone",
              .shapes = {{1, 2, 16}, {1, 2, 8}, {1, 2, 8}, {1, 1, 6, 8}, {1, 1, 6, 8}},
              .attributes = {{"num_heads", 2},
                             {"kv_num_heads", 1},
                             {"local_window_size", 4},
                             {"sliding_window_cache", 1}},
              .inputs = lengths({8}, 9)},
             {.name = "chunks with padding",
              .shapes = {{2, 3, 16}, {2, 3, 8}, {2, 3, 8}, {2, 1, 9, 8}, {2, 1, 9, 8}},
              .attributes = {{"num_heads", 2}, {"kv_num_heads", 1}},
              .inputs = chunks({5, 3}, 9, {2, 3})},
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
              .inputs = lengths({39}, 40)},
             {.name = "scores, before the softmax",
              .shapes = {{1, 2, 16}, {1, 2, 8}, {1, 2, 8}, {1, 1, 3, 8}, {1, 1, 3, 8}},
              .attributes = {{"num_heads", 2}, {"kv_num_heads", 1}, {"qk_output", 1}},
              .inputs = lengths({4}, 5),
              .outputs = 4}};
         for (Case& one : cases) one.outputs = std::max(one.outputs, 3);
         return cases;
       }},
      {.name = "SparseAttention",
       .doc = "Attention of grouped heads to the blocks of keys that a layout lists.",
       .domain = std::string(microsoft),
       .since = 1,
       .inputs = {{"query", any_float},
                  {"key", any_float, optional},
                  {"value", any_float, optional},
                  {"past_key", any_float},
                  {"past_value", any_float},
                  {"block_row_indices", ids},
                  {"block_col_indices", ids},
                  {"total_sequence_length", ids},
                  {"key_total_sequence_lengths", ids},
                  {"cos_cache", any_float, optional},
                  {"sin_cache", any_float, optional}},
       .outputs = {"output", "present_key", "present_value"},
       .attributes = {{"do_rotary", 0},
                      {"kv_num_heads", {}, true},
                      {"num_heads", {}, true},
                      {"rotary_interleaved", 0},
                      {"scale", 0.0},
                      {"sparse_block_size", {}, true}},
       .define = sparse_attention,
       .cases = [=] -> Cases {
         const TensorData rows = int32s({2, 3}, {0, 1, 3, 0, 1, 2}),
                          columns = int32s({2, 3}, {0, 0, 1, 0, 1, -1});
         return {{.name = "two layouts, after a past",
                  .shapes = {{1, 2, 32}, {1, 2, 16}, {1, 2, 16}, {1, 2, 32, 8}, {1, 2, 32, 8}},
                  .attributes = {{"num_heads", 4}, {"kv_num_heads", 2}, {"sparse_block_size", 16}},
                  .inputs = {{}, {}, {}, {}, {}, rows, columns, int32s({}, {20}), numbers({20})}},
                 {.name = "prompt, packed, rotated",
                  .shapes = {{1, 20, 32},
                             none,
                             none,
                             {1, 1, 32, 8},
                             {1, 1, 32, 8},
                             {},
                             {},
                             {},
                             {},
                             {32, 4},
                             {32, 4}},
                  .attributes = {{"num_heads", 2},
                                 {"kv_num_heads", 1},
                                 {"sparse_block_size", 16},
                                 {"do_rotary", 1}},
                  .inputs = {{}, {}, {}, {}, {}, rows, columns, int32s({}, {20}), numbers({20})}}};
       }},
  };
}

}  // namespace gossamer::ops
