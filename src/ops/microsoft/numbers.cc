// Small operators of ONNX Runtime's domain: sums and products of integers, distances, hashes,
// packed weights, packed masks.
#include <limits>

#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/functions.h"
#include "ops/microsoft/fused.h"
#include "ops/nn/matmul.h"
#include "ops/nn/quantize.h"
#include "ops/reshape_index.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Expr word(int64_t value) { return ir::constant_int(DType::u32, value); }

Result<Tensor> as_type(Builder& b, const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return b.compute("as_type", dtype, x.shape(), [&](Point p) { return ir::cast(dtype, x.at(p)); });
}

// Products of 16 bits in 32, unsigned where both are.
Result<> matmul_integer_16(Builder& b) {
  const bool natural = b.input(0).dtype() == DType::u16 && b.input(1).dtype() == DType::u16;
  const DType dtype = natural ? DType::u32 : DType::i32;
  GS_ASSIGN(const Tensor x, as_type(b, b.input(0), dtype));
  GS_ASSIGN(const Tensor y, as_type(b, b.input(1), dtype));
  GS_ASSIGN(Tensor product, matrix_product(b, "matmul_integer_16", x, y, dtype, {}));
  b.output(0, product);
  return {};
}

Result<> mul_integer(Builder& b) {
  GS_TRY(one_type(b, {0, 1, 2, 3}));
  GS_ASSIGN(const Tensor x, centered(b, "mul_integer.a", b.input(0), b.input(1), -1));
  GS_ASSIGN(const Tensor y, centered(b, "mul_integer.b", b.input(2), b.input(3), -1));
  GS_ASSIGN(Tensor product, b.call1("Mul", {x, y}));
  b.output(0, product);
  return {};
}

Result<> sum_integer(Builder& b) {
  const bool natural = b.input(0).dtype() == DType::u8;
  GS_ASSIGN(const Tensor x, as_type(b, b.input(0), natural ? DType::u32 : DType::i32));
  Numbers axes = b.integers("axes");
  Tensor over;
  if (!axes.empty()) over = b.constant(int64s({static_cast<int64_t>(axes.size())}, axes));
  GS_ASSIGN(Tensor sum, b.call1("ReduceSum", {x, over}, passed_on(b, {"keepdims"})));
  b.output(0, sum);
  return {};
}

Result<> is_all_finite(Builder& b) {
  const bool only_infinite = b.integer("isinf_only") != 0, only_nan = b.integer("isnan_only") != 0;
  if (only_infinite && only_nan) return b.error("`isinf_only` and `isnan_only` exclude each other");
  Tensor all;
  for (int i = 0; i < b.input_count(); ++i) {
    const Tensor& x = b.input(i);
    if (!x) return b.error(cat("input ", i, " is missing"));
    const Tensor flat = b.reshape("finite.flat", x, {b.simplify(product(x.shape()))});
    const Tensor before = all;
    all = b.reduce(
        "finite", Builder::Join::min, DType::i32, {}, {flat.dim(0)},
        [&](Point, Point r) {
          const Expr value = flat({r[0]});
          const Expr bad = only_infinite ? ir::is_inf(value)
                           : only_nan    ? ir::is_nan(value)
                                         : Expr(ir::is_inf(value) || ir::is_nan(value));
          return ir::select(bad, ir::zero(DType::i32), ir::constant_int(DType::i32, 1));
        },
        [&](Point, Expr good) {
          const Expr one = ir::min(std::move(good), 1.0);
          return before ? ir::min(one, before({})) : one;
        });
  }
  b.output(0, b.compute("finite.all", DType::boolean, {}, [&](Point) { return all({}) != 0.0; }));
  return {};
}

