#include "passes/lower_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <unordered_map>

#include "ir/build.h"
#include "ir/scalar.h"

namespace gossamer::passes {
namespace {

using namespace ir;

// A lowered scalar expression of some variables, evaluated with the interpreter's arithmetic.
class Evaluator {
 public:
  Evaluator(const Expr& e, std::vector<Var> vars) : vars_(std::move(vars)) { add(e); }

  Scalar operator()(const std::vector<Scalar>& arguments) {
    for (size_t k = 0; k < steps_.size(); ++k) {
      const Step& step = steps_[k];
      auto in = [&](int which) { return values_[static_cast<size_t>(step.operands[which])]; };
      const ExprNode& node = *step.node;
      switch (node.kind) {
        case NodeKind::IntImm:
          values_[k] = {node.type.dtype, static_cast<const IntImm&>(node).value, 0};
          break;
        case NodeKind::FloatImm:
          values_[k] = {node.type.dtype, 0, static_cast<const FloatImm&>(node).value};
          break;
        case NodeKind::Unary:
          values_[k] = apply(static_cast<const Unary&>(node).op, in(0));
          break;
        case NodeKind::Binary:
          values_[k] = apply(static_cast<const Binary&>(node).op, in(0), in(1));
          break;
        case NodeKind::Fma: {
          const Scalar product = apply(BinaryOp::mul, in(0), in(1));
          values_[k] =
              fused ? apply_fma(in(0), in(1), in(2)) : apply(BinaryOp::add, product, in(2));
          break;
        }
        case NodeKind::Select:
          values_[k] = in(0).i ? in(1) : in(2);
          break;
        case NodeKind::Cast:
          values_[k] = convert(node.type.dtype, in(0));
          break;
        case NodeKind::Bitcast:
          values_[k] = *reinterpret(node.type.dtype, in(0));
          break;
        default: {
          size_t which = 0;
          while (vars_[which].get() != &node) ++which;
          values_[k] = arguments[which];
        }
      }
    }
    return values_.back();
  }

  bool fused = false;

 private:
  struct Step {
    const ExprNode* node;
    int operands[3];
  };

  int add(const Expr& e) {
    keep_.push_back(e);
    if (auto found = number_.find(e.get()); found != number_.end()) return found->second;
    Step step{e.get(), {-1, -1, -1}};
    switch (e->kind) {
      case NodeKind::Unary:
        step.operands[0] = add(static_cast<const Unary&>(*e).a);
        break;
      case NodeKind::Cast:
        step.operands[0] = add(static_cast<const Cast&>(*e).a);
        break;
      case NodeKind::Bitcast:
        step.operands[0] = add(static_cast<const Bitcast&>(*e).a);
        break;
      case NodeKind::Binary:
        step.operands[0] = add(static_cast<const Binary&>(*e).a);
        step.operands[1] = add(static_cast<const Binary&>(*e).b);
        break;
      case NodeKind::Fma:
        step.operands[0] = add(static_cast<const Fma&>(*e).a);
        step.operands[1] = add(static_cast<const Fma&>(*e).b);
        step.operands[2] = add(static_cast<const Fma&>(*e).c);
        break;
      case NodeKind::Select:
        step.operands[0] = add(static_cast<const Select&>(*e).condition);
        step.operands[1] = add(static_cast<const Select&>(*e).yes);
        step.operands[2] = add(static_cast<const Select&>(*e).no);
        break;
      default:
        break;
    }
    steps_.push_back(step);
    values_.emplace_back();
    return number_[e.get()] = static_cast<int>(steps_.size() - 1);
  }

  std::vector<Var> vars_;
  std::vector<Expr> keep_;
  std::vector<Step> steps_;
  std::vector<Scalar> values_;
  std::unordered_map<const ExprNode*, int> number_;
};

// Distance in units of the last place of the correct result.
double units(DType dtype, double got, long double wanted) {
  if (std::isnan(got) && std::isnan(wanted)) return 0;
  const double rounded =
      dtype == DType::f32 ? static_cast<float>(wanted) : static_cast<double>(wanted);
  if (got == rounded) return 0;
  if (std::isnan(got) || std::isnan(wanted) || std::isinf(got) || std::isinf(rounded)) return 1e9;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const int digits = dtype == DType::f32 ? 24 : 53, lowest = dtype == DType::f32 ? -125 : -1021;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - wanted) /
                             std::ldexp(1.0L, std::max(exponent, lowest) - digits));
}

