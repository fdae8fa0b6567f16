// Fourier transforms as sums, and windows.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/mul_div.h"
#include "ops/signal/fast_fourier.h"

namespace gossamer::ops {
namespace {

constexpr int64_t longest_product = 64;  // of frames

// e^(-+2 pi i k n / size), its real (part 0) or imaginary half. The product is reduced first, and
// both are sines of at most a quarter turn, so that quarters are exact.
struct Turn {
  Expr cosine, sine;
};
Turn turn(const Builder& b, const Expr& k, const Expr& n, const Expr& size, bool inverse,
          DType dtype) {
  const Expr whole = product_modulo(b, k, n, size);
  const Expr beyond = whole * 2 > size;  // half a turn
  const Expr part = ir::select(beyond, size - whole, whole);
  const auto sine_of = [&](const Expr& number, double of) {
    return ir::sin(ir::cast(dtype, number) * of / ir::cast(dtype, size));
  };
  const Expr sine = sine_of(ir::min(part * 2, size - part * 2), std::numbers::pi);
  return {sine_of(size - part * 4, std::numbers::pi / 2),
          ir::select(beyond, inverse ? -sine : sine, inverse ? sine : -sine)};
}

// x's number along `axis`, padded by zeros or cut to `size`, of the part 0 (real) or 1. Half a
// spectrum stands for the whole one when going back: the rest is its mirror image.
struct Signal {
  const Tensor& x;
  size_t axis;
  int64_t parts;
  Expr size, length;
  bool halved, fits;
  DType wide;

