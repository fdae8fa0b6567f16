// Every operation and cast on special and random values, four lanes at a time.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "gpu/cases.h"
#include "ir/build.h"

namespace gossamer::tests::gpu {
namespace {

using namespace ir;
using Body = std::function<Expr(const std::vector<Expr>&)>;
using Reference = std::function<Scalar(const std::vector<Scalar>&)>;

constexpr int count = 512, texture_width = 16;
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// One invocation does four elements: as a vector, or one after the other.
Case on_webgpu(const std::string& name, const std::vector<Data>& inputs, DType result,
               const Body& body, bool vectors) {
  Case test;
  test.name = name + (vectors ? " vec4" : " scalar");
  std::vector<Buffer> buffers;
  for (const Data& input : inputs) buffers.push_back(buffer("in", input.dtype, {index(count)}));
  const Buffer out = buffer("out", result, {index(count)});
  const Var group = var("g"), item = var("t");
  const Expr at = group * index(64) + item;
  const Expr where = vectors ? ramp(at * index(4), 1, 4) : at;
  std::vector<Expr> values;
  for (const Buffer& b : buffers) values.push_back(load(b, {where}));
  for (const Buffer& b : buffers) test.kernel.params.push_back({b, false});
  test.kernel.params.push_back({out, true});
  test.range = count / 64 / (vectors ? 4 : 1);
  test.kernel.name = "elementwise";
  test.kernel.body =
      loop(group, index(test.range), LoopKind::grid,
           loop(item, index(64), LoopKind::group, store(out, {where}, body(values))));
  return test;
}

Buffer texture(const std::string& name, DType dtype) {
  auto* node = new BufferNode(name, dtype, {index(count)});
  node->layout.flat = true;
  node->layout.axes = {{0, 4, 0}, {0, 1, 4}};
  node->layout.memory = Memory::texture;
  node->layout.width = texture_width;
  return Buffer(node);
}

Case on_webgl(const std::string& name, const std::vector<Data>& inputs, DType result,
              const Body& body) {
  Case test;
  test.name = name;
  const Buffer out = texture("out", result);
  const Var t = var("t");
  const std::vector<Expr> texel = {floormod(t, texture_width), floordiv(t, texture_width),
                                   index(0)};
  std::vector<Expr> values;
  for (const Data& input : inputs) {
    const Buffer from = texture("in", input.dtype);
    test.kernel.params.push_back({from, false});
    auto* node = new Load(Type(input.dtype, 4));
    node->buffer = from;
    node->indices = texel;
    values.push_back(Expr(node));
  }
  test.kernel.params.push_back({out, true});
  test.range = count / 4;
  test.kernel.name = "elementwise";
  test.kernel.body = loop(t, index(test.range), LoopKind::grid, store(out, texel, body(values)));
  return test;
}

class Elementwise {
 public:
  explicit Elementwise(Cases& cases) : cases_(cases) {}

  void add(const std::string& name, const std::vector<Data>& inputs, DType result, const Body& body,
           const Reference& reference, double relative = 0, double absolute = 0) {
    Data expected{result, {}};
    for (size_t i = 0; i < count; ++i) {
      std::vector<Scalar> arguments;
      for (const Data& input : inputs) arguments.push_back(input.values[i]);
      expected.values.push_back(reference(arguments));
    }
    auto finish = [&](Case test) {
      test.inputs = inputs;
      test.expected = expected;
      test.relative = relative;
      test.absolute = absolute;
      return test;
    };
    cases_.add_webgpu(finish(on_webgpu(name, inputs, result, body, true)));
    cases_.add_webgpu(finish(on_webgpu(name, inputs, result, body, false)));
    cases_.add_webgl(finish(on_webgl(name, inputs, result, body)));
  }

