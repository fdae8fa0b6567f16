// Whole small kernels as the pipeline hands them over: control flow, private memory, guards, 16-bit
// floats, functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "codegen/wasm/emit.h"
#include "codegen/wasm/run_module.h"
#include "ir/build.h"
#include "ir/scalar.h"
#include "ir/simplify.h"
#include "passes/legalize_types.h"
#include "passes/lower_math.h"

namespace gossamer::codegen::wasm {
namespace {

using namespace ir;

Expr at(const Buffer& buffer, Expr element, int lanes = 1) {
  return load(buffer, {ramp(std::move(element), 1, lanes)});
}
Stmt put(const Buffer& buffer, Expr element, Expr value) {
  const int lanes = value->type.lanes;
  return store(buffer, {ramp(std::move(element), 1, lanes)}, std::move(value));
}
Buffer floats(std::string name, int64_t count, Scope scope = Scope::global) {
  return buffer(std::move(name), DType::f32, {index(count)}, scope);
}
Stmt grid(const Var& var, int64_t extent, Stmt body) {
  return loop(var, index(extent), LoopKind::grid, std::move(body));
}
Stmt serial(const Var& var, Expr extent, Stmt body) {
  return loop(var, std::move(extent), LoopKind::serial, std::move(body));
}

std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  for (size_t k = 0; k < count; ++k)
    values[k] = static_cast<float>((k * 37 + 11) % 101) * 0.125f - 4.0f;
  return values;
}

std::vector<float> run_one(const Kernel& kernel, std::vector<Memory> buffers,
                           std::vector<int32_t> scalars, int64_t range, bool relaxed = false) {
  std::vector<Job> jobs = {{"k0", std::move(buffers), std::move(scalars), range}};
  run_jobs(emit_module({&kernel, 1}, nullptr, {relaxed, 1}), jobs);
  return values_of<float>(jobs[0].buffers.back());
}

// Rows of a width known only at run time, cells of a private accumulator.
TEST(EmitLowered, RowSumsOfDynamicShape) {
  const Buffer in = floats("in", 1), out = floats("out", 1), acc = floats("acc", 1, Scope::priv);
  const Var rows = var("rows"), width = var("width"), g = var("g"), k = var("k");
  const Stmt body = block(
      {put(acc, index(0), constant(DType::f32, 0)),
       serial(k, width,
              put(acc, index(0), at(acc, index(0)) + at(in, Expr(g) * Expr(width) + Expr(k)))),
       put(out, g, at(acc, index(0)))});
  const Kernel kernel{"sums",
                      {{in, false}, {out, true}},
                      {rows, width},
                      loop(g, rows, LoopKind::grid, alloc(acc, body))};
  for (int32_t w : {0, 1, 7}) {
    const auto values = numbers(35);
    const auto got = run_one(kernel, {memory_of(values), Memory(5 * 4)}, {5, w}, 5);
    const auto row = static_cast<size_t>(w);
    for (size_t r = 0; r < 5; ++r) {
      float sum = 0;
      for (size_t c = 0; c < row; ++c) sum += values[r * row + c];
      EXPECT_EQ(got[r], sum) << w;
    }
  }
}

// A window that hangs over both ends: loads that must not happen, through negative offsets.
TEST(EmitLowered, GuardedWindow) {
  const int64_t n = 20;
  const Buffer in = floats("in", n), out = floats("out", n), acc = floats("acc", 1, Scope::priv);
  const Var g = var("g"), k = var("k");
  const Expr where = Expr(g) + Expr(k) - index(3);
  const Expr inside = (where >= index(0)) && (where < index(n));
  const Expr taken = select(inside, at(in, where), constant(DType::f32, 0));
  const Stmt body = block({put(acc, index(0), constant(DType::f32, 0)),
                           serial(k, index(7), put(acc, index(0), at(acc, index(0)) + taken)),
                           put(out, g, at(acc, index(0)))});
  const Kernel kernel{"window", {{in, false}, {out, true}}, {}, grid(g, n, alloc(acc, body))};
  const auto values = numbers(n);
  const auto got = run_one(kernel, {memory_of(values), Memory(n * 4)}, {}, n);
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int64_t j = std::max<int64_t>(0, i - 3); j < std::min(n, i + 4); ++j)
      sum += values[static_cast<size_t>(j)];
    EXPECT_EQ(got[static_cast<size_t>(i)], sum);
  }
}

