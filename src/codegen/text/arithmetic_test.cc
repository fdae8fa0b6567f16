// What legalising, lowering and the functions write means what nodes.def says, computed natively.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "codegen/text/functions.h"
#include "codegen/text/lower_arithmetic.h"
#include "ir/build.h"
#include "ir/scalar.h"
#include "passes/legalize_types.h"

namespace gossamer::codegen::text {
namespace {

using namespace ir;
using Values = std::vector<std::pair<const VarNode*, Scalar>>;

// By how many units in the last place the GPU of these tests divides wrongly.
int quotients_off = 0;

Scalar divided(const Scalar& a, const Scalar& b) {
  Scalar result = apply(BinaryOp::div, a, b);
  if (!std::isfinite(result.f) || result.f == 0) return result;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(result.f));
  result.f = std::bit_cast<float>(bits + static_cast<uint32_t>(quotients_off));
  return result;
}

// Scalars only. Operations that a language would call a function for are evaluated by their
// definition.
Scalar evaluate(const Expr& e, const Values& values);
// Functions use expressions many times: each is evaluated once.
using Known = std::unordered_map<const ExprNode*, Scalar>;
Scalar evaluate(const Expr& e, const Values& values, Known& known);

template <class Op>
std::optional<Scalar> by_definition(Op op, const std::vector<Scalar>& operands) {
  const auto function = define_function(op, operands[0].dtype);
  if (!function) return std::nullopt;
  Values values;
  for (size_t i = 0; i < operands.size(); ++i) {
    values.emplace_back(function->params[i].get(), operands[i]);
  }
  return evaluate(function->body, values);
}

Scalar evaluate(const Expr& e, const Values& values) {
  Known known;
  return evaluate(e, values, known);
}

Scalar evaluate(const Expr& e, const Values& values, Known& known) {
  auto eval = [&](const Expr& child) {
    const auto found = known.find(child.get());
    if (found != known.end()) return found->second;
    return known[child.get()] = evaluate(child, values, known);
  };
  if (auto* node = as<Unary>(e)) {
    const Scalar a = eval(node->a);
    if (auto defined = by_definition(node->op, {a})) return *defined;
    return apply(node->op, a);
  }
  if (auto* node = as<Binary>(e)) {
    const Scalar a = eval(node->a), b = eval(node->b);
    const bool lowered = node->op != BinaryOp::floordiv && node->op != BinaryOp::floormod;
    if (is_float(a.dtype) || !lowered) {
      if (auto defined = by_definition(node->op, {a, b})) return *defined;
    }
    const bool divides = node->op == BinaryOp::div || node->op == BinaryOp::rem;
    if (divides && !is_float(a.dtype)) {
      EXPECT_NE(b.i, 0);
      if (node->op == BinaryOp::rem) EXPECT_TRUE(a.i >= 0 && b.i > 0);
    }
    if (node->op == BinaryOp::div && is_float(a.dtype)) return divided(a, b);
    const bool shifts = node->op == BinaryOp::shl || node->op == BinaryOp::shr;
    if (shifts) EXPECT_TRUE(b.i >= 0 && b.i < 32);
    return apply(node->op, a, b);
  }
  if (auto* node = as<Fma>(e)) return apply_fma(eval(node->a), eval(node->b), eval(node->c));
  if (auto* node = as<Select>(e))
    return eval(eval(node->condition).truthy() ? node->yes : node->no);
  if (auto* node = as<Cast>(e)) {
    const Scalar a = eval(node->a);
    return convert(e->type.dtype, a);
  }
  if (auto* node = as<Bitcast>(e)) return *reinterpret(e->type.dtype, eval(node->a));
  if (auto* node = as<IntImm>(e)) return {e->type.dtype, node->value, 0};
  if (auto* node = as<FloatImm>(e)) return {e->type.dtype, 0, node->value};
  for (const auto& [var, value] : values) {
    if (static_cast<const ExprNode*>(var) == e.get()) return value;
  }
  ADD_FAILURE() << "an expression without a value";
  return {};
}

double of(UnaryOp op, double x) { return by_definition(op, {Scalar::of_float(DType::f32, x)})->f; }
double of(BinaryOp op, double x, double y) {
  return by_definition(op, {Scalar::of_float(DType::f32, x), Scalar::of_float(DType::f32, y)})->f;
}

// The largest error over [low, high], relative to max(|exact|, floor).
double error_of(UnaryOp op, double low, double high, double floor) {
  double worst = 0;
  for (int i = 0; i <= 20000; ++i) {
    const double x = static_cast<float>(low + (high - low) * i / 20000);
    const Scalar in = Scalar::of_float(DType::f32, x);
    const double exact = apply(op, in).f, have = by_definition(op, {in})->f;
    worst = std::max(worst, std::fabs(have - exact) / std::max(std::fabs(exact), floor));
  }
  return worst;
}

TEST(Functions, ErrorsAreAFewUnitsInTheLastPlace) {
  EXPECT_LT(error_of(UnaryOp::erf, -5, 5, 1e-30), 4e-7);
  EXPECT_LT(error_of(UnaryOp::tanh, -12, 12, 1e-30), 4e-7);
  EXPECT_LT(error_of(UnaryOp::sinh, -80, 80, 1e-30), 6e-7);
  EXPECT_LT(error_of(UnaryOp::cosh, -80, 80, 1e-30), 6e-7);
  EXPECT_LT(error_of(UnaryOp::asinh, -1e5, 1e5, 1e-30), 4e-7);
  EXPECT_LT(error_of(UnaryOp::asinh, -2, 2, 1e-30), 4e-7);
  EXPECT_LT(error_of(UnaryOp::acosh, 1, 50, 1e-30), 4e-7);
  EXPECT_LT(error_of(UnaryOp::atanh, -0.999, 0.999, 1e-30), 4e-7);
  EXPECT_LT(error_of(UnaryOp::asin, -1, 1, 1e-30), 4e-7);
  EXPECT_LT(error_of(UnaryOp::acos, -1, 1, 1e-3), 4e-7);
  EXPECT_LT(error_of(UnaryOp::atan, -50, 50, 1e-30), 4e-7);
  EXPECT_LT(error_of(UnaryOp::sin, -1000, 1000, 1), 2e-7);
  EXPECT_LT(error_of(UnaryOp::cos, -1e5, 1e5, 1), 4e-7);
  for (double top : {1e5, 1e8, 1e12, 1e20, 3e38}) {
    EXPECT_LT(error_of(UnaryOp::sin, -top, top, 1), 4e-7) << top;
    EXPECT_LT(error_of(UnaryOp::cos, -top, top, 1), 4e-7) << top;
    EXPECT_LT(error_of(UnaryOp::tan, -top, top, 1e-2), 1e-4) << top;
  }
  EXPECT_LT(error_of(UnaryOp::tan, -1.5, 1.5, 1e-2), 6e-7);
}

TEST(Functions, PowOfSpecialValues) {
  const double inf = std::numeric_limits<double>::infinity();
  for (double x : {0.0, 0.5, 1.0, -1.0, 2.0, -2.0, -3.5, 10.0, inf, -inf, std::nan("")}) {
    for (double y :
         {0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, -2.5, 10.0, 300.0, inf, -inf, std::nan("")}) {
      const double exact = static_cast<float>(std::pow(x, y)), have = of(BinaryOp::pow, x, y);
      if (std::isnan(exact) || std::isinf(exact)) {
        EXPECT_EQ(std::isnan(exact), std::isnan(have)) << x << " ^ " << y;
        if (std::isinf(exact)) EXPECT_EQ(exact, have) << x << " ^ " << y;
      } else {
        EXPECT_NEAR(have, exact, std::fabs(exact) * 1e-6 + 1e-37) << x << " ^ " << y;
      }
    }
  }
}

TEST(Functions, NanStays) {
  const double nan = std::nan("");
  for (int i = 0; i <= static_cast<int>(UnaryOp::erf); ++i) {
    const auto op = static_cast<UnaryOp>(i);
    if (define_function(op, DType::f32)) EXPECT_TRUE(std::isnan(of(op, nan))) << name_of(op);
  }
  for (BinaryOp op : {BinaryOp::min, BinaryOp::max}) {
    EXPECT_TRUE(std::isnan(of(op, nan, 1)));
    EXPECT_TRUE(std::isnan(of(op, 1, nan)));
    EXPECT_EQ(of(op, 2, 2), 2);
  }
}

// The value that a kernel of one store of `body` stores, after the passes.
Scalar lowered(const Expr& body, const std::vector<Var>& vars, const std::vector<Scalar>& inputs,
               bool exact = false) {
  Kernel kernel;
  kernel.name = "test";
  const Buffer out = buffer("out", body->type.dtype, {index(1)});
  kernel.params = {{out, true}};
  Stmt s = store(out, {index(0)}, body);
  std::vector<Buffer> ins;
  for (size_t i = vars.size(); i-- > 0;) {
    ins.push_back(buffer("in", vars[i]->type.dtype, {index(1)}));
    s = let(vars[i], load(ins.back(), {index(0)}), s);
  }
  kernel.body = loop(var("g"), index(1), LoopKind::grid, s);
  const auto legal = passes::legalize_types(kernel, {.words = true});
  EXPECT_TRUE(legal);
  const Kernel result = lower_arithmetic(*legal, exact);
  Stmt inner = as<For>(result.body)->body;
  Values values;
  for (const Scalar& input : inputs) {
    auto* node = as<Let>(inner);
    const DType dtype = node->var->type.dtype;
    values.emplace_back(node->var.get(), convert(dtype, input));
    const Stmt next = node->body;
    inner = next;
  }
  return evaluate(as<Store>(inner)->value, values);
}

TEST(LowerArithmetic, IntegersOfEveryWidth) {
  for (DType dtype : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32}) {
    const Var a = var("a", dtype), b = var("b", dtype);
    std::vector<Scalar> values;
    for (int64_t v : {0, 1, 2, 3, 7, 8, 31, 32, 100, 127, 128, 255, -1, -2, -3, -128}) {
      values.push_back(Scalar::of_int(dtype, v));
    }
    values.push_back(Scalar::of_int(dtype, INT64_C(1) << (8 * byte_size(dtype) - 1)));
    values.push_back(Scalar::of_int(dtype, (INT64_C(1) << (8 * byte_size(dtype) - 1)) - 1));
    for (BinaryOp op : {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::div, BinaryOp::rem,
                        BinaryOp::floordiv, BinaryOp::floormod, BinaryOp::shl, BinaryOp::shr}) {
      for (const Scalar& x : values) {
        for (const Scalar& y : values) {
          const Scalar exact = apply(op, x, y);
          EXPECT_EQ(lowered(binary(op, a, b), {a, b}, {x, y}).i, exact.i)
              << name_of(dtype) << " " << x.i << " " << name_of(op) << " " << y.i;
          const Expr constant_b = constant_int(dtype, y.i);
          EXPECT_EQ(lowered(binary(op, a, constant_b), {a}, {x}).i, exact.i)
              << name_of(dtype) << " " << x.i << " " << name_of(op) << " constant " << y.i;
        }
      }
    }
  }
}