  void unary(UnaryOp op, const Data& x, double relative = 0, double absolute = 0) {
    const DType result = gives_boolean(op) ? DType::boolean : x.dtype;
    add(
        cat(name_of(op), " ", name_of(x.dtype)), {x}, result,
        [=](const std::vector<Expr>& v) { return ir::unary(op, v[0]); },
        [=](const std::vector<Scalar>& v) { return apply(op, v[0]); }, relative, absolute);
  }
  void binary(BinaryOp op, const Data& a, const Data& b, double relative = 0, double absolute = 0) {
    const DType result = is_comparison(op) ? DType::boolean : a.dtype;
    add(
        cat(name_of(op), " ", name_of(a.dtype)), {a, b}, result,
        [=](const std::vector<Expr>& v) { return ir::binary(op, v[0], v[1]); },
        [=](const std::vector<Scalar>& v) { return apply(op, v[0], v[1]); }, relative, absolute);
  }
  // The right operand a constant: other code.
  void with_constant(BinaryOp op, const Data& a, double b, double relative = 0) {
    const Scalar right = Scalar::of_float(a.dtype, b);
    add(
        cat(name_of(op), " ", name_of(a.dtype), " by ", b), {a}, a.dtype,
        [=](const std::vector<Expr>& v) { return ir::binary(op, v[0], constant(v[0]->type, b)); },
        [=](const std::vector<Scalar>& v) { return apply(op, v[0], right); }, relative);
  }
  // Of a quotient by a constant, which compilers multiply by its reciprocal, and by a value.
  void rounded_quotient(UnaryOp op, const Data& a, double divisor) {
    const Scalar by = Scalar::of_float(DType::f32, divisor);
    const Data divisors{DType::f32, std::vector(count, by)};
    const auto exact = [=](const std::vector<Scalar>& v) {
      return apply(op, apply(BinaryOp::div, v[0], by));
    };
    const std::string name = cat(name_of(op), " of quotient by ", divisor);
    add(
        name, {a}, DType::f32,
        [=](const std::vector<Expr>& v) {
          return ir::unary(op, v[0] / constant(v[0]->type, divisor));
        },
        exact);
    add(
        name + " loaded", {a, divisors}, DType::f32,
        [=](const std::vector<Expr>& v) { return ir::unary(op, v[0] / v[1]); }, exact);
  }
  void convert(DType to, const Data& x) {
    add(
        cat("cast ", name_of(x.dtype), " to ", name_of(to)), {x}, to,
        [=](const std::vector<Expr>& v) { return cast(v[0]->type.with_dtype(to), v[0]); },
        [=](const std::vector<Scalar>& v) { return ir::convert(to, v[0]); });
  }

  // `special` values first, then random ones of [low, high].
  Data floats(std::vector<double> special, double low, double high) {
    std::uniform_real_distribution<double> pick(low, high);
    Data data{DType::f32, {}};
    for (double value : special) data.values.push_back(Scalar::of_float(DType::f32, value));
    while (data.values.size() < count) {
      data.values.push_back(Scalar::of_float(DType::f32, pick(random_)));
    }
    return data;
  }
  // Each of `left` with each of `right`, then random pairs.
  std::pair<Data, Data> pairs(DType dtype, const std::vector<double>& values, double low,
                              double high) {
    std::uniform_real_distribution<double> pick(low, high);
    Data a{dtype, {}}, b{dtype, {}};
    for (double x : values) {
      for (double y : values) {
        a.values.push_back(Scalar::of_float(dtype, x));
        b.values.push_back(Scalar::of_float(dtype, y));
      }
    }
    while (a.values.size() < count) {
      a.values.push_back(Scalar::of_float(dtype, pick(random_)));
      b.values.push_back(Scalar::of_float(dtype, pick(random_)));
    }
    a.values.resize(count);
    b.values.resize(count);
    return {a, b};
  }