// A choice between what is not loaded yet branches; between what its condition loaded, as a merge
// does it, it does not: data would decide where the processor goes on.
TEST(EmitLowered, ChoicesOfLoadedValuesDoNotBranch) {
  const int64_t n = 20;
  const Buffer a = floats("a", n), b = floats("b", n), out = floats("out", n);
  const Var g = var("g");
  for (const bool loaded : {true, false}) {
    const Expr of_a = at(a, g), of_b = at(b, g);
    const Expr least =
        loaded ? select(of_a < of_b, of_a, of_b) : select(Expr(g) < index(7), of_a, of_b);
    const Kernel kernel{
        "least", {{a, false}, {b, false}, {out, true}}, {}, grid(g, n, put(out, g, least))};
    const auto code = emit_module({&kernel, 1}, nullptr, {false, 1});
    const std::array<uint8_t, 2> if_of_f32{0x04, 0x7d};
    const bool branches = !std::ranges::search(code, if_of_f32, {}, [](auto byte) {
                             return static_cast<uint8_t>(byte);
                           }).empty();
    EXPECT_EQ(branches, !loaded);
    std::vector<float> x = numbers(n), y(x.rbegin(), x.rend());
    const auto got = run_one(kernel, {memory_of(x), memory_of(y), Memory(n * 4)}, {}, n);
    for (size_t i = 0; i < n; ++i)
      EXPECT_EQ(got[i], loaded ? std::min(x[i], y[i]) : i < 7 ? x[i] : y[i]);
  }
}

// The same with lanes: each may be out of bounds by itself, far below address 0.
TEST(EmitLowered, GuardedLanes) {
  const int64_t n = 20;
  const Buffer in = floats("in", n), out = floats("out", n);
  const Var g = var("g");
  const Expr where = ramp(Expr(g) * index(4), 1, 4) - broadcast(index(1000002), 4);
  const Expr shifted = ramp(Expr(g) * index(4) - index(2), 1, 4);
  const Expr value = select(shifted >= broadcast(index(0), 4), load(in, {shifted}),
                            constant(Type(DType::f32, 4), -1));
  const Expr nothing =
      select(where >= broadcast(index(0), 4), load(in, {where}), constant(Type(DType::f32, 4), 1));
  const Kernel kernel{"lanes",
                      {{in, false}, {out, true}},
                      {},
                      grid(g, n / 4, put(out, Expr(g) * index(4), value + nothing))};
  const auto values = numbers(n);
  const auto got = run_one(kernel, {memory_of(values), Memory(n * 4)}, {}, n / 4);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i < 2 ? 0 : values[i - 2] + 1);
}

// A scalar condition over vectors of several pieces.
TEST(EmitLowered, BranchedVectors) {
  const int64_t n = 8;
  const Buffer in = floats("in", n * 8), out = floats("out", n * 8);
  const Var g = var("g");
  const Expr wanted = broadcast(Expr(g) < index(5), 8);
  const Expr value =
      select(wanted, load(in, {ramp(Expr(g) * index(8), 1, 8)}), constant(Type(DType::f32, 8), 9));
  const Kernel kernel{"branched",
                      {{in, false}, {out, true}},
                      {},
                      grid(g, n, put(out, Expr(g) * index(8), value + value))};
  const auto values = numbers(n * 8);
  const auto got = run_one(kernel, {memory_of(values), Memory(n * 32)}, {}, n);
  for (size_t i = 0; i < n * 8; ++i) EXPECT_EQ(got[i], i < 40 ? 2 * values[i] : 18);
}