TEST(LowerArithmetic, CastsOfFloatsSaturate) {
  const Var x = var("x", DType::f32);
  for (DType to : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32}) {
    for (double v : {0.0, 0.9, -0.9, 127.5, 128.0, -129.0, 256.0, 70000.0, -70000.0, 3e9, -3e9,
                     1e20, -1e20, std::nan("")}) {
      const Scalar in = Scalar::of_float(DType::f32, v);
      EXPECT_EQ(lowered(cast(to, x), {x}, {in}).i, convert(to, in).i) << name_of(to) << " " << v;
    }
  }
}

TEST(LowerArithmetic, RoundedQuotientsAreExact) {
  const Var a = var("a", DType::f32), b = var("b", DType::f32), c = var("c", DType::f32);
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const auto number = [](double x) { return Scalar::of_float(DType::f32, static_cast<float>(x)); };
  const auto same = [](const Scalar& x, const Scalar& y) {
    return x.f == y.f || (std::isnan(x.f) && std::isnan(y.f));
  };
  for (quotients_off = -2; quotients_off <= 2; ++quotients_off) {
    for (double y : {0.3, 0.013, -0.0322114825, 3.0, 1e30, 1e-30, 0.0, inf, nan}) {
      for (double k : {0.0, 0.5, 1.0, 3.0, 4.5, 7.5, 117.5, 119.0, -2.5, 1e5, 1e36, inf, nan}) {
        const Scalar x = number(k * y), by = number(y), sum = number(2);
        const Scalar quotient = apply(BinaryOp::div, x, by);
        const auto where = [&] { return cat(x.f, " / ", y, ", off by ", quotients_off); };
        for (UnaryOp op : {UnaryOp::round, UnaryOp::floor, UnaryOp::ceil, UnaryOp::trunc})
          EXPECT_PRED2(same, lowered(unary(op, a / b), {a, b}, {x, by}), apply(op, quotient))
              << name_of(op) << " " << where();
        EXPECT_EQ(lowered(cast(DType::i32, a / b), {a, b}, {x, by}).i,
                  convert(DType::i32, quotient).i)
            << where();
        EXPECT_PRED2(same,
                     lowered(unary(UnaryOp::round, select(c > 0.0, -(a / b) + c, a / b)), {a, b, c},
                             {x, by, sum}),
                     apply(UnaryOp::round, apply(BinaryOp::sub, sum, quotient)))
            << where();
        EXPECT_PRED2(same, lowered(a / b, {a, b}, {x, by}, true), quotient) << where();
      }
    }
  }
  quotients_off = 0;
}

