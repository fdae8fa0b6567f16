// Operations of kernels, element by element.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "codegen/llvm/target.h"
#include "codegen/llvm/test_kernels.h"
#include "ir/build.h"
#include "ir/scalar.h"

namespace gossamer::codegen::llvm_ {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;
using ir::Kernel;
using ir::LoopKind;
using ir::Scalar;
using ir::Type;
using ir::Var;

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

// Runs each test on every combination of interesting values, as scalars and as vectors.
void check(const std::vector<ElementwiseTest>& tests, const std::vector<int>& widths = {1, 8}) {
  std::vector<Kernel> kernels;
  for (const ElementwiseTest& test : tests)
    for (int lanes : widths)
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
    const int whole = std::accumulate(widths.begin(), widths.end(), 1, std::lcm<int, int>);
    while (points.size() % static_cast<size_t>(whole)) points.push_back(points[0]);
    const auto count = static_cast<int64_t>(points.size());
    std::vector<Data> inputs;
    for (size_t input = 0; input < test.inputs.size(); ++input) {
      inputs.emplace_back(test.inputs[input], count);
      for (int64_t i = 0; i < count; ++i)
        inputs.back().set(i, points[static_cast<size_t>(i)][input]);
    }
    for (size_t width = 0; width < widths.size(); ++width) {
      const int lanes = widths[width];
      Data output(test.output, count);
      std::vector<const void*> args;
      for (Data& data : inputs) args.push_back(data.at(0));
      args.push_back(output.at(0));
      code.run(0, count / lanes, args, static_cast<int>(widths.size() * at + width));
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

TEST(LlvmEmit, PowersOfTwo) {
  if (make_target({})->vector_bits < 512) GTEST_SKIP() << "an instruction of AVX-512";
  std::vector<ElementwiseTest> tests;
  for (const DType dtype : {DType::f32, DType::f64})
    tests.push_back({cat("ldexp of ", ir::name_of(dtype)),
                     {dtype, DType::i8},
                     dtype,
                     [](std::vector<Expr> x) {
                       const Expr power = ir::cast(x[0]->type, x[1]) * ir::constant(x[0]->type, 2);
                       return ir::binary(ir::BinaryOp::ldexp, x[0], power);
                     },
                     [dtype](std::vector<Scalar> x) {
                       const double power = 2 * static_cast<double>(x[1].i);
                       return Scalar::of_float(dtype, std::ldexp(x[0].f, static_cast<int>(power)));
                     }});
  check(tests, {1, 3, 8, 16, 24, 64});
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

}  // namespace
}  // namespace gossamer::codegen::llvm_
