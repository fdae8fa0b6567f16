#include "codegen/llvm/emit.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "codegen/digits.h"
#include "ir/build.h"
#include "ir/scalar.h"
#include "ir/simplify.h"

namespace gossamer::codegen::llvm_ {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;
using ir::Kernel;
using ir::LoopKind;
using ir::Scalar;
using ir::Stmt;
using ir::Type;
using ir::Var;

// Kernels compiled, linked and loaded into this process.
class Loaded {
 public:
  explicit Loaded(std::vector<Kernel> kernels, const PlanFunction* plan = nullptr,
                  const std::string& cpu = "native") {
    const auto object = emit_object(kernels, plan, {cpu});
    EXPECT_TRUE(object.has_value()) << (object ? "" : object.error().to_string());
    const auto library = link_shared_library(*object);
    EXPECT_TRUE(library.has_value()) << (library ? "" : library.error().to_string());
    char path[] = "/tmp/gossamer-test.XXXXXX";
    const int file = mkstemp(path);
    EXPECT_EQ(write(file, library->data(), library->size()), static_cast<ssize_t>(library->size()));
    close(file);
    handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle_, nullptr) << dlerror();
    unlink(path);
  }
  ~Loaded() { dlclose(handle_); }
  void run(int64_t begin, int64_t end, std::vector<const void*> args, int kernel = 0) {
    using Entry = void (*)(int64_t, int64_t, const void* const*);
    const std::string name = "k" + std::to_string(kernel);
    reinterpret_cast<Entry>(dlsym(handle_, name.c_str()))(begin, end, args.data());
  }
  void* symbol(const char* name) { return dlsym(handle_, name); }

 private:
  void* handle_ = nullptr;
};

// A flat buffer of `count` elements with room for vector reads beyond its end.
struct Data {
  DType dtype;
  std::vector<std::byte> bytes;
  Data(DType element, int64_t count)
      : dtype(element), bytes(static_cast<size_t>(count * ir::byte_size(element)) + 64) {}
  std::byte* at(int64_t i) { return bytes.data() + i * ir::byte_size(dtype); }
  Scalar get(int64_t i) { return ir::read_scalar(dtype, at(i)); }
  void set(int64_t i, Scalar value) { ir::write_scalar(value, at(i)); }
};

std::vector<Scalar> interesting(DType dtype) {
  std::vector<Scalar> values;
  if (ir::is_float(dtype)) {
    for (double value : {0.0,
                         -0.0,
                         1.0,
                         -1.0,
                         0.5,
                         1.5,
                         2.5,
                         -2.5,
                         3.7,
                         -3.7,
                         1e-3,
                         300.0,
                         -129.0,
                         70000.0,
                         3e9,
                         -3e9,
                         1e30,
                         -1e30,
                         1e-40,
                         std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()})
      values.push_back(Scalar::of_float(dtype, value));
  } else if (dtype == DType::boolean) {
    values = {Scalar::of_int(dtype, 0), Scalar::of_int(dtype, 1)};
  } else {
    for (int64_t value : {int64_t{0},
                          int64_t{1},
                          int64_t{-1},
                          int64_t{2},
                          int64_t{-2},
                          int64_t{3},
                          int64_t{7},
                          int64_t{-7},
                          int64_t{8},
                          int64_t{31},
                          int64_t{64},
                          int64_t{100},
                          int64_t{127},
                          int64_t{-128},
                          int64_t{255},
                          int64_t{-32768},
                          int64_t{2147483647},
                          int64_t{-2147483648LL},
                          std::numeric_limits<int64_t>::max(),
                          std::numeric_limits<int64_t>::min()})
      values.push_back(Scalar::of_int(dtype, value));
  }
  return values;
}

bool same(Scalar x, Scalar y) {
  if (!ir::is_float(x.dtype)) return x.i == y.i;
  return x.f == y.f || (std::isnan(x.f) && std::isnan(y.f));
}

std::string text_of(Scalar value) {
  return ir::is_float(value.dtype) ? std::to_string(value.f) : std::to_string(value.i);
}

using Operation = std::function<Expr(std::vector<Expr>)>;

// Element i of the output = operation(elements i of the inputs), `lanes` at a time.
Kernel elementwise(const std::vector<DType>& inputs, DType output, int lanes,
                   const Operation& operation) {
  Kernel kernel{"elementwise", {}, {}, {}};
  const Var grid = ir::var("g");
  const Expr at = lanes == 1 ? Expr(grid) : ir::ramp(Expr(grid) * index(lanes), 1, lanes);
  std::vector<Expr> loads;
  for (DType dtype : inputs) {
    const Buffer buffer = ir::buffer("in", dtype, {index(1 << 20)});
    kernel.params.push_back({buffer, false});
    loads.push_back(ir::load(buffer, {at}));
  }
  const Buffer out = ir::buffer("out", output, {index(1 << 20)});
  kernel.params.push_back({out, true});
  kernel.body = ir::loop(grid, index(1 << 20), LoopKind::grid,
                         ir::store(out, {at}, operation(std::move(loads))));
  return kernel;
}