// Euclidean distances of all pairs of rows.
Result<> distances(Builder& b) {
  const std::string metric = b.text("metric");
  const bool squared = metric == "sqeuclidean";
  if (!squared && metric != "euclidean") {
    return b.error(cat("`metric` is \"", metric, "\""), "euclidean and sqeuclidean are defined");
  }
  GS_TRY(same_types(b));
  const Tensor &x = b.input(0), &y = b.input(1);
  if (x.rank() != 2 || y.rank() != 2) return b.error("A and B are matrices");
  GS_TRY(b.require(x.dim(1) == y.dim(1), "rows of A and B differ in length"));
  const DType dtype = x.dtype();
  b.output(0, b.reduce(
                  "distances", Builder::Join::sum, dtype, {x.dim(0), y.dim(0)}, {x.dim(1)},
                  [&](Point p, Point r) {
                    const Expr apart = x({p[0], r[0]}) - y({p[1], r[0]});
                    return apart * apart;
                  },
                  [&](Point, Expr sum) { return squared ? sum : norm_of(sum); }));
  return {};
}

Result<> gather_nd(Builder& b) {
  GS_ASSIGN(const Tensor indices, as_type(b, b.input(1), DType::i64));
  GS_ASSIGN(Tensor y, b.call1("GatherND", {b.input(0), indices}));
  b.output(0, y);
  return {};
}

Result<> embedding(Builder& b) {
  GS_ASSIGN(Tensor y, b.call1("Gather", {b.input(0), b.input(1)}, {{"axis", 0}}));
  b.output(0, y);
  return {};
}

Result<> gated_add(Builder& b) {
  GS_TRY(same_types(b));
  GS_TRY(has_shape(b, 1, b.input(0).shape()));
  GS_TRY(broadcasts_to(b, 2, b.input(0).shape()));
  const DType dtype = b.input(0).dtype(), wide = accumulator(dtype);
  return elementwise(b, dtype, [&](std::span<const Expr> x) {
    const Expr product = ir::cast(dtype, ir::cast(wide, x[1]) * ir::cast(wide, x[2]));
    return ir::cast(dtype, ir::cast(wide, x[0]) + ir::cast(wide, product));
  });
}

// MurmurHash3_x86_32 (Appleby): blocks of four bytes, then what is left of them, then the length.
struct Murmur {
  static Expr turned(const Expr& x, int by) {
    return ir::binary(ir::BinaryOp::bit_or, ir::binary(ir::BinaryOp::shl, x, word(by)),
                      ir::binary(ir::BinaryOp::shr, x, word(32 - by)));
  }
  static Expr mixed(const Expr& x, const Expr& y) {
    return ir::binary(ir::BinaryOp::bit_xor, x, y);
  }
  static Expr scrambled(const Expr& block) {
    return turned(block * word(0xcc9e2d51), 15) * word(0x1b873593);
  }
  static Expr with_block(const Expr& hash, const Expr& block) {
    return turned(mixed(hash, scrambled(block)), 13) * word(5) + word(0xe6546b64);
  }
  static Expr finished(Expr hash, const Expr& length) {
    const auto folded = [](const Expr& x, int by) {
      return mixed(x, ir::binary(ir::BinaryOp::shr, x, word(by)));
    };
    hash = folded(mixed(hash, length), 16) * word(0x85ebca6b);
    return folded(folded(hash, 13) * word(0xc2b2ae35), 16);
  }
};

// The words of a number, the low one first.
std::vector<Expr> words_of(const Expr& x) {
  const DType type = x->type.dtype;
  if (ir::bit_width(type) == 32) return {ir::bitcast(DType::u32, x)};
  if (type == DType::f64) {
    const Expr bits = ir::bitcast(DType::u64, x);
    const Expr high = ir::binary(ir::BinaryOp::shr, bits, ir::constant_int(DType::u64, 32));
    return {ir::cast(DType::u32, bits), ir::cast(DType::u32, high)};
  }
  // Twice 16 bits: of a target whose integers are of 32 that is their sign.
  const Expr half = ir::constant_int(type, 65536);
  const Expr high =
      ir::is_signed_int(type) ? ir::floordiv(ir::floordiv(x, half), half) : Expr(x / half / half);
  return {ir::cast(DType::u32, x), ir::cast(DType::u32, high)};
}