struct Case {
  UnaryOp op;
  long double (*oracle)(long double);
  double low, high;  // of the arguments
  double limit;      // in units, f32
  double limit64;
};

const Case cases[] = {
    {UnaryOp::exp, std::exp, -104, 90, 1.1, 1.5},
    {UnaryOp::log, std::log, 1e-30, 1e30, 1.1, 1.5},
    {UnaryOp::tanh, std::tanh, -12, 12, 2, 3},
    {UnaryOp::erf, std::erf, -5, 5, 2, 6},
    {UnaryOp::sin, std::sin, -1e5, 1e5, 1.5, 2},
    {UnaryOp::cos, std::cos, -1e5, 1e5, 1.5, 2},
    {UnaryOp::sin, std::sin, -1e12, 1e12, 1.5, 2},
    {UnaryOp::tan, std::tan, -1e4, 1e4, 2.5, 4},
    {UnaryOp::asin, std::asin, -1, 1, 2.5, 4},
    {UnaryOp::acos, std::acos, -1, 1, 2.5, 4},
    {UnaryOp::atan, std::atan, -50, 50, 2.5, 3},
    {UnaryOp::sinh, std::sinh, -90, 90, 2.5, 4},
    {UnaryOp::cosh, std::cosh, -90, 90, 2.5, 3},
    {UnaryOp::asinh, std::asinh, -1e7, 1e7, 3.5, 4},
    {UnaryOp::acosh, std::acosh, 1, 1e7, 3.5, 4},
    {UnaryOp::atanh, std::atanh, -0.9999999, 0.9999999, 3.5, 4},
};

std::vector<double> arguments(const Case& test, DType dtype) {
  std::vector<double> result;
  const double inf = std::numeric_limits<double>::infinity();
  for (double v : {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.625, 1e-3, 1e-10, -1e-10, 1e-42, inf, -inf,
                   std::nan("")}) {
    result.push_back(v);
  }
  constexpr int count = 6000;
  for (int k = 0; k <= count; ++k) {
    const double t = static_cast<double>(k) / count;
    result.push_back(test.low + t * (test.high - test.low));
    // Of every magnitude.
    const double top = std::max(std::fabs(test.low), std::fabs(test.high));
    const double spread = std::pow(10, -12 * t) * top * (1 + 0.37 * std::sin(k));
    if (spread <= test.high) result.push_back(spread);
    if (-spread >= test.low) result.push_back(-spread);
    if (test.op == UnaryOp::log || test.op == UnaryOp::acosh)
      result.push_back(1 + (test.op == UnaryOp::log ? t - 0.5 : t * t));
  }
  if (dtype == DType::f32) {
    for (double& v : result) v = static_cast<float>(v);
  }
  return result;
}

void check(const Case& test, DType dtype, double limit, bool ldexp = false) {
  const Var x = var("x", dtype);
  Evaluator evaluate(lower_math(unary(test.op, x), ldexp), {x});
  for (bool fused : {false, true}) {
    evaluate.fused = fused;
    double worst = 0, where = 0;
    for (double v : arguments(test, dtype)) {
      const double got = evaluate({Scalar::of_float(dtype, v)}).f;
      if (got == 0) EXPECT_EQ(std::signbit(got), std::signbit(test.oracle(v))) << name_of(test.op);
      const double error = units(dtype, got, test.oracle(v));
      if (error > worst) worst = error, where = v;
    }
    EXPECT_LE(worst, limit) << name_of(test.op) << " of " << name_of(dtype) << " at " << where
                            << (fused ? " fused" : "");
    ::testing::Test::RecordProperty(std::string(name_of(test.op)) + (fused ? "_fused" : ""),
                                    std::to_string(worst));
    if (std::getenv("GOSSAMER_SHOW_ERRORS")) {
      std::printf("%s %s%s: %.2f at %.9g\n", std::string(name_of(dtype)).c_str(),
                  std::string(name_of(test.op)).c_str(), fused ? " fused" : "", worst, where);
    }
  }
}

TEST(LowerMath, SinglePrecision) {
  for (const Case& test : cases) check(test, DType::f32, test.limit);
}

TEST(LowerMath, DoublePrecision) {
  for (const Case& test : cases) check(test, DType::f64, test.limit64);
}

