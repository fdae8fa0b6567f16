#include "codegen/llvm/emit.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "codegen/digits.h"
#include "codegen/llvm/test_kernels.h"
#include "ir/build.h"
#include "ir/simplify.h"

namespace gossamer::codegen::llvm_ {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;
using ir::Kernel;
using ir::LoopKind;
using ir::Stmt;
using ir::Type;
using ir::Var;

// Padding: the arm that is not taken lies far outside, before and after the buffer.
TEST(LlvmEmit, LoadsOfArmsNotTakenDoNotTrap) {
  const int64_t far = int64_t{1} << 40;
  const Buffer in = ir::buffer("in", DType::f32, {index(64)}),
               out = ir::buffer("out", DType::f32, {index(64)});
  const Var g = ir::var("g");
  const auto kernel = [&](Stmt body) {
    return Kernel{
        "pad", {{in, false}, {out, true}}, {}, ir::loop(g, index(64), LoopKind::grid, body)};
  };
  const Expr inside =
      ir::binary(ir::BinaryOp::logical_and, Expr(g) >= index(8), Expr(g) < index(16));
  const Expr place = ir::select(inside, Expr(g), Expr(g) + index(far));
  const Expr scalar =
      ir::select(inside, ir::load(in, {Expr(g) + (place - Expr(g))}), ir::zero(Type(DType::f32)));
  // Lanes 0..15 of each group of 16, wanted from 3 to 10.
  const Expr lanes = ir::ramp(index(0), 1, 16);
  const Expr some = ir::binary(ir::BinaryOp::logical_and, lanes >= ir::broadcast(index(3), 16),
                               lanes < ir::broadcast(index(11), 16));
  const Expr vector = ir::select(some, ir::load(in, {ir::ramp(Expr(g) * index(16), 1, 16)}),
                                 ir::zero(Type(DType::f32, 16)));
  const Expr none = ir::select(ir::broadcast(Expr(g) < index(0), 16),
                               ir::load(in, {ir::ramp(Expr(g) - index(far), 1, 16)}),
                               ir::zero(Type(DType::f32, 16)));
  const Stmt vectors = ir::store(out, {ir::ramp(Expr(g) * index(16), 1, 16)}, vector + none);
  Loaded code({kernel(ir::store(out, {Expr(g)}, scalar)), kernel(vectors)});
  std::vector<float> x(64 + 16), y(64 + 16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  code.run(0, 64, {x.data(), y.data()}, 0);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], i >= 8 && i < 16 ? x[i] : 0) << i;
  code.run(0, 4, {x.data(), y.data()}, 1);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], i % 16 >= 3 && i % 16 < 11 ? x[i] : 0) << i;
}

TEST(LlvmEmit, LoopsBranchesAndPrivateMemory) {
  const Buffer in = ir::buffer("in", DType::i32, {index(16)}),
               out = ir::buffer("out", DType::i32, {index(16)}),
               table = ir::buffer("table", DType::i32, {index(16)}, ir::Scope::priv),
               cell = ir::buffer("cell", DType::i32, {index(1)}, ir::Scope::priv);
  const Var g = ir::var("g"), i = ir::var("i"), j = ir::var("j"), n = ir::var("n");
  const auto number = [](int64_t value) { return ir::constant_int(Type(DType::i32), value); };
  // table[i] = in[i] squared where even, else its negative; out[g] = sum of table[0..n) until > 50.
  const Stmt fill = ir::loop(
      i, index(16), LoopKind::serial,
      ir::branch(ir::floormod(ir::load(in, {Expr(i)}), 2) == number(0),
                 ir::store(table, {Expr(i)}, ir::load(in, {Expr(i)}) * ir::load(in, {Expr(i)})),
                 ir::store(table, {Expr(i)}, -ir::load(in, {Expr(i)}))));
  const Stmt sum = ir::loop(
      j, Expr(n), LoopKind::serial,
      ir::store(cell, {index(0)}, ir::load(cell, {index(0)}) + ir::load(table, {Expr(j)})));
  const Stmt shrink =
      ir::while_loop(ir::load(cell, {index(0)}) > number(50),
                     ir::store(cell, {index(0)}, ir::load(cell, {index(0)}) - number(10)));
  const Stmt body = ir::alloc(
      table, ir::alloc(cell, ir::block({fill, ir::store(cell, {index(0)}, number(0)), sum, shrink,
                                        ir::store(out, {Expr(g)}, ir::load(cell, {index(0)}))})));
  Kernel kernel{
      "mixed", {{in, false}, {out, true}}, {n}, ir::loop(g, index(16), LoopKind::grid, body)};
  Loaded code({kernel});
  int32_t x[32], y[32] = {};
  for (int32_t at = 0; at < 16; ++at) x[at] = at;
  for (int64_t length : {0, 1, 5, 16}) {
    int32_t expected = 0;
    for (int32_t at = 0; at < length; ++at) expected += at % 2 == 0 ? at * at : -at;
    while (expected > 50) expected -= 10;
    code.run(2, 5, {x, y, reinterpret_cast<const void*>(length)});
    EXPECT_EQ(y[1], 0);
    EXPECT_EQ(y[2], expected);
    EXPECT_EQ(y[4], expected);
    EXPECT_EQ(y[5], 0);
  }
}