Result<Tensor> hash_of_texts(Builder& b, const Tensor& x, const Expr& seed) {
  const auto byte = [&](Point p, const Expr& place) {
    std::vector<Expr> at(p.begin(), p.end());
    at.push_back(place);
    const Expr there = place < x.width() && place < as_index(x.all_lengths().at(p));
    return ir::select(there, ir::cast(DType::u32, x.all_bytes().at(at)), word(0));
  };
  const auto block = [&](Point p, const Expr& number) {
    Expr all = word(0);
    for (int i = 0; i < 4; ++i) {
      const Expr place = b.simplify(number * 4.0 + static_cast<double>(i));
      all = ir::binary(ir::BinaryOp::bit_or, all,
                       ir::binary(ir::BinaryOp::shl, byte(p, place), word(8L * i)));
    }
    return all;
  };
  const auto length = [&](Point p) { return as_index(x.all_lengths().at(p)); };
  const Tensor start = b.compute("hash.start", DType::u32, x.shape(), [&](Point) { return seed; });
  const auto body = [&](const Expr& round,
                        std::span<const Tensor> states) -> Result<Builder::Round> {
    const Tensor next = b.compute("hash.block", DType::u32, x.shape(), [&](Point p) {
      const Expr hash = states[0].at(p), whole = round * 4.0 + 4.0 <= length(p);
      const Expr part = round * 4.0 < length(p), read = block(p, round);
      return ir::select(whole, Murmur::with_block(hash, read),
                        ir::select(part, Murmur::mixed(hash, Murmur::scrambled(read)), hash));
    });
    return Builder::Round{{next}, {}};
  };
  const Expr rounds = b.simplify(ir::floordiv(x.width() + 3.0, 4));
  GS_ASSIGN(const Builder::Round made, b.loop("hash", rounds, std::span(&start, 1), body));
  const Tensor hash = made.states[0];
  return b.compute("hash.finished", DType::u32, x.shape(), [&](Point p) {
    return Murmur::finished(hash.at(p), ir::cast(DType::u32, x.all_lengths().at(p)));
  });
}

Result<> murmur_hash(Builder& b) {
  const Tensor& x = b.input(0);
  const Expr seed = word(static_cast<int64_t>(static_cast<uint32_t>(b.integer("seed"))));
  Tensor hash;
  if (x.dtype() == DType::string) {
    GS_ASSIGN(hash, hash_of_texts(b, x, seed));
  } else {
    hash = b.compute("hash", DType::u32, x.shape(), [&](Point p) {
      Expr value = seed;
      const std::vector<Expr> words = words_of(x.at(p));
      for (const Expr& block : words) value = Murmur::with_block(value, block);
      return Murmur::finished(value, word(4 * static_cast<int64_t>(words.size())));
    });
  }
  if (b.integer("positive") == 0) {
    const Tensor natural = hash;
    hash = b.compute("hash.signed", DType::i32, x.shape(),
                     [&](Point p) { return ir::bitcast(DType::i32, natural.at(p)); });
  }
  b.output(0, hash);
  return {};
}

