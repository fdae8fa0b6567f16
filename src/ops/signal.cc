// Fourier transforms as sums, and windows.
#include <cmath>

#include "ops/define.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

constexpr double pi = 3.14159265358979323846;

// e^(-+2 pi i k n / size), its real (part 0) or imaginary half; the product is reduced first, so
// that it stays exact.
struct Turn {
  Expr cosine, sine;
};
Turn turn(Expr k, Expr n, const Expr& size, bool inverse, DType dtype) {
  Expr angle = ir::cast(dtype, ir::floormod(k * n, size)) * (2 * pi) / ir::cast(dtype, size);
  Expr sine = ir::sin(angle);
  return {ir::cos(angle), inverse ? sine : -sine};
}

Result<> dft(Builder& b) {
  const Tensor& x = b.input(0);
  int rank = x.rank();
  int64_t axis = -2;
  if (b.has(2)) {
    GS_ASSIGN(Numbers given, b.host_ints(2));
    if (given.size() != 1) return b.error("axis must be one number");
    axis = given[0];
  }
  if (axis < 0) axis += rank;
  if (rank < 2 || axis < 0 || axis >= rank - 1) return b.error("axis is out of range");
  size_t at_axis = static_cast<size_t>(axis), last = static_cast<size_t>(rank) - 1;
  auto parts = ir::as_int(b.simplify(x.dim(-1)));
  if (!parts || (*parts != 1 && *parts != 2))
    return b.error("the last axis holds 1 (real) or 2 (complex) numbers");
  bool inverse = b.integer("inverse") != 0, onesided = b.integer("onesided") != 0;
  Expr length = x.dim(static_cast<int>(axis));
  Expr size = length;
  if (b.has(1)) {
    GS_ASSIGN(std::vector<Expr> given, b.host(1));
    size = given[0];
  }
  // Half a spectrum stands for the whole one when going back: the rest is its mirror image.
  bool halved = onesided && inverse;
  if (halved && !b.has(1)) size = b.simplify((length - 1) * 2.0);
  Shape shape = x.shape();
  shape[at_axis] = onesided && !inverse ? b.simplify(ir::floordiv(size, 2) + 1) : size;
  shape[last] = ir::index(halved ? 1 : 2);
  DType dtype = x.dtype(), wide = accumulator(dtype);
  b.output(0, b.reduce(
                  "dft", Builder::Join::sum, dtype, shape, {size},
                  [&](Point p, Point r) {
                    std::vector<Expr> at(p.begin(), p.end());
                    Expr mirrored = halved ? r[0] > ir::floordiv(size, 2) : Expr();
                    at[at_axis] = halved ? ir::select(mirrored, size - r[0], r[0]) : r[0];
                    auto part = [&](int64_t which) {
                      if (which >= *parts) return ir::zero(wide);
                      at[last] = ir::index(which);
                      Expr value = ir::cast(wide, x.at(at));
                      if (halved && which == 1) value = ir::select(mirrored, -value, value);
                      return b.same(size, length) || halved
                                 ? value
                                 : ir::select(r[0] < length, value, ir::zero(wide));
                    };
                    Expr re = part(0), im = part(1);
                    Turn t = turn(p[at_axis], r[0], size, inverse, wide);
                    Expr real = *parts == 2 ? re * t.cosine - im * t.sine : re * t.cosine;
                    if (halved) return real;
                    Expr imaginary = *parts == 2 ? re * t.sine + im * t.cosine : re * t.sine;
                    return ir::select(p[last] == 0, real, imaginary);
                  },
                  [&](Point, Expr sum) {
                    return ir::cast(dtype, inverse ? sum / ir::cast(wide, size) : sum);
                  }));
  return {};
}

struct Window {
  double a0, a1, a2;
};

OpDef window(std::string name, std::string doc, Window shape) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = 17,
          .inputs = {{"size", integer_index}},
          .outputs = {"output"},
          .attributes = {{"output_datatype", 1}, {"periodic", 1}},
          .define = [shape](Builder& b) -> Result<> {
            GS_ASSIGN(std::vector<Expr> size, b.host(0));
            auto dtype = dtype_of_onnx(b.integer("output_datatype"));
            if (size.size() != 1 || !dtype || !ir::is_float(*dtype)) {
              return b.error("size must be one number, `output_datatype` a float type");
            }
            Expr period = b.integer("periodic") ? size[0] : ir::max(size[0] - 1, 1.0);
            b.output(0, b.compute(stage_name(b), *dtype, {size[0]}, [&](Point p) {
              Expr angle = ir::cast(DType::f32, p[0]) * (2 * pi) / ir::cast(DType::f32, period);
              Expr value = ir::cos(angle) * shape.a1 + shape.a0;
              if (shape.a2 != 0) value = value + ir::cos(angle * 2.0) * shape.a2;
              return ir::cast(*dtype, value);
            }));
            return {};
          },
          .cases = {
              {.name = "periodic", .inputs = {int32s({}, {10})}},
              {.name = "symmetric", .attributes = {{"periodic", 0}}, .inputs = {int64s({}, {7})}}}};
}

}  // namespace

std::vector<OpDef> signal_family() {
  std::vector<TensorData> none = {{}};
  return {
      {.name = "DFT",
       .doc = "The discrete Fourier transform along an axis.",
       .since = 20,
       .inputs = {{"input", any_float},
                  {"dft_length", integer_index, InputDef::optional},
                  {"axis", only(DType::i64), InputDef::optional}},
       .outputs = {"output"},
       .attributes = {{"inverse", 0}, {"onesided", 0}},
       .define = dft,
       .cases = {{.name = "real", .shapes = {{2, 7, 1}}},
                 {.name = "complex inverse", .shapes = {{1, 6, 2}}, .attributes = {{"inverse", 1}}},
                 {.name = "half",
                  .shapes = {{1, 8, 3, 1}, {-1}},
                  .attributes = {{"onesided", 1}},
                  .inputs = {{}, {}, int64s({}, {1})}}}},
      window("HannWindow", "A raised cosine.", {0.5, -0.5, 0}),
      window("HammingWindow", "A raised cosine that does not reach 0.", {25.0 / 46, -21.0 / 46, 0}),
      window("BlackmanWindow", "A sum of two cosines.", {0.42, -0.5, 0.08}),
  };
}

}  // namespace gossamer::ops