struct ElementwiseTest {
  std::string name;
  std::vector<DType> inputs;
  DType output;
  Operation operation;
  std::function<Scalar(std::vector<Scalar>)> expected;
};

// Runs each test on every combination of interesting values, as scalars and as vectors of 8.
void check(const std::vector<ElementwiseTest>& tests) {
  std::vector<Kernel> kernels;
  for (const ElementwiseTest& test : tests)
    for (int lanes : {1, 8})
      kernels.push_back(elementwise(test.inputs, test.output, lanes, test.operation));
  Loaded code(kernels);
  for (size_t at = 0; at < tests.size(); ++at) {
    const ElementwiseTest& test = tests[at];
    std::vector<std::vector<Scalar>> points{{}};
    for (DType dtype : test.inputs) {
      std::vector<std::vector<Scalar>> longer;
      for (const auto& point : points)
        for (Scalar value : interesting(dtype)) {
          longer.push_back(point);
          longer.back().push_back(value);
        }
      points = std::move(longer);
    }
    while (points.size() % 8) points.push_back(points[0]);
    const auto count = static_cast<int64_t>(points.size());
    std::vector<Data> inputs;
    for (size_t input = 0; input < test.inputs.size(); ++input) {
      inputs.emplace_back(test.inputs[input], count);
      for (int64_t i = 0; i < count; ++i)
        inputs.back().set(i, points[static_cast<size_t>(i)][input]);
    }
    for (int lanes : {1, 8}) {
      Data output(test.output, count);
      std::vector<const void*> args;
      for (Data& data : inputs) args.push_back(data.at(0));
      args.push_back(output.at(0));
      code.run(0, count / lanes, args, static_cast<int>(2 * at) + (lanes > 1));
      for (int64_t i = 0; i < count; ++i) {
        const Scalar expected = test.expected(points[static_cast<size_t>(i)]);
        std::string point;
        for (Scalar value : points[static_cast<size_t>(i)]) point += text_of(value) + " ";
        ASSERT_TRUE(same(output.get(i), expected))
            << test.name << " of " << point << "x" << lanes << " is " << text_of(output.get(i))
            << ", expected " << text_of(expected);
      }
    }
  }
}

TEST(LlvmEmit, UnaryOperationsAsDefined) {
  std::vector<ElementwiseTest> tests;
  const auto add = [&](ir::UnaryOp op, DType dtype) {
    const DType output = ir::gives_boolean(op) ? DType::boolean : dtype;
    tests.push_back({cat(ir::name_of(op), " ", ir::name_of(dtype)),
                     {dtype},
                     output,
                     [op](std::vector<Expr> x) { return ir::unary(op, x[0]); },
                     [op](std::vector<Scalar> x) { return ir::apply(op, x[0]); }});
  };
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (ir::UnaryOp op : {ir::UnaryOp::neg, ir::UnaryOp::abs, ir::UnaryOp::floor,
                           ir::UnaryOp::ceil, ir::UnaryOp::round, ir::UnaryOp::trunc,
                           ir::UnaryOp::sqrt, ir::UnaryOp::is_nan, ir::UnaryOp::is_inf})
      add(op, dtype);
  for (DType dtype : {DType::i8, DType::i32, DType::i64, DType::u8, DType::u32, DType::u64})
    for (ir::UnaryOp op : {ir::UnaryOp::neg, ir::UnaryOp::bit_not, ir::UnaryOp::abs})
      if (op != ir::UnaryOp::neg || ir::is_signed_int(dtype)) add(op, dtype);
  add(ir::UnaryOp::logical_not, DType::boolean);
  check(tests);
}

TEST(LlvmEmit, BinaryOperationsAsDefined) {
  using enum ir::BinaryOp;
  std::vector<ElementwiseTest> tests;
  const auto add_test = [&](ir::BinaryOp op, DType dtype) {
    const bool compares = ir::is_comparison(op);
    tests.push_back({cat(ir::name_of(op), " ", ir::name_of(dtype)),
                     {dtype, dtype},
                     compares ? DType::boolean : dtype,
                     [op](std::vector<Expr> x) { return ir::binary(op, x[0], x[1]); },
                     [op](std::vector<Scalar> x) { return ir::apply(op, x[0], x[1]); }});
  };
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (ir::BinaryOp op : {add, sub, mul, div, min, max, eq, ne, lt, le, gt, ge})
      add_test(op, dtype);
  for (DType dtype :
       {DType::i8, DType::u8, DType::i16, DType::i32, DType::u32, DType::i64, DType::u64})
    for (ir::BinaryOp op : {add, sub, mul, div, rem, floordiv, floormod, min,     max, eq,
                            ne,  lt,  le,  gt,  ge,  bit_and,  bit_or,   bit_xor, shl, shr})
      add_test(op, dtype);
  for (ir::BinaryOp op : {logical_and, logical_or, logical_xor, eq, ne})
    add_test(op, DType::boolean);
  check(tests);
}