// Dropout whose mask has a bit an element, 32 in a word.
Result<> bitmask_dropout(Builder& b, std::string_view op, int inputs) {
  std::vector<Tensor> given;
  for (int i = 0; i < inputs; ++i) given.push_back(b.input(i));
  GS_ASSIGN(std::vector<Tensor> made,
            b.call(op, std::move(given), passed_on(b, {"seed"}), b.wants(1) ? 2 : 1));
  b.output(0, made[0]);
  if (!b.wants(1)) return {};
  const Tensor& mask = made[1];
  const Expr size = b.simplify(product(mask.shape()));
  const Tensor flat = b.reshape("bitmask.flat", mask, {size});
  b.output(1, b.reduce("bitmask", Builder::Join::sum, DType::u32, {ir::floordiv(size + 31.0, 32)},
                       {ir::index(32)}, [&](Point p, Point r) {
                         const Expr at = b.simplify(p[0] * 32.0 + r[0]);
                         const Expr bit =
                             ir::binary(ir::BinaryOp::shl, word(1), ir::cast(DType::u32, r[0]));
                         const Expr kept = ir::select(at < size, flat({at}), ir::boolean(false));
                         return ir::select(kept, bit, word(0));
                       }));
  return {};
}

// Weights of four bits of the tables of bitsandbytes, two a byte, the high one first, and the
// greatest magnitude of each block.
Result<> matmul_of_table(Builder& b) {
  const Tensor &x = b.input(0), &data = b.input(1), &largest = b.input(2);
  GS_TRY(one_type(b, {0, 2}));
  const int64_t inner = b.integer("K"), columns = b.integer("N"), block = b.integer("block_size"),
                kind = b.integer("quant_type");
  if (inner < 1 || columns < 1 || block < 16 || (block & (block - 1)) != 0)
    return b.error("`K` and `N` are positive, `block_size` a power of two from 16 on");
  if (kind != 0 && kind != 1) return b.error(cat("`quant_type` is ", kind), "it is 0 or 1");
  const int64_t count = inner * columns;
  GS_TRY(has_shape(b, 1, {ir::index((count + 1) / 2)}));
  GS_TRY(has_shape(b, 2, {ir::index((count + block - 1) / block)}));
  const std::vector<float> fp4 = {
      0.0f,  5.208333333e-03f,  0.66666667f,  1.0f,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
      -0.0f, -5.208333333e-03f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
  const std::vector<float> nf4 = {-1.0f,
                                  -0.6961928009986877f,
                                  -0.5250730514526367f,
                                  -0.39491748809814453f,
                                  -0.28444138169288635f,
                                  -0.18477343022823334f,
                                  -0.09105003625154495f,
                                  0.0f,
                                  0.07958029955625534f,
                                  0.16093020141124725f,
                                  0.24611230194568634f,
                                  0.33791524171829224f,
                                  0.44070982933044434f,
                                  0.5626170039176941f,
                                  0.7229568362236023f,
                                  1.0f};
  const Tensor table = b.constant(floats({16}, kind == 0 ? fp4 : nf4));
  const bool turned = b.integer("transB") != 0;
  const DType wide = accumulator(x.dtype());
  // [K, N] or, not turned, [N, K].
  const Shape shape = turned ? Shape{ir::index(inner), ir::index(columns)}
                             : Shape{ir::index(columns), ir::index(inner)};
  const Tensor weights = b.compute("matmul_4_bits.weights", x.dtype(), shape, [&](Point p) {
    const Expr at = turned ? b.simplify(p[1] * static_cast<double>(inner) + p[0])
                           : b.simplify(p[0] * static_cast<double>(inner) + p[1]);
    const Expr byte = ir::cast(DType::i32, data({b.simplify(ir::floordiv(at, 2))}));
    const Expr odd = ir::floormod(at, 2) == 1.0;
    const Expr code = ir::select(odd, ir::floormod(byte, 16), ir::floordiv(byte, 16));
    const Expr scale = ir::cast(wide, largest({b.simplify(ir::floordiv(at, block))}));
    return ir::cast(x.dtype(), ir::cast(wide, table({as_index(code)})) * scale);
  });
  GS_ASSIGN(Tensor product, b.call1("MatMul", {x, weights}));
  b.output(0, product);
  return {};
}

}  // namespace