// Private memory with indices known only at run time, in two copies; shifted onto itself.
TEST(EmitLowered, PrivateMemory) {
  const int64_t n = 6;
  const Buffer in = floats("in", n * 16), out = floats("out", n * 16),
               tmp = floats("tmp", 20, Scope::priv);
  const Var g = var("g"), k = var("k"), m = var("m");
  const Stmt body = block(
      {serial(k, index(20), put(tmp, k, cast(DType::f32, Expr(k)))),
       serial(m, index(16), put(tmp, index(15) - Expr(m), at(in, Expr(g) * index(16) + Expr(m)))),
       put(tmp, index(1), load(tmp, {ramp(index(0), 1, 8)})),
       serial(k, index(4),
              put(out, Expr(g) * index(16) + Expr(k) * index(4), at(tmp, Expr(k) * index(4), 4)))});
  const Kernel kernel{"private", {{in, false}, {out, true}}, {}, grid(g, n, alloc(tmp, body))};
  const auto values = numbers(n * 16);
  const auto got = run_one(kernel, {memory_of(values), Memory(n * 64)}, {}, n);
  for (size_t r = 0; r < n; ++r) {
    std::vector<float> cells(16);
    for (size_t c = 0; c < 16; ++c) cells[15 - c] = values[r * 16 + c];
    for (size_t c = 8; c > 0; --c) cells[c] = cells[c - 1];
    for (size_t c = 0; c < 16; ++c) EXPECT_EQ(got[r * 16 + c], cells[c]) << r << " " << c;
  }
}

// Swapping halves of a register tile: all reads before all writes. And single lanes of it.
TEST(EmitLowered, RegisterTiles) {
  const Buffer in = floats("in", 8), out = floats("out", 12),
               tile = floats("tile", 12, Scope::priv);
  const Var g = var("g");
  std::vector<Expr> swapped;
  const Expr old = load(tile, {ramp(index(0), 1, 8)});
  for (int k : {4, 5, 6, 7, 0, 1, 2, 3}) swapped.push_back(lane(old, index(k)));
  const Stmt body = block({put(tile, index(0), load(in, {ramp(index(0), 1, 8)})),
                           put(tile, index(0), make_vector(swapped)),
                           put(tile, index(8), constant(Type(DType::f32, 4), 5)),
                           put(tile, index(9), at(tile, index(2)) * 2),
                           put(out, index(0), load(tile, {ramp(index(0), 1, 12)}))});
  const Kernel kernel{"tiles", {{in, false}, {out, true}}, {}, grid(g, 1, alloc(tile, body))};
  const auto v = numbers(8);
  const auto got = run_one(kernel, {memory_of(v), Memory(48)}, {}, 1);
  const std::vector<float> wanted = {v[4], v[5], v[6], v[7],     v[0], v[1],
                                     v[2], v[3], 5,    2 * v[6], 5,    5};
  EXPECT_EQ(got, wanted);
}

// A loop that ends by what it computes, branches, and a value that is read before it changes.
TEST(EmitLowered, WhileAndBranches) {
  const Buffer in = buffer("in", DType::i32, {index(10)}),
               out = buffer("out", DType::i32, {index(10)});
  const Buffer n = buffer("n", DType::i32, {index(1)}, Scope::priv),
               steps = buffer("steps", DType::i32, {index(1)}, Scope::priv);
  const Var g = var("g"), old = var("old", DType::i32);
  const Expr now = at(n, index(0));
  const Stmt odd = block(
      {put(n, index(0), Expr(old) * 3 + 1.0), put(steps, index(0), at(steps, index(0)) + 1.0)});
  const Stmt even = put(n, index(0), floordiv(Expr(old), 2));
  const Stmt step = let(old, now,
                        block({branch(floormod(Expr(old), 2) == 1.0, odd, even),
                               put(steps, index(0), at(steps, index(0)) + 1.0)}));
  const Stmt body = block({put(n, index(0), at(in, g)), put(steps, index(0), zero(DType::i32)),
                           while_loop(now > 1.0, step), put(out, g, at(steps, index(0)))});
  const Kernel kernel{
      "collatz", {{in, false}, {out, true}}, {}, grid(g, 10, alloc(n, alloc(steps, body)))};
  std::vector<int32_t> start;
  for (int32_t k = 1; k <= 10; ++k) start.push_back(k * 7 - 6);
  std::vector<Job> jobs = {{"k0", {memory_of(start), Memory(40)}, {}, 10}};
  run_jobs(emit_module({&kernel, 1}, nullptr, {false, 1}), jobs);
  const auto got = values_of<int32_t>(jobs[0].buffers[1]);
  for (size_t k = 0; k < 10; ++k) {
    int32_t value = start[k], count = 0;
    while (value > 1) {
      if (value % 2 == 1)
        value = value * 3 + 1, ++count;
      else
        value /= 2;
      ++count;
    }
    EXPECT_EQ(got[k], count);
  }
}