TEST(LlvmEmit, GathersAndStridedVectors) {
  const Buffer in = ir::buffer("in", DType::f32, {index(64)}),
               out = ir::buffer("out", DType::f32, {index(64)});
  const Var g = ir::var("g");
  const Expr spread = ir::ramp(Expr(g), 8, 8);
  std::vector<Expr> lanes;
  for (int lane = 0; lane < 8; ++lane) lanes.push_back(ir::load(in, {Expr(g) + index(8 * lane)}));
  const Stmt body =
      ir::store(out, {spread}, ir::load(in, {spread}) + ir::make_vector(std::move(lanes)));
  Loaded code({Kernel{
      "gather", {{in, false}, {out, true}}, {}, ir::loop(g, index(8), LoopKind::grid, body)}});
  std::vector<float> x(80), y(80);
  for (size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i);
  code.run(0, 8, {x.data(), y.data()});
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], 2 * x[i]);
}

// Where registers have 512 bits, a table of 16 floats gives them.
TEST(LlvmEmit, FloatsOfSmallIntegers) {
  constexpr int lanes = 16;
  const Buffer in = ir::buffer("in", DType::u8, {index(256)}),
               out = ir::buffer("out", DType::f32, {index(3 * 256)});
  const Var g = ir::var("g");
  const Expr first = Expr(g) * index(lanes);
  const auto all = [](int64_t value) {
    return ir::broadcast(ir::constant_int(DType::i32, value), lanes);
  };
  const Expr byte = ir::cast(Type(DType::i32, lanes), ir::load(in, {ir::ramp(first, 1, lanes)}));
  const auto number = [&](const Expr& bits) { return ir::cast(Type(DType::f32, lanes), bits); };
  const Expr eight = ir::constant(Type(DType::f32, lanes), 8);
  const auto store = [&](int part, const Expr& value) {
    return ir::store(out, {ir::ramp(first + index(part * 256), 1, lanes)}, value);
  };
  const Stmt body =
      ir::block({store(0, number(ir::binary(ir::BinaryOp::bit_and, byte, all(15))) - eight),
                 store(1, number(ir::binary(ir::BinaryOp::bit_and,
                                            ir::binary(ir::BinaryOp::shr, byte, all(4)), all(15)))),
                 store(2, number(ir::binary(ir::BinaryOp::bit_and, byte, all(7))) - eight)});
  Loaded code({Kernel{
      "small", {{in, false}, {out, true}}, {}, ir::loop(g, index(16), LoopKind::grid, body)}});
  std::vector<uint8_t> x(256 + 64);
  std::vector<float> y(3 * 256);
  for (size_t i = 0; i < 256; ++i) x[i] = static_cast<uint8_t>(i);
  code.run(0, 16, {x.data(), y.data()});
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(y[i], static_cast<float>(i % 16) - 8);
    EXPECT_EQ(y[256 + i], static_cast<float>(i >> 4));
    EXPECT_EQ(y[512 + i], static_cast<float>(i % 8) - 8);
  }
}