TEST(LlvmEmit, DivisionAndShiftsByNumbers) {
  using enum ir::BinaryOp;
  std::vector<ElementwiseTest> tests;
  for (DType dtype : {DType::i32, DType::i64, DType::u32})
    for (ir::BinaryOp op : {div, rem, floordiv, floormod, shl, shr})
      for (int64_t number : {int64_t{0}, int64_t{1}, int64_t{4}, int64_t{7}, int64_t{-1},
                             int64_t{-8}, int64_t{33}}) {
        const Scalar divisor = Scalar::of_int(dtype, number);
        tests.push_back({cat(ir::name_of(op), " ", ir::name_of(dtype), " by ", number),
                         {dtype},
                         dtype,
                         [=](std::vector<Expr> x) {
                           Expr by = ir::constant_int(Type(dtype), divisor.i);
                           if (x[0]->type.lanes > 1) by = ir::broadcast(by, x[0]->type.lanes);
                           return ir::binary(op, x[0], by);
                         },
                         [=](std::vector<Scalar> x) { return ir::apply(op, x[0], divisor); }});
      }
  check(tests);
}

TEST(LlvmEmit, CastsSaturateWrapAndRound) {
  const DType all[] = {DType::f32, DType::f64, DType::f16,    DType::bf16, DType::i8,
                       DType::i16, DType::i32, DType::i64,    DType::u8,   DType::u16,
                       DType::u32, DType::u64, DType::boolean};
  std::vector<ElementwiseTest> tests;
  for (DType from : all)
    for (DType to : all)
      tests.push_back(
          {cat(ir::name_of(from), " to ", ir::name_of(to)),
           {from},
           to,
           [to](std::vector<Expr> x) { return ir::cast(x[0]->type.with_dtype(to), x[0]); },
           [to](std::vector<Scalar> x) { return ir::convert(to, x[0]); }});
  check(tests);
}

TEST(LlvmEmit, BitcastsKeepTheBits) {
  const std::pair<DType, DType> pairs[] = {
      {DType::f32, DType::i32}, {DType::u32, DType::f32},    {DType::f64, DType::i64},
      {DType::i16, DType::f16}, {DType::bf16, DType::u16},   {DType::i8, DType::u8},
      {DType::u64, DType::f64}, {DType::boolean, DType::u8},
  };
  std::vector<ElementwiseTest> tests;
  for (const auto& [from, to] : pairs)
    tests.push_back(
        {cat(ir::name_of(from), " as ", ir::name_of(to)),
         {from},
         to,
         [to](std::vector<Expr> x) { return ir::bitcast(x[0]->type.with_dtype(to), x[0]); },
         [to](std::vector<Scalar> x) {
           // Which bits a NaN has is the processor's choice: integers of one do not count.
           return ir::reinterpret(to, x[0]).value();
         }});
  for (ElementwiseTest& test : tests)
    if (ir::is_float(test.inputs[0]) && !ir::is_float(test.output)) {
      const auto exact = test.operation;
      test.operation = [exact](std::vector<Expr> x) {
        const Expr zero = ir::zero(x[0]->type);
        return exact({ir::select(ir::is_nan(x[0]), zero, x[0])});
      };
      const auto expected = test.expected;
      test.expected = [expected](std::vector<Scalar> x) {
        return expected({std::isnan(x[0].f) ? Scalar::of_float(x[0].dtype, 0) : x[0]});
      };
    }
  check(tests);
}

TEST(LlvmEmit, FusedMultiplyAddAndSelect) {
  std::vector<ElementwiseTest> tests;
  tests.push_back({"select",
                   {DType::boolean, DType::f32, DType::f32},
                   DType::f32,
                   [](std::vector<Expr> x) { return ir::select(x[0], x[1], x[2]); },
                   [](std::vector<Scalar> x) { return x[0].truthy() ? x[1] : x[2]; }});
  tests.push_back({"fma",
                   {DType::i32, DType::i32, DType::i32},
                   DType::i32,
                   [](std::vector<Expr> x) { return ir::fma(x[0], x[1], x[2]); },
                   [](std::vector<Scalar> x) { return ir::apply_fma(x[0], x[1], x[2]); }});
  for (const int64_t terms : {2, 4})
    for (const DType a : {DType::i32, DType::u32})
      for (const DType b : {DType::i32, DType::u32})
        tests.push_back(
            {cat("dot", terms, " of ", ir::name_of(a), " and ", ir::name_of(b)),
             {a, b, DType::i32},
             DType::i32,
             [=](std::vector<Expr> x) { return ir::dot(x[0], x[1], x[2], terms); },
             [=](std::vector<Scalar> x) { return ir::apply_dot(x[0], x[1], x[2], terms); }});
  check(tests);
}

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