TEST(LowerMath, PowersOfTwoByAnInstruction) {
  for (const Case& test : cases) {
    check(test, DType::f32, test.limit, true);
    check(test, DType::f64, test.limit64, true);
  }
}

TEST(LowerMath, LargeAnglesStayClose) {
  const Var x = var("x", DType::f32);
  Evaluator sine(lower_math(sin(Expr(x))), {x}), cosine(lower_math(cos(Expr(x))), {x});
  // The last one is 3.4e38.
  for (int k = 0; k < 2000; ++k) {
    const float v = static_cast<float>(1e5 * std::pow(3.4e33, k / 1999.0));
    EXPECT_NEAR(sine({Scalar::of_float(DType::f32, v)}).f, std::sin(static_cast<double>(v)), 3e-7)
        << v;
    EXPECT_NEAR(cosine({Scalar::of_float(DType::f32, v)}).f, std::cos(static_cast<double>(v)), 3e-7)
        << v;
  }
}

TEST(LowerMath, AnglesOfEverySize) {
  const Var x = var("x", DType::f64);
  // The first two are as near to a multiple of pi/2 as numbers of f64 come.
  std::vector<double> angles = {0x1.6ac5b262ca1ffp+849,  0x1.6ac5b262ca1ffp+851,
                                0x1.921fb54442d18p+1,    0x1p1023,
                                0x1.fffffffffffffp+1023, 1e-310};
  for (int k = 0; k < 3000; ++k)
    angles.push_back(std::ldexp(1 + k / 3000.0, (k * 37) % 1100 - 77) * (k % 2 ? 1 : -1));
  for (const Case& test : cases) {
    if (test.op != UnaryOp::sin && test.op != UnaryOp::cos && test.op != UnaryOp::tan) continue;
    Evaluator evaluate(lower_math(unary(test.op, x)), {x});
    for (bool fused : {false, true}) {
      evaluate.fused = fused;
      for (double v : angles) {
        const double got = evaluate({Scalar::of_float(DType::f64, v)}).f;
        EXPECT_LE(units(DType::f64, got, test.oracle(v)), test.limit64)
            << name_of(test.op) << " of " << v;
      }
    }
  }
}

TEST(LowerMath, PowAndRemainders) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  std::vector<double> values = {0.0,   -0.0, 1,    -1,    2,     -2,  3,    0.5,
                                -0.5,  2.5,  -2.5, 1e-3,  7,     -8,  100,  1e10,
                                -1e10, 1e30, 3e38, 1e-30, 1e-40, inf, -inf, nan};
  for (int k = 0; k < 60; ++k) values.push_back(std::sin(k * 1.7) * std::exp(k * 0.2 - 4));
  for (DType dtype : {DType::f32, DType::f64}) {
    const Var x = var("x", dtype), y = var("y", dtype);
    Evaluator power(lower_math(pow(x, y)), {x, y}),
        remainder(lower_math(binary(BinaryOp::rem, x, y)), {x, y}),
        modulo(lower_math(binary(BinaryOp::floormod, x, y)), {x, y});
    for (double a : values) {
      for (double b : values) {
        const Scalar p = Scalar::of_float(dtype, a), q = Scalar::of_float(dtype, b);
        const long double raised =
            std::pow(static_cast<long double>(p.f), static_cast<long double>(q.f));
        const double limit = dtype == DType::f32 ? 0.51 : 2e-13 / 2.2e-16;
        EXPECT_LE(units(dtype, power({p, q}).f, raised), limit)
            << "pow(" << p.f << ", " << q.f << ") " << power({p, q}).f;
        if (std::fabs(p.f / q.f) >= 0x1p200) continue;
        EXPECT_EQ(units(dtype, remainder({p, q}).f, apply(BinaryOp::rem, p, q).f), 0)
            << p.f << " rem " << q.f;
        const double wanted = apply(BinaryOp::floormod, p, q).f;
        EXPECT_EQ(units(dtype, modulo({p, q}).f, wanted), 0)
            << p.f << " % " << q.f << ": " << modulo({p, q}).f;
      }
    }
  }
}

TEST(LowerMath, ConstantExponents) {
  const Var x = var("x", DType::f32);
  Evaluator square(lower_math(pow(x, constant(DType::f32, 2))), {x});
  EXPECT_EQ(square({Scalar::of_float(DType::f32, -3)}).f, 9);
}

}  // namespace
}  // namespace gossamer::passes