// Digits of the item are counted from whatever item a range begins with, and none is computed for a
// range of nothing, whose extents may be 0.
TEST(LlvmEmit, CountsDigitsOfOpenExtents) {
  const Buffer out = ir::buffer("out", DType::i32, {index(1000)});
  const Var item = ir::var("item"), n = ir::var("n"), m = ir::var("m");
  const Var i = ir::var("i"), j = ir::var("j"), k = ir::var("k"), l = ir::var("l");
  const Expr columns = Expr(m) + index(2);
  const Stmt body = ir::let(
      i, ir::floordiv(item, ir::simplify(Expr(n) * columns * index(3))),
      ir::let(j, ir::floormod(ir::floordiv(item, ir::simplify(columns * index(3))), n),
              ir::let(k, ir::floormod(ir::floordiv(item, columns), 3),
                      ir::let(l, ir::floormod(item, columns),
                              ir::store(out, {Expr(item)},
                                        ir::cast(DType::i32, Expr(i) * index(1000) + Expr(j) * 100 +
                                                                 Expr(k) * 10 + Expr(l)))))));
  const Stmt loop = ir::loop(item, index(1000), LoopKind::grid, body);
  EXPECT_EQ(digits_of(*ir::as<ir::For>(loop)).size(), 4U);
  Loaded code({Kernel{"digits", {{out, true}}, {n, m}, loop}});
  const auto number = [](int64_t value) { return reinterpret_cast<const void*>(value); };
  for (const int64_t rows : {1, 4, 7}) {
    for (const int64_t begin : {0, 1, 23, 100}) {
      const int64_t wide = 1 + rows % 3 + 2;
      std::vector<int32_t> got(300, -1);
      code.run(begin, 300, {got.data(), number(rows), number(wide - 2)});
      for (int64_t at = 0; at < 300; ++at) {
        const int64_t wanted = at / (rows * wide * 3) * 1000 + at / (wide * 3) % rows * 100 +
                               at / wide % 3 * 10 + at % wide;
        EXPECT_EQ(got[static_cast<size_t>(at)], at < begin ? -1 : wanted) << rows << " " << at;
      }
    }
  }
  code.run(0, 0, {nullptr, number(0), number(-2)});
}

// Vectors of strides end with the last element that is there.
TEST(LlvmEmit, StridedVectorsReadNothingElse) {
  constexpr int lanes = 8;
  const int64_t page = sysconf(_SC_PAGESIZE);
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, static_cast<size_t>(3 * page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + page, static_cast<size_t>(page), PROT_READ | PROT_WRITE), 0);
  for (const int64_t stride : {-4, -3, -2, -1, 2, 3, 4, 5}) {
    const int64_t span = (lanes - 1) * std::abs(stride) + 1;
    const Buffer in = ir::buffer("in", DType::f32, {index(2 * span)}),
                 out = ir::buffer("out", DType::f32, {index(2 * lanes)});
    const Var g = ir::var("g");
    const Expr first = Expr(g) * index(span) + index(stride < 0 ? span - 1 : 0);
    const Stmt body = ir::store(out, {ir::ramp(Expr(g) * index(lanes), 1, lanes)},
                                ir::load(in, {ir::ramp(first, stride, lanes)}));
    Loaded code({Kernel{
        "strided", {{in, false}, {out, true}}, {}, ir::loop(g, index(2), LoopKind::grid, body)}});
    std::vector<float> y(2 * lanes);
    for (const bool at_end : {false, true}) {
      auto* const x =
          reinterpret_cast<float*>(memory + page * (at_end ? 2 : 1)) - (at_end ? 2 * span : 0);
      for (int64_t i = 0; i < 2 * span; ++i) x[i] = static_cast<float>(i);
      code.run(0, 2, {x, y.data()});
      for (int64_t i = 0; i < 2 * lanes; ++i) {
        const int64_t lane = i % lanes;
        const int64_t at = stride < 0 ? span - 1 + lane * stride : lane * stride;
        const int64_t element = i / lanes * span + at;
        EXPECT_EQ(y[static_cast<size_t>(i)], static_cast<float>(element)) << stride;
      }
    }
  }
  munmap(memory, static_cast<size_t>(3 * page));
}