  Expr at(std::vector<Expr> point, const Expr& place, int64_t part) const {
    if (part >= parts) return ir::zero(wide);
    const Expr mirrored = halved ? place > ir::floordiv(size, 2) : Expr();
    point[axis] = halved ? ir::select(mirrored, size - place, place) : place;
    point.back() = ir::index(part);
    const Expr value = ir::cast(wide, x.at(point));
    if (halved) return part == 1 ? ir::select(mirrored, -value, value) : value;
    return fits ? value : ir::select(place < length, value, ir::zero(wide));
  }
};

Result<> is_signal(const Builder& b, std::optional<int64_t> parts) {
  if (!parts) return b.error("the extent of the last axis must be known when compiling");
  if (*parts != 1 && *parts != 2)
    return b.error("the last axis holds 1 (real) or 2 (complex) numbers");
  return {};
}

// A length that is known: by its factors. Else n^2 terms.
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
  GS_TRY(is_signal(b, parts));
  bool inverse = b.integer("inverse") != 0, onesided = b.integer("onesided") != 0;
  Expr length = x.dim(static_cast<int>(axis));
  Expr size = length;
  if (b.has(1)) {
    GS_ASSIGN(std::vector<Expr> given, b.host(1));
    if (given.size() != 1) return b.error("dft_length is one number");
    size = given[0];
  }
  // Half a spectrum stands for the whole one when going back: the rest is its mirror image.
  bool halved = onesided && inverse;
  if (halved && !b.has(1)) size = b.simplify((length - 1) * 2.0);
  Shape shape = x.shape();
  shape[at_axis] = onesided && !inverse ? b.simplify(ir::floordiv(size, 2) + 1) : size;
  shape[last] = ir::index(halved ? 1 : 2);
  GS_TRY(check_modulus(b, size));
  const DType dtype = x.dtype(), wide = accumulator(dtype);
  const Signal signal{x, at_axis, *parts, size, length, halved, b.same(size, length), wide};
  if (const auto known = ir::as_int(b.simplify(size)); known && *known > 0) {
    Shape planes = shape;
    planes.erase(planes.begin() + axis);
    planes.back() = ir::index(*parts);
    planes.push_back(size);
    const Tensor in = b.compute("dft.in", wide, planes, [&](Point p) {
      std::vector<Expr> at(p.begin(), p.end() - 1);
      at.insert(at.begin() + axis, p.back());
      Expr value = signal.at(at, p.back(), 0);
      if (*parts == 2) value = ir::select(at.back() == 0, value, signal.at(at, p.back(), 1));
      return value;
    });
    const Tensor found = fast_fourier(b, "dft", in, *known, inverse);
    b.output(0, b.compute("dft", dtype, shape, [&](Point p) {
      std::vector<Expr> at(p.begin(), p.end());
      at.erase(at.begin() + axis);
      at.push_back(p[at_axis]);
      const Expr value = found.at(at);
      return ir::cast(dtype, inverse ? value * (1.0 / static_cast<double>(*known)) : value);
    }));
    return {};
  }
  b.output(0, b.reduce(
                  "dft", Builder::Join::sum, dtype, shape, {size},
                  [&](Point p, Point r) {
                    const std::vector<Expr> at(p.begin(), p.end());
                    const Expr re = signal.at(at, r[0], 0), im = signal.at(at, r[0], 1);
                    Turn t = turn(b, p[at_axis], r[0], size, inverse, wide);
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

// Frames of a length that is known: by its factors. Else, and of short ones, as rows of a product
// with a table of turns, which is made once.
Result<> stft(Builder& b) {
  Tensor window = b.input(2), x = b.input(0);
  // What PyTorch exports and ONNX Runtime takes: a real signal without the last axis.
  if (x.rank() == 2) x = b.reshape("stft.signal", x, {x.dim(0), x.dim(1), ir::index(1)});
  if (window && window.rank() == 2 && ir::is_const(window.dim(0), 1))
    window = b.reshape("stft.window", window, {window.dim(1)});
  if (x.rank() != 3 || (window && window.rank() != 1))
    return b.error(
        "the signal is [batch, samples] or [batch, samples, 1 or 2], the window [frame]");
  if (window && window.dtype() != x.dtype()) return b.error("signal and window differ in type");
  auto parts = ir::as_int(b.simplify(x.dim(2)));
  GS_TRY(is_signal(b, parts));
  GS_ASSIGN(std::vector<Expr> step, b.host(1));
  Expr size = window ? window.dim(0) : x.dim(1), taps = size;
  if (b.has(3)) {
    GS_ASSIGN(std::vector<Expr> given, b.host(3));
    if (given.size() != 1) return b.error("frame_length must be one number");
    size = given[0];
    if (!window) taps = size;
  }
  if (step.size() != 1) return b.error("frame_step must be one number");
  GS_TRY(b.require(step[0] > 0 && taps <= size && size <= x.dim(1),
                   "frame_step, frame_length and the window do not fit the signal"));
  GS_TRY(check_modulus(b, size));
  DType dtype = x.dtype(), wide = accumulator(dtype);
  Expr bins = b.integer("onesided") ? b.simplify(ir::floordiv(size, 2) + 1) : size;
  const Expr frames = b.simplify(ir::floordiv(x.dim(1) - size, step[0]) + 1);
  const Shape shape{x.dim(0), frames, bins, ir::index(2)};
  if (const auto known = ir::as_int(b.simplify(size)); known && *known > longest_product) {
    const Tensor in =
        b.compute("stft.in", wide, {x.dim(0), frames, ir::index(*parts), size}, [&](Point p) {
          Expr value = ir::cast(wide, x({p[0], b.simplify(p[1] * step[0] + p[3]), p[2]}));
          if (window) value = value * ir::cast(wide, window({p[3]}));
          return b.same(taps, size) ? value : ir::select(p[3] < taps, value, ir::zero(wide));
        });
    const Tensor found = fast_fourier(b, "stft", in, *known, false);
    b.output(0, b.compute("stft", dtype, shape, [&](Point p) {
      return ir::cast(dtype, found({p[0], p[1], p[3], p[2]}));
    }));
    return {};
  }
  Tensor table = b.compute("stft.turns", wide, {taps, bins, ir::index(2)}, [&](Point p) {
    Turn t = turn(b, p[1], p[0], size, false, wide);
    Expr value = ir::select(p[2] == 0, t.cosine, t.sine);
    return window ? value * ir::cast(wide, window({p[0]})) : value;
  });
  b.output(0, b.reduce("stft", Builder::Join::sum, dtype, shape, {taps}, [&](Point p, Point r) {
    auto part = [&](int64_t which) {
      Expr at = b.simplify(p[1] * step[0] + r[0]);
      return ir::cast(wide, x({p[0], at, ir::index(which)}));
    };
    Expr turned = part(0) * table({r[0], p[2], p[3]});
    if (*parts == 1) return turned;
    // i times a turn: its parts change places.
    Expr other = table({r[0], p[2], 1 - p[3]});
    return turned + part(1) * ir::select(p[3] == 0, -other, other);
  }));
  return {};
}

// Triangles between neighbouring frequencies that are even on the mel scale.
Result<> mel_weights(Builder& b) {
  std::vector<double> numbers;
  for (int i = 0; i < 5; ++i) {
    GS_ASSIGN(std::vector<Expr> given, b.host(i));
    auto known = given.size() == 1 ? ir::as_float(given[0]) : std::nullopt;
    if (!known)
      return b.error(
          cat("`", b.def().inputs[static_cast<size_t>(i)].name, "` must be a constant number"));
    numbers.push_back(*known);
  }
  auto dtype = dtype_of_onnx(b.integer("output_datatype"));
  if (!dtype || !(any_number & only(*dtype))) return b.error("`output_datatype` is not a number's");
  int64_t mels = static_cast<int64_t>(numbers[0]), size = static_cast<int64_t>(numbers[1]);
  if (mels < 1 || mels > (1 << 16) || size < 1 || size > (1 << 20) || numbers[2] <= 0)
    return b.error("sizes and the sample rate must be positive");
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double low = mel(numbers[3]), step = (mel(numbers[4]) - low) / static_cast<double>(mels + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < mels + 2; ++i) {
    double hertz = 700 * (std::pow(10, (low + step * static_cast<double>(i)) / 2595) - 1);
    double edge = std::floor(static_cast<double>(size + 1) * hertz / numbers[2]);
    if (!(edge >= 0 && edge < 1e9)) return b.error("the edges are out of range");
    edges.push_back(static_cast<int64_t>(edge));
  }
  int64_t rows = size / 2 + 1;
  if (edges[static_cast<size_t>(mels)] >= rows)
    return b.error("the upper edge lies above half the sample rate");
  std::vector<float> table(static_cast<size_t>(rows * mels), 0.0f);
  auto element = [&](int64_t row, int64_t column) -> float& {
    return table[static_cast<size_t>(row * mels + column)];
  };
  for (int64_t i = 0; i < mels; ++i) {
    int64_t left = edges[static_cast<size_t>(i)], middle = edges[static_cast<size_t>(i) + 1],
            right = edges[static_cast<size_t>(i) + 2];
    auto share = [](int64_t part, int64_t all) {
      return static_cast<float>(static_cast<double>(part) / static_cast<double>(all));
    };
    if (left == middle) element(middle, i) = 1;
    for (int64_t j = left; left < middle && j <= middle; ++j)
      element(j, i) = share(j - left, middle - left);
    for (int64_t j = middle; j < std::min(right, rows); ++j)
      element(j, i) = share(right - j, right - middle);
  }
  Tensor weights = b.constant(floats({rows, mels}, std::move(table)));
  b.output(0, b.compute("mel_weights", *dtype, weights.shape(),
                        [&](Point p) { return ir::cast(*dtype, weights.at(p)); }));
  return {};
}

struct Window {
  double a0, a1, a2;
};

OpDef window(std::string name, Doc doc, Window shape) {
  return {
      .name = std::move(name),
      .doc = std::move(doc),
      .since = 17,
      .inputs = {{"size", integer_index}},
      .outputs = {"output"},
      .attributes = {{"output_datatype", 1}, {"periodic", 1}},
      .define = [shape](Builder& b) -> Result<> {
        GS_ASSIGN(std::vector<Expr> size, b.elements(0));
        auto dtype = dtype_of_onnx(b.integer("output_datatype"));
        if (size.size() != 1 || !dtype || !ir::is_float(*dtype)) {
          return b.error("size must be one number, `output_datatype` a float type");
        }
        Expr period = b.integer("periodic") ? size[0] : ir::max(size[0] - 1, 1.0);
        b.output(0, b.compute(stage_name(b), *dtype, {size[0]}, [&](Point p) {
          Expr angle =
              ir::cast(DType::f32, p[0]) * (2 * std::numbers::pi) / ir::cast(DType::f32, period);
          Expr value = ir::cos(angle) * shape.a1 + shape.a0;
          if (shape.a2 != 0) value = value + ir::cos(angle * 2.0) * shape.a2;
          return ir::cast(*dtype, value);
        }));
        return {};
      },
      .cases = [] -> Cases {
        return {
            {.name = "periodic", .inputs = {int32s({}, {10})}},
            {.name = "symmetric", .attributes = {{"periodic", 0}}, .inputs = {int64s({}, {7})}}};
      }};
}

}  // namespace

std::vector<OpDef> fourier_family() {
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
       .cases = [] -> Cases {
         return {{.name = "real", .shapes = {{2, 7, 1}}},
                 {.name = "factors",
                  .shapes = {{2, 96, 3, 2}},
                  .attributes = {{"inverse", 1}},
                  .inputs = {{}, {}, int64s({}, {1})}},
                 {.name = "a large prime", .shapes = {{1, 67, 1}}},
                 {.name = "padded half",
                  .shapes = {{2, 70, 1}, {}},
                  .attributes = {{"onesided", 1}},
                  .inputs = {{}, int64s({}, {80})}},
                 {.name = "back from half",
                  .shapes = {{1, 41, 2}},
                  .attributes = {{"onesided", 1}, {"inverse", 1}}},
                 {.name = "complex inverse", .shapes = {{1, 6, 2}}, .attributes = {{"inverse", 1}}},
                 {.name = "half",
                  .shapes = {{1, 8, 3, 1}, {-1}},
                  .attributes = {{"onesided", 1}},
                  .inputs = {{}, {}, int64s({}, {1})}}};
       }},
      {.name = "STFT",
       .doc = "Fourier transforms of a signal's overlapping frames.",
       .since = 17,
       .inputs = {{"signal", any_float},
                  {"frame_step", integer_index},
                  {"window", any_float, InputDef::optional},
                  {"frame_length", integer_index, InputDef::optional}},
       .outputs = {"output"},
       .attributes = {{"onesided", 1}},
       .define = stft,
       .cases = [] -> Cases {
         return {
             {.name = "half",
              .shapes = {{2, 32, 1}, {}, {-1}},
              .inputs = {{}, int64s({}, {6}), {}, int64s({}, {10})}},
             {.name = "window", .shapes = {{1, 20, 1}, {}, {8}}, .inputs = {{}, int64s({}, {4})}},
             {.name = "complex",
              .shapes = {{1, 15, 2}, {}, {7}},
              .attributes = {{"onesided", 0}},
              .inputs = {{}, int64s({}, {4}), {}, int64s({}, {7})}},
             {.name = "window in a row",
              .shapes = {{1, 20, 1}, {}, {1, 8}},
              .inputs = {{}, int64s({}, {4})}},
             {.name = "factors",
              .shapes = {{1, 200, 1}, {}, {72}},
              .inputs = {{}, int64s({}, {40}), {}, int64s({}, {80})}},
             {.name = "samples alone",
              .shapes = {{2, 20}, {1}, {8}},
              .inputs = {{}, int64s({1}, {4})}}};
       }},
      {.name = "MelWeightMatrix",
       .doc = "The weights that gather a spectrum into mel bands.",
       .since = 17,
       .inputs = {{"num_mel_bins", integer_index},
                  {"dft_length", integer_index},
                  {"sample_rate", integer_index},
                  {"lower_edge_hertz", any_float},
                  {"upper_edge_hertz", any_float}},
       .outputs = {"output"},
       .attributes = {{"output_datatype", 1}},
       .define = mel_weights,
       .cases = [] -> Cases {
         return {{.name = "speech",
                  .inputs = {int32s({}, {8}), int32s({}, {32}), int32s({}, {8192}),
                             floats({}, {100}), floats({}, {4000})}}};
       }},
      window("HannWindow", "A raised cosine.", {0.5, -0.5, 0}),
      window("HammingWindow", "A raised cosine that does not reach 0.", {25.0 / 46, -21.0 / 46, 0}),
      window("BlackmanWindow", "A sum of two cosines.", {0.42, -0.5, 0.08}),
  };
}

}  // namespace gossamer::ops