TEST(LegalizeWords, RefusesWhatGpusLack) {
  const Buffer in = buffer("in", DType::f64, {index(1)}),
               out = buffer("out", DType::i64, {index(1)});
  Kernel kernel;
  kernel.params = {{in, false}, {out, true}};
  kernel.body = loop(var("g"), index(1), LoopKind::grid,
                     store(out, {index(0)}, bitcast(DType::i64, load(in, {index(0)}))));
  const auto legal = passes::legalize_types(kernel, {.words = true});
  ASSERT_FALSE(legal);
  EXPECT_EQ(legal.error().message, "bit cast from f64 to i64");
}

// Cut from a word, as of constants that share words: each of them, as f32 has it.
TEST(LegalizeWords, HalvesOfWordsAreTheirNumbers) {
  const Var word = var("word", DType::u32);
  for (const DType half : {DType::f16, DType::bf16}) {
    for (int64_t bits = 0; bits < 1 << 16; ++bits) {
      const Expr high = binary(BinaryOp::shr, word, constant_int(DType::u32, 16));
      const Expr cut = binary(BinaryOp::bit_and, high, constant_int(DType::u32, 0xffff));
      const Expr number = bitcast(half, cast(DType::u16, cut));
      const Scalar in = Scalar::of_int(DType::u32, bits << 16 | 0x1234);
      const Scalar got = lowered(number, {word}, {in});
      const Scalar want = convert(DType::f32, *reinterpret(half, Scalar::of_int(DType::u16, bits)));
      ASSERT_EQ(got.dtype, DType::f32);
      if (std::isnan(want.f)) {
        ASSERT_TRUE(std::isnan(got.f)) << bits;
      } else {
        ASSERT_EQ(got.f, want.f) << bits;
        ASSERT_EQ(std::signbit(got.f), std::signbit(want.f)) << bits;
      }
    }
  }
}