TEST(LlvmEmit, PlanComputesFromDimensions) {
  PlanFunction plan;
  plan.dims = {ir::var("h"), ir::var("w")};
  plan.values = {Expr(plan.dims[0]) * Expr(plan.dims[1]),
                 ir::floordiv(Expr(plan.dims[0]) - index(3), 2) + index(1),
                 ir::select(Expr(plan.dims[0]) > Expr(plan.dims[1]), index(1), index(0))};
  Loaded code({}, &plan);
  const auto entry = reinterpret_cast<void (*)(const double*, double*)>(code.symbol("plan"));
  ASSERT_NE(entry, nullptr);
  const double dims[] = {100000, 70000};
  double values[3] = {};
  entry(dims, values);
  EXPECT_EQ(values[0], 7000000000);
  EXPECT_EQ(values[1], 49999);
  EXPECT_EQ(values[2], 1);
  const double larger[] = {0x1p53, 0x1p53};
  entry(larger, values);
  EXPECT_EQ(values[0], 0x1p106);
}

// Variables of later segments may be negative, and divisors zero.
TEST(LlvmEmit, PlanSegmentsStoreTheirOwnValues) {
  const Var h = ir::var("h"), n = ir::var("n");
  PlanFunction plan{{h, n},
                    {Expr(h) + index(1), ir::floordiv(Expr(h), Expr(n)), ir::floormod(Expr(n), 4),
                     ir::floormod(Expr(h), Expr(n)), ir::max(Expr(n), index(0))},
                    {0, 1, 1, 2, 1}};
  Loaded code({}, &plan);
  const auto values = [&](const char* name, std::vector<double> dims) {
    std::vector<double> stored(5, 99);
    const auto entry = reinterpret_cast<void (*)(const double*, double*)>(code.symbol(name));
    EXPECT_NE(entry, nullptr) << name;
    if (entry) entry(dims.data(), stored.data());
    return stored;
  };
  EXPECT_EQ(values("plan", {17, 0}), (std::vector<double>{18, 99, 99, 99, 99}));
  EXPECT_EQ(values("plan_1", {17, -3}), (std::vector<double>{99, -6, 1, 99, 0}));
  EXPECT_EQ(values("plan_1", {17, 0}), (std::vector<double>{99, 0, 0, 99, 0}));
  EXPECT_EQ(values("plan_2", {17, 0}), (std::vector<double>{99, 99, 99, 0, 99}));
}

#if defined(__x86_64__)
TEST(LlvmEmit, RegistersOfProcessors) {
  const auto text_of = [](const std::string& cpu) {
    const auto found = registers_of({cpu});
    return found ? cat(found->count, " of ", found->bits) : found.error().to_string();
  };
  EXPECT_EQ(text_of("x86-64-v2"), "16 of 128");
  EXPECT_EQ(text_of("sandybridge"), "16 of 256");
  EXPECT_EQ(text_of("haswell"), "16 of 256");
  EXPECT_EQ(text_of("skylake-avx512"), "32 of 512");
  EXPECT_NE(text_of("abacus").find("LLVM knows no processor"), std::string::npos);
}
#endif

TEST(LlvmEmit, RefusesProcessorsItCannotServe) {
  const auto unknown = emit_object({}, nullptr, {"abacus"});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("abacus"), std::string::npos);
}