// Gathers, scatters and strides.
TEST(EmitLowered, GathersAndScatters) {
  const Buffer in = floats("in", 32), where = buffer("where", DType::i32, {index(16)}),
               out = floats("out", 32);
  const Var g = var("g");
  std::vector<Expr> lanes;
  for (int k = 0; k < 4; ++k) {
    lanes.push_back(at(in, cast(DType::index, at(where, Expr(g) * index(4) + index(k)))));
  }
  const Stmt body = block({store(out, {ramp(Expr(g) * index(8), 2, 4)}, make_vector(lanes)),
                           store(out, {ramp(Expr(g) * index(8) + index(1), 2, 4)},
                                 load(in, {ramp(index(24) - Expr(g) * index(8), 2, 4)}))});
  const Kernel kernel{"gather", {{in, false}, {where, false}, {out, true}}, {}, grid(g, 4, body)};
  const auto values = numbers(32);
  std::vector<int32_t> picks;
  for (int32_t k = 0; k < 16; ++k) picks.push_back((k * 13 + 5) % 32);
  const auto got = run_one(kernel, {memory_of(values), memory_of(picks), Memory(128)}, {}, 4);
  for (size_t k = 0; k < 16; ++k) {
    EXPECT_EQ(got[2 * k], values[static_cast<size_t>(picks[k])]);
    EXPECT_EQ(got[2 * k + 1], values[24 - k / 4 * 8 + k % 4 * 2]);
  }
}

// Digits of the item are counted from whatever item a range begins with.
TEST(EmitLowered, DigitsOfOpenExtents) {
  const Buffer out = floats("out", 300);
  const Var item = var("item"), n = var("n"), i = var("i"), j = var("j"), k = var("k");
  const Expr columns = Expr(n) + index(2);
  const Expr number = Expr(i) * index(100) + Expr(j) * index(10) + Expr(k);
  const Stmt body =
      let(i, floordiv(item, ir::simplify(columns * index(3))),
          let(j, floormod(floordiv(item, columns), 3),
              let(k, floormod(item, columns), store(out, {Expr(item)}, cast(DType::f32, number)))));
  const Kernel kernel{"digits", {{out, true}}, {n}, grid(item, 300, body)};
  for (const int32_t rows : {0, 1, 5}) {
    const auto got = run_one(kernel, {Memory(1200)}, {rows}, 300);
    for (int64_t at = 0; at < 300; ++at) {
      const int64_t wide = rows + 2;
      const int64_t wanted = at / (wide * 3) * 100 + at / wide % 3 * 10 + at % wide;
      EXPECT_EQ(got[static_cast<size_t>(at)], static_cast<float>(wanted));
    }
  }
}

// Loads of strides read nothing but what is between their first and their last lane.
TEST(EmitLowered, StridedLoads) {
  for (const int64_t stride : {-3, -2, -1, 2, 3, 4}) {
    const int64_t span = 7 * std::abs(stride) + 1;
    const Buffer in = floats("in", 2 * span), out = floats("out", 16);
    const Var g = var("g");
    const Expr first = Expr(g) * index(span) + index(stride < 0 ? span - 1 : 0);
    const Kernel kernel{
        "strided",
        {{in, false}, {out, true}},
        {},
        grid(g, 2, put(out, Expr(g) * index(8), load(in, {ramp(first, stride, 8)})))};
    const auto values = numbers(static_cast<size_t>(2 * span));
    const auto got = run_one(kernel, {memory_of(values), Memory(64)}, {}, 2);
    for (int64_t k = 0; k < 16; ++k) {
      const int64_t at = k / 8 * span + (stride < 0 ? span - 1 : 0) + k % 8 * stride;
      EXPECT_EQ(got[static_cast<size_t>(k)], values[static_cast<size_t>(at)]) << stride;
    }
  }
}