// Stored in words of which each holds two: rounded to nearest even, denormals, too.
TEST(LegalizeWords, NumbersBecomeHalves) {
  const Var x = var("x", DType::f32);
  for (const DType half : {DType::f16, DType::bf16}) {
    const Expr bits = cast(DType::u32, bitcast(DType::u16, cast(half, x)));
    const auto check_bits = [&](float number) {
      const Scalar in = Scalar::of_float(DType::f32, number);
      const Scalar got = lowered(bits, {x}, {in});
      const Scalar want = *reinterpret(DType::u16, convert(half, in));
      if (std::isnan(number)) {
        EXPECT_TRUE(std::isnan(reinterpret(half, Scalar::of_int(DType::u16, got.i))->f)) << got.i;
      } else {
        EXPECT_EQ(got.i, want.i) << number;
      }
    };
    const auto after = [](float number) { return std::nextafter(number, 1e30f); };
    for (int64_t code = 0; code < 1 << 16; code += 3) {
      const auto value_of = [&](int64_t at) {
        const Scalar made = *reinterpret(half, Scalar::of_int(DType::u16, at & 0xffff));
        return static_cast<float>(made.f);
      };
      const float here = value_of(code), middle = here + (value_of(code + 1) - here) / 2;
      for (const float number : {here, middle, after(middle), -after(-middle)}) check_bits(number);
    }
    for (const float number : {65519.0f, 65520.0f, -1e30f, 3e38f, 0x1p-25f, 0x1.8p-25f, -0.0f})
      check_bits(number);
  }
}

// One answer, whether memory has 16 bits for a float or 32.
TEST(LegalizeWords, HalvesAreRoundedWhereTheyAreStored) {
  for (const DType half : {DType::f16, DType::bf16}) {
    const Var x = var("x", half), y = var("y", half);
    const auto number = [&](double v) { return Scalar::of_float(half, round_to(half, v)); };
    for (const double a : {1.0, -3.1415, 1e-7, 6e4, 1e-5, 0.0}) {
      for (const double b : {1.0009765625, 7e4, -2e-7, 0.1, 3e-8}) {
        const Scalar p = number(a), q = number(b);
        EXPECT_EQ(lowered(x + y, {x, y}, {p, q}).f, apply(BinaryOp::add, p, q).f)
            << name_of(half) << " " << a << " + " << b;
      }
    }
  }
}

TEST(LegalizeWords, WideConstantsBoundOrAreRefused) {
  const Var x = var("x", DType::i64);
  const Scalar five = Scalar::of_int(DType::i64, 5);
  const Expr most = constant_int(DType::i64, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(lowered(select(x < most, x, most), {x}, {five}).i, 5);
  EXPECT_EQ(lowered(min(x, constant_int(DType::i64, int64_t{1} << 40)), {x}, {five}).i, 5);
  const Buffer out = buffer("out", DType::i64, {index(1)});
  Kernel kernel;
  kernel.params = {{out, true}};
  kernel.body = loop(var("g"), index(1), LoopKind::grid,
                     store(out, {index(0)}, constant_int(DType::i64, int64_t{1} << 40)));
  const auto legal = passes::legalize_types(kernel, {.words = true});
  ASSERT_FALSE(legal);
  EXPECT_EQ(legal.error().message,
            "the constant 1099511627776 does not fit the 32 bits of this target's integers");
}

}  // namespace
}  // namespace gossamer::codegen::text