std::vector<OpDef> microsoft_number_family() {
  const std::string ms(microsoft);
  const auto optional = InputDef::optional;
  const TypeSet bytes = only(DType::u8) | only(DType::i8),
                halves = only(DType::i16) | only(DType::u16);
  const std::vector<AttributeDef> seed = {{"seed", {}}};
  return {
      {.name = "MatMulInteger16",
       .doc = "Product of 16-bit matrices in 32 bits.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", halves}, {"B", halves}},
       .define = matmul_integer_16,
       .cases = [] -> Cases {
         return {{.name = "signed",
                  .shapes = {{3, 4}, {4, 2}},
                  .dtype = DType::i16,
                  .low = -300,
                  .high = 300},
                 {.name = "unsigned",
                  .shapes = {{2, 3, 4}, {4, 2}},
                  .dtype = DType::u16,
                  .low = 0,
                  .high = 30000}};
       }},
      {.name = "MulInteger",
       .doc = "The product of 8-bit integers less their zero points, in 32 bits.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", bytes},
                  {"A_zero_point", bytes, optional},
                  {"B", bytes},
                  {"B_zero_point", bytes, optional}},
       .outputs = {"C"},
       .define = mul_integer,
       .cases = [] -> Cases {
         return {{.name = "broadcast",
                  .shapes = {{3, 4}, {}, {4}},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255}};
       }},
      {.name = "ReduceSumInteger",
       .doc = "The sum of 8-bit integers over axes, in 32 bits.",
       .domain = ms,
       .since = 1,
       .inputs = {{"data", bytes}},
       .outputs = {"reduced"},
       .attributes = {{"axes", Numbers{}}, {"keepdims", 1}},
       .define = sum_integer,
       .cases = [] -> Cases {
         return {{.name = "rows",
                  .shapes = {{3, 5, 2}},
                  .attributes = {{"axes", Numbers{1}}, {"keepdims", 0}},
                  .dtype = DType::i8,
                  .low = -128,
                  .high = 127}};
       }},
      {.name = "IsAllFinite",
       .doc = "Whether no element of any input is infinite or no number.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input", any_float, InputDef::variadic}},
       .outputs = {"output"},
       .attributes = {{"isinf_only", 0}, {"isnan_only", 0}},
       .define = is_all_finite,
       .cases = [] -> Cases {
         return {{.name = "two", .shapes = {{3, 4}, {5}}},
                 {.name = "infinite",
                  .inputs = {floats({3}, {1, std::numeric_limits<float>::infinity(), 2})}}};
       }},
      {.name = "CDist",
       .doc = "Euclidean distances, or their squares, of all pairs of rows.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", any_float}, {"B", any_float}},
       .outputs = {"C"},
       .attributes = {{"metric", "sqeuclidean"}},
       .define = distances,
       .cases = [] -> Cases {
         return {{.name = "squares", .shapes = {{3, 4}, {5, 4}}},
                 {.name = "euclidean",
                  .shapes = {{3, 4}, {5, 4}},
                  .attributes = {{"metric", "euclidean"}}}};
       }},
      {.name = "GatherND",
       .doc = "Slices of data at index tuples.",
       .domain = ms,
       .since = 1,
       .inputs = {{"data", any_element}, {"indices", integer_index}},
       .outputs = {"output"},
       .define = gather_nd,
       .cases = [] -> Cases {
         return {{.name = "rows", .shapes = {{2, 2, 3}}, .inputs = {{}, int32s({2, 1}, {1, 0})}}};
       }},
      {.name = "TorchEmbedding",
       .doc = "Rows of a table at indices.",
       .domain = ms,
       .since = 1,
       .inputs = {{"weight", any_number},
                  {"indices", only(DType::i64)},
                  {"padding_idx", only(DType::i64), optional},
                  {"scale_grad_by_freq", boolean_only, optional}},
       .define = embedding,
       .cases = [] -> Cases {
         return {{.name = "two", .shapes = {{5, 3}}, .inputs = {{}, int64s({2}, {4, 0})}}};
       }},
      {.name = "GatedAdd",
       .doc = "X + Y * gate, a gate a row.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"Y", any_float}, {"gate", any_float}},
       .outputs = {"output"},
       .define = gated_add,
       .cases = [] -> Cases {
         return {{.name = "rows", .shapes = {{2, 3, 4}, {2, 3, 4}, {2, 3, 1}}}};
       }},
      {.name = "SampleOp",
       .doc = "The input itself.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_number}},
       .define = [](Builder& b) -> Result<> {
         b.output(0, b.input(0));
         return {};
       },
       .cases = [] -> Cases { return {{.name = "some", .shapes = {{3}}}}; }},
      {.name = "MurmurHash3",
       .doc = "MurmurHash3_x86_32 of the bytes of each element.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", only(DType::i32) | only(DType::u32) | only(DType::i64) | only(DType::u64) |
                            only(DType::f32) | only(DType::f64) | strings_only}},
       .attributes = {{"positive", 1}, {"seed", 0}},
       .define = murmur_hash,
       .cases = [] -> Cases {
         return {
             {.name = "integers",
              .attributes = {{"seed", 7}, {"positive", 0}},
              .inputs = {int32s({3}, {0, -1, 12345})}},
             {.name = "wide integers", .inputs = {int64s({3}, {3, -1, 12345})}},
             {.name = "strings",
              .inputs = {strings({5}, {"", "abc", "hello", "longer than", "quite a lot longer"})}}};
       }},
      {.name = "BitmaskDropout",
       .doc = "Dropout whose mask has a bit an element.",
       .domain = ms,
       .since = 1,
       .inputs = {{"data", any_float},
                  {"ratio", any_float, optional},
                  {"training_mode", boolean_only, optional}},
       .outputs = {"output", "mask"},
       .attributes = seed,
       .define = [](Builder& b) { return bitmask_dropout(b, "Dropout", 3); },
       .cases = [] -> Cases {
         return {{.name = "inference", .shapes = {{5, 9}}},
                 {.name = "training",
                  .shapes = {{4, 10}},
                  .attributes = {{"seed", 3}},
                  .inputs = {{}, floats({}, {0.5f}), booleans({}, {1})}}};
       }},
      {.name = "BitmaskBiasDropout",
       .doc = "BiasDropout whose mask has a bit an element.",
       .domain = ms,
       .since = 1,
       .inputs = {{"data", any_float},
                  {"bias", any_float},
                  {"residual", any_float, optional},
                  {"ratio", any_float, optional},
                  {"training_mode", boolean_only, optional}},
       .outputs = {"output", "mask"},
       .attributes = seed,
       .define = [](Builder& b) { return bitmask_dropout(b, "com.microsoft::BiasDropout", 5); },
       .cases = [] -> Cases { return {{.name = "inference", .shapes = {{5, 9}, {9}, {5, 9}}}}; }},
      {.name = "MatMulBnb4",
       .doc = "A times weights of four bits of a table of bitsandbytes, with a scale a block.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", any_float}, {"B", only(DType::u8)}, {"absmax", any_float}},
       .attributes = {{"K", {}, true},
                      {"N", {}, true},
                      {"block_size", {}, true},
                      {"quant_type", {}, true},
                      {"training_mode", 0},
                      {"transB", 1}},
       .define = matmul_of_table,
       .cases = [] -> Cases {
         return {{.name = "nf4",
                  .shapes = {{2, 3, 8}, {20}, {3}},
                  .attributes = {{"K", 8}, {"N", 5}, {"block_size", 16}, {"quant_type", 1}},
                  .low = 0,
                  .high = 255},
                 {.name = "fp4",
                  .shapes = {{3, 5}, {20}, {3}},
                  .attributes =
                      {{"K", 8}, {"N", 5}, {"block_size", 16}, {"quant_type", 0}, {"transB", 0}},
                  .low = 0,
                  .high = 255}};
       }},
  };
}

}  // namespace gossamer::ops