// C[512, 512] = A B with an MR x (NV * 16) register tile on B packed by panels.
Kernel contraction_kernel(int64_t m_tile, int64_t vectors, int64_t size) {
  constexpr int lanes = 16;
  const int64_t n_tile = vectors * lanes, rows = (size + m_tile - 1) / m_tile;
  const Buffer a = ir::buffer("a", DType::f32, {index(rows * m_tile * size)}),
               b = ir::buffer("b", DType::f32, {index(size * size)}),
               c = ir::buffer("c", DType::f32, {index(rows * m_tile * size)}),
               tile = ir::buffer("tile", DType::f32, {index(m_tile * n_tile)}, ir::Scope::priv);
  const Var g = ir::var("g"), m = ir::var("m"), n = ir::var("n"), k = ir::var("k");
  const auto cell = [&](int64_t i, int64_t j) {
    return ir::ramp(index(i * n_tile + j * lanes), 1, lanes);
  };
  std::vector<Stmt> start, finish, rows_of_k;
  std::vector<Var> columns;
  for (int64_t j = 0; j < vectors; ++j) columns.push_back(ir::var("b", Type(DType::f32, lanes)));
  for (int64_t i = 0; i < m_tile; ++i) {
    const Expr row = Expr(m) * index(m_tile) + index(i);
    const Var value = ir::var("a", Type(DType::f32, lanes));
    std::vector<Stmt> products;
    for (int64_t j = 0; j < vectors; ++j) {
      start.push_back(ir::store(tile, {cell(i, j)}, ir::zero(Type(DType::f32, lanes))));
      products.push_back(
          ir::store(tile, {cell(i, j)},
                    ir::fma(value, columns[static_cast<size_t>(j)], ir::load(tile, {cell(i, j)}))));
      finish.push_back(ir::store(
          c, {ir::ramp(row * index(size) + Expr(n) * index(n_tile) + index(j * lanes), 1, lanes)},
          ir::load(tile, {cell(i, j)})));
    }
    rows_of_k.push_back(ir::let(value,
                                ir::broadcast(ir::load(a, {row * index(size) + Expr(k)}), lanes),
                                ir::block(std::move(products))));
  }
  Stmt step = ir::block(std::move(rows_of_k));
  for (int64_t j = vectors; j-- > 0;)
    step = ir::let(
        columns[static_cast<size_t>(j)],
        ir::load(b, {ir::ramp((Expr(n) * index(size) + Expr(k)) * index(n_tile) + index(j * lanes),
                              1, lanes)}),
        step);
  const Stmt body = ir::alloc(tile, ir::block({ir::block(std::move(start)),
                                               ir::loop(k, index(size), LoopKind::serial, step),
                                               ir::block(std::move(finish))}));
  return {"contraction",
          {{a, false}, {b, false}, {c, true}},
          {},
          ir::loop(g, index(rows * size / n_tile), LoopKind::grid,
                   ir::let(n, ir::floordiv(Expr(g), rows),
                           ir::let(m, ir::floormod(Expr(g), rows), body)))};
}

TEST(LlvmEmit, RegisterTileOfContraction) {
  constexpr int64_t size = 512, m_tile = 6, vectors = 4, rows = (size + m_tile - 1) / m_tile,
                    n_tile = vectors * 16;
  Loaded code({contraction_kernel(m_tile, vectors, size)});
  const size_t padded = static_cast<size_t>(rows * m_tile * size);
  std::vector<float> a(padded), b(size * size + 16), c(padded);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 7919 % 1000) / 1000 - .5f;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 104729 % 1000) / 1000 - .5f;
  double seconds = 1e9;
  for (int repeat = 0; repeat < 8; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    code.run(0, rows * size / n_tile, {a.data(), b.data(), c.data()});
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    seconds = std::min(seconds, time.count());
  }
  RecordProperty("gflops", static_cast<int>(2e-9 * size * size * size / seconds));
  for (int64_t i = 0; i < size; i += 37) {
    for (int64_t j = 0; j < size; j += 13) {
      double sum = 0;
      for (int64_t k = 0; k < size; ++k)
        sum += static_cast<double>(a[static_cast<size_t>(i * size + k)]) *
               b[static_cast<size_t>((j / n_tile * size + k) * n_tile + j % n_tile)];
      ASSERT_NEAR(c[static_cast<size_t>(i * size + j)], sum, 1e-4) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace gossamer::codegen::llvm_