 private:
  Cases& cases_;
  std::mt19937 random_{7};
};

void add_floats(Elementwise& e) {
  const std::vector<double> all = {0,   -0.0, 1,   -1,   0.5,  -0.5,  1.5, 2.5,     -2.5, 3.5,
                                   inf, -inf, nan, 1e-5, 1e30, -1e30, 10,  -10,     88,   -88,
                                   100, -100, 2,   1e-3, 3e38, -3e38, 1e4, 2.49999, 4.7,  -4.7};
  const Data any = e.floats(all, -20, 20), unit = e.floats(all, -1, 1);
  const Data positive = e.floats({0, 1, inf, nan, 1e-30, 1e30, 0.999, 1.001, 2, -1, -inf}, 0, 50);
  const Data above_one = e.floats({1, 0, inf, nan, 1e30, 1.0001, 0.5, -inf, 1e4}, 1, 20);
  const Data angles = e.floats(
      {0, -0.0, nan, inf, -inf, 1e-4, 1000, -1000, 50000, 3.14159265, 1.57079633}, -100, 100);
  for (UnaryOp op : {UnaryOp::neg, UnaryOp::abs, UnaryOp::floor, UnaryOp::ceil, UnaryOp::round,
                     UnaryOp::trunc, UnaryOp::is_nan, UnaryOp::is_inf}) {
    e.unary(op, any);
  }
  constexpr double tight = 2e-6;
  e.unary(UnaryOp::sqrt, positive, tight);
  e.unary(UnaryOp::exp, any, 1e-5, 1e-37);
  e.unary(UnaryOp::log, positive, tight, 1e-6);
  e.unary(UnaryOp::sin, angles, tight, 1e-6);
  e.unary(UnaryOp::cos, angles, tight, 1e-6);
  e.unary(UnaryOp::tan, e.floats({0, 1, -1, nan, inf, 1e-3}, -1.5, 1.5), 5e-6, 1e-6);
  e.unary(UnaryOp::asin, unit, tight, 1e-6);
  e.unary(UnaryOp::acos, unit, tight, 1e-6);
  e.unary(UnaryOp::atan, any, tight, 1e-7);
  e.unary(UnaryOp::sinh, any, 1e-5, 1e-7);
  e.unary(UnaryOp::cosh, any, 1e-5, 1e-7);
  e.unary(UnaryOp::tanh, any, tight, 1e-7);
  e.unary(UnaryOp::asinh, any, tight, 1e-7);
  e.unary(UnaryOp::acosh, above_one, 5e-6, 1e-6);
  e.unary(UnaryOp::atanh, unit, 5e-6, 1e-7);
  e.unary(UnaryOp::erf, any, tight, 1e-7);

  for (double divisor : {0.3, 0.013, 0.0322114825, 3.0}) {
    std::vector<double> whole, half;
    for (int k = -200; k < 200; ++k) {
      whole.push_back(k * divisor);
      half.push_back((k + 0.5) * divisor);
    }
    e.rounded_quotient(UnaryOp::round, e.floats(half, -1, 1), divisor);
    e.rounded_quotient(UnaryOp::floor, e.floats(whole, -1, 1), divisor);
    e.rounded_quotient(UnaryOp::trunc, any, divisor);
  }

  const auto [a, b] =
      e.pairs(DType::f32, {0, -0.0, 1, -1, 2.5, -2.5, inf, -inf, nan, 1e20, 7}, -9, 9);
  for (BinaryOp op :
       {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::min, BinaryOp::max, BinaryOp::eq,
        BinaryOp::ne, BinaryOp::lt, BinaryOp::le, BinaryOp::gt, BinaryOp::ge}) {
    e.binary(op, a, b);
  }
  e.binary(BinaryOp::div, a, b, 1e-6);
  const auto [p, q] =
      e.pairs(DType::f32, {0, 1, -1, 2, -2, 0.5, -0.5, 3, inf, -inf, nan, -3, 1e10}, -6, 6);
  e.binary(BinaryOp::pow, p, q, 1e-5);
  const auto [m, n] =
      e.pairs(DType::f32, {0, 1, -1, 2.5, -2.5, 7, -7, inf, -inf, nan, 1000, 0.5}, -50, 50);
  e.binary(BinaryOp::rem, m, n, 1e-5, 1e-4);
  e.binary(BinaryOp::floormod, m, n, 1e-5, 1e-4);
  for (double limit : {0.0, 6.0, inf, -inf}) {
    e.with_constant(BinaryOp::max, any, limit);
    e.with_constant(BinaryOp::min, any, limit);
  }
  for (double exponent : {0.5, 2.0, 3.0, -1.0, 0.0}) {
    e.with_constant(BinaryOp::pow, positive, exponent, 1e-5);
  }
  e.add(
      "fma", {a, b}, DType::f32, [](const std::vector<Expr>& v) { return fma(v[0], v[1], v[0]); },
      [](const std::vector<Scalar>& v) { return apply_fma(v[0], v[1], v[0]); }, 1e-6, 1e-5);
  e.add(
      "select with infinity", {a, b}, DType::f32,
      [](const std::vector<Expr>& v) {
        return select(v[0] < v[1], lowest(v[0]->type), constant(v[0]->type, nan));
      },
      [](const std::vector<Scalar>& v) {
        return Scalar::of_float(DType::f32, v[0].f < v[1].f ? -inf : nan);
      });
  e.add(
      "logic", {a, b}, DType::boolean,
      [](const std::vector<Expr>& v) {
        const Expr p = v[0] < v[1], q = v[0] > 1.0, r = v[1] > 1.0;
        return binary(BinaryOp::logical_xor, (p && q) || !r, q || r);
      },
      [](const std::vector<Scalar>& v) {
        const bool p = v[0].f < v[1].f, q = v[0].f > 1, r = v[1].f > 1;
        return Scalar::of_int(DType::boolean, ((p && q) || !r) != (q || r));
      });
}

void add_integers(Elementwise& e) {
  const std::vector<double> small = {0, 1, -1, 2, -2, 3, -3, 7, 8, 127, -128, 100, 31};
  const std::vector<double> large = {0,  1,  -1, 2,   3,          -3,           7,
                                     32, 40, 31, 5e8, 2147483647, -2147483648.0};
  for (DType dtype : {DType::i32, DType::u32, DType::i8, DType::u8, DType::i16, DType::u16}) {
    const bool wide = byte_size(dtype) == 4;
    const bool has_sign = is_signed_int(dtype);
    const double limit = wide ? 2e9 : byte_size(dtype) == 2 ? 32000 : 127;
    const auto [a, b] = e.pairs(dtype, wide ? large : small, has_sign ? -limit : 0, limit);
    const auto [c, d] = e.pairs(dtype, wide ? large : small, has_sign ? -9 : 0, 40);
    for (BinaryOp op :
         {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::div, BinaryOp::rem,
          BinaryOp::floordiv, BinaryOp::floormod, BinaryOp::min, BinaryOp::max, BinaryOp::lt,
          BinaryOp::eq, BinaryOp::bit_and, BinaryOp::bit_or, BinaryOp::bit_xor}) {
      e.binary(op, a, b);
    }
    e.binary(BinaryOp::shl, c, d);
    e.binary(BinaryOp::shr, c, d);
    e.unary(UnaryOp::neg, a);
    e.unary(UnaryOp::bit_not, a);
    e.unary(UnaryOp::abs, a);
    for (double divisor : {1.0, 3.0, 8.0}) {
      e.with_constant(BinaryOp::div, a, divisor);
      e.with_constant(BinaryOp::rem, a, divisor);
      e.with_constant(BinaryOp::floordiv, a, divisor);
      e.with_constant(BinaryOp::floormod, a, divisor);
    }
    e.with_constant(BinaryOp::shl, a, 3);
    e.with_constant(BinaryOp::shr, a, 40);
    for (DType to : {DType::f32, DType::i32, DType::u32, DType::i8, DType::u8, DType::boolean}) {
      if (to != dtype && !(to == DType::f32 && wide)) e.convert(to, a);
    }
  }
  const Data f =
      e.floats({0,   -0.0, 0.9,  -0.9,  1.5, -1.5, 127.9, 128,          -128.5, -129,    255.5, 256,
                1e5, -1e5, 1e10, -1e10, inf, -inf, nan,   2147483520.0, 3e9,    65535.9, 1e-30},
               -300, 300);
  for (DType to : {DType::i32, DType::u32, DType::i8, DType::u8, DType::i16, DType::u16,
                   DType::boolean, DType::i64, DType::f16}) {
    if (to != DType::f16) e.convert(to, f);
  }
  e.add(
      "bit casts", {f}, DType::f32,
      [](const std::vector<Expr>& v) {
        const Expr bits = bitcast(v[0]->type.with_dtype(DType::i32), v[0]);
        return bitcast(v[0]->type,
                       binary(BinaryOp::bit_and, bits, constant_int(bits->type, 0x7fffffff)));
      },
      [](const std::vector<Scalar>& v) { return apply(UnaryOp::abs, v[0]); });
}

}  // namespace

void add_elementwise(Cases& cases) {
  Elementwise elementwise(cases);
  add_floats(elementwise);
  add_integers(elementwise);
}

}  // namespace gossamer::tests::gpu