// Parts of bytes as floats, sixteen at a time.
TEST(EmitLowered, FloatsOfSmallIntegers) {
  constexpr int lanes = 16;
  const Buffer in = buffer("in", DType::u8, {index(256)}), out = floats("out", 3 * 256);
  const Var g = var("g");
  const Expr first = Expr(g) * index(lanes);
  const Expr byte = cast(Type(DType::i32, lanes), at(in, first, lanes));
  const auto all = [](double value) { return constant(Type(DType::i32, lanes), value); };
  const auto number = [&](const Expr& bits, int mask) {
    return cast(Type(DType::f32, lanes), binary(BinaryOp::bit_and, bits, all(mask)));
  };
  const Expr eight = constant(Type(DType::f32, lanes), 8);
  const Stmt body =
      block({put(out, first, number(byte, 15) - eight),
             put(out, first + index(256), number(binary(BinaryOp::shr, byte, all(4)), 15)),
             put(out, first + index(512), number(binary(BinaryOp::shr, byte, all(2)), 7) - eight)});
  std::vector<uint8_t> bytes(256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  const Kernel kernel{"small", {{in, false}, {out, true}}, {}, grid(g, 16, body)};
  const auto got = run_one(kernel, {memory_of(bytes), Memory(3 * 256 * 4)}, {}, 16);
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(got[i], static_cast<float>(i % 16) - 8);
    EXPECT_EQ(got[256 + i], static_cast<float>(i >> 4));
    EXPECT_EQ(got[512 + i], static_cast<float>((i >> 2) % 8) - 8);
  }
}

// 16-bit floats in, one operation, 16-bit floats out.
TEST(EmitLowered, HalfPrecision) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    const int64_t n = 65536;
    const Buffer in = buffer("in", dtype, {index(n)}), out = buffer("out", dtype, {index(n)});
    const Var g = var("g");
    const Expr value = load(in, {ramp(Expr(g) * index(8), 1, 8)});
    const Kernel kernel{"half",
                        {{in, false}, {out, true}},
                        {},
                        grid(g, n / 8, put(out, Expr(g) * index(8), value * 3.0))};
    const auto legal = passes::legalize_types(kernel);
    ASSERT_TRUE(legal);
    std::vector<uint16_t> all(n);
    for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<uint16_t>(k);
    std::vector<Job> jobs = {{"k0", {memory_of(all), Memory(n * 2)}, {}, n / 8}};
    run_jobs(emit_module({&*legal, 1}, nullptr, {true, 1}), jobs);
    const auto got = values_of<uint16_t>(jobs[0].buffers[1]);
    auto number = [&](uint16_t bits) {
      return dtype == DType::f16 ? from_half(bits) : from_bfloat(bits);
    };
    for (size_t k = 0; k < all.size(); ++k) {
      const double wanted = round_to(dtype, round_to(DType::f32, number(all[k]) * 3));
      const double result = number(got[k]);
      EXPECT_TRUE(result == wanted || (std::isnan(result) && std::isnan(wanted)))
          << k << " " << result << " " << wanted;
    }
  }
}

// Lowered functions run as SIMD and as scalars give what they should.
TEST(EmitLowered, Functions) {
  struct Case {
    UnaryOp op;
    double (*oracle)(double);
  };
  const Case cases[] = {{UnaryOp::exp, std::exp},    {UnaryOp::log, std::log},
                        {UnaryOp::tanh, std::tanh},  {UnaryOp::erf, std::erf},
                        {UnaryOp::sin, std::sin},    {UnaryOp::atan, std::atan},
                        {UnaryOp::asinh, std::asinh}};
  const int64_t n = 512;
  std::vector<Kernel> kernels;
  std::vector<Job> jobs;
  std::vector<float> values(n);
  for (size_t k = 0; k < n; ++k) values[k] = (static_cast<float>(k) - 256) * 0.07f;
  for (const Case& test : cases) {
    for (int lanes : {1, 4}) {
      const Buffer in = floats("in", n), out = floats("out", n);
      const Var g = var("g");
      const Expr x = at(in, Expr(g) * index(lanes), lanes);
      const Stmt body = grid(g, n / lanes, put(out, Expr(g) * index(lanes), unary(test.op, x)));
      jobs.push_back({"k" + std::to_string(kernels.size()),
                      {memory_of(values), Memory(n * 4)},
                      {},
                      n / lanes});
      kernels.push_back({"function", {{in, false}, {out, true}}, {}, passes::lower_math(body)});
    }
  }
  for (bool relaxed : {false, true}) {
    run_jobs(emit_module(kernels, nullptr, {relaxed, 1}), jobs);
    for (size_t k = 0; k < jobs.size(); ++k) {
      const auto got = values_of<float>(jobs[k].buffers[1]);
      for (size_t i = 0; i < n; ++i) {
        const double wanted = cases[k / 2].oracle(values[i]);
        if (!std::isfinite(wanted)) {
          EXPECT_TRUE(got[i] == wanted || (std::isnan(got[i]) && std::isnan(wanted)));
        } else {
          EXPECT_NEAR(got[i], wanted, std::max(1e-7, std::abs(wanted) * 3e-7))
              << name_of(cases[k / 2].op) << " " << values[i];
        }
      }
    }
  }
}

TEST(EmitLowered, PlanFunction) {
  const Var h = var("h"), w = var("w");
  PlanFunction plan{{h, w},
                    {Expr(h) * Expr(w), floordiv(Expr(h) + index(7), 8),
                     max(Expr(h), Expr(w)) * index(3) - index(1)}};
  std::vector<Job> jobs = {{"plan", {memory_of(std::vector<double>{17, 5}), Memory(24)}, {}, 1}};
  run_jobs(emit_module({}, &plan, {}), jobs);
  EXPECT_EQ(values_of<double>(jobs[0].buffers[1]), (std::vector<double>{85, 3, 50}));
}

// Sizes beyond 32 and 64 bits: numbers as they are, or NaN where nothing exact is known.
TEST(EmitLowered, PlanHasSizesOf64Bits) {
  const Var n = var("n"), m = var("m");
  const Expr product = Expr(n) * Expr(m);
  PlanFunction plan{{n, m},
                    {product, product * index(4), product * product * product,
                     floordiv(product * product, product), floordiv(product + index(3), 4)}};
  std::vector<Job> jobs = {
      {"plan", {memory_of(std::vector<double>{65536, 65537}), Memory(40)}, {}, 1}};
  run_jobs(emit_module({}, &plan, {}), jobs);
  const std::vector<double> values = values_of<double>(jobs[0].buffers[1]);
  EXPECT_EQ(values[0], 4295032832.0);
  EXPECT_EQ(values[1], 17180131328.0);
  EXPECT_GT(values[2], 0x1p95);
  EXPECT_TRUE(std::isnan(values[3]));
  EXPECT_EQ(values[4], 1073758208.0);
}

// Variables of later segments may be negative, and divisors zero.
TEST(EmitLowered, PlanSegmentsStoreTheirOwnValues) {
  const Var h = var("h"), n = var("n");
  PlanFunction plan{{h, n},
                    {Expr(h) + index(1), floordiv(Expr(h), Expr(n)), floormod(Expr(n), 4),
                     floormod(Expr(h), Expr(n)), max(Expr(n), index(0))},
                    {0, 1, 1, 2, 1}};
  ASSERT_EQ(plan.segment_count(), 3);
  const Memory blank = memory_of(std::vector<double>(5, 99));
  const auto dims = [](double first, double second) {
    return memory_of(std::vector<double>{first, second});
  };
  std::vector<Job> jobs = {{"plan", {dims(17, 0), blank}, {}, 1},
                           {"plan_1", {dims(17, -3), blank}, {}, 1},
                           {"plan_1", {dims(17, 0), blank}, {}, 1},
                           {"plan_2", {dims(17, 0), blank}, {}, 1}};
  run_jobs(emit_module({}, &plan, {}), jobs);
  const auto values = [&](size_t job) { return values_of<double>(jobs[job].buffers[1]); };
  EXPECT_EQ(values(0), (std::vector<double>{18, 99, 99, 99, 99}));
  EXPECT_EQ(values(1), (std::vector<double>{99, -6, 1, 99, 0}));
  EXPECT_EQ(values(2), (std::vector<double>{99, 0, 0, 99, 0}));
  EXPECT_EQ(values(3), (std::vector<double>{99, 99, 99, 0, 99}));
}

TEST(EmitLowered, EqualKernelsShareCode) {
  auto make = [] {
    const Buffer in = floats("in", 8), out = floats("out", 8);
    const Var g = var("g");
    return Kernel{"copy", {{in, false}, {out, true}}, {}, grid(g, 8, put(out, g, at(in, g)))};
  };
  const Kernel one[] = {make()};
  const Kernel two[] = {make(), make()};
  EXPECT_LE(emit_module(two, nullptr, {}).size(), emit_module(one, nullptr, {}).size() + 5);
}

}  // namespace
}  // namespace gossamer::codegen::wasm
