#include "ops/signal/fast_fourier.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "ir/scalar.h"
#include "ops/mul_div.h"

namespace gossamer::ops {
namespace {

// One sum is cheaper than several below the first; of longer ones each is at most the second, or a
// prime.
constexpr int64_t whole = 64, most = 32;

struct Root {
  Expr cosine, sine;
};

// Empty where a prime is too large for one sum.
std::vector<int64_t> factors_of(int64_t n) {
  if (n <= whole) return {n};
  std::vector<int64_t> factors;
  while (n > 1) {
    int64_t factor = most;
    while (factor > 1 && n % factor != 0) --factor;
    if (factor == 1) {  // primes above `most` are left
      for (factor = most + 1; factor <= whole && n % factor != 0;) ++factor;
      if (factor > whole) return {};
    }
    factors.push_back(factor);
    n /= factor;
  }
  return factors;
}

TensorData numbers(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  const auto size = static_cast<size_t>(ir::byte_size(dtype));
  TensorData data{dtype, std::move(shape), std::vector<std::byte>(values.size() * size), {}};
  for (size_t i = 0; i < values.size(); ++i)
    ir::write_scalar(ir::Scalar::of_float(dtype, values[i]), &data.bytes[i * size]);
  return data;
}

// Roots of e^(-+2 pi i / size), from constants that kernels read at load: those of more than a few
// are products of two.
class Roots {
 public:
  Roots(Builder& b, DType dtype, int64_t size, bool inverse) {
    step_ = size <= 1024 ? size : 256;
    const auto table = [&](int64_t count, int64_t step) {
      std::vector<double> values;
      for (const bool sine : {false, true}) {
        for (int64_t at = 0; at < count; ++at) {
          const double angle =
              2 * std::numbers::pi * static_cast<double>(at * step) / static_cast<double>(size);
          values.push_back(sine ? (inverse ? std::sin(angle) : -std::sin(angle)) : std::cos(angle));
        }
      }
      return b.constant(numbers(dtype, {2, count}, values));
    };
    fine_ = table(step_, 1);
    if (step_ < size) coarse_ = table((size + step_ - 1) / step_, step_);
  }

  // `times` turns, less than the size.
  Root operator()(const Expr& times) const {
    const auto from = [](const Tensor& table, const Expr& at) {
      return Root{table({ir::index(0), at}), table({ir::index(1), at})};
    };
    if (!coarse_) return from(fine_, times);
    const Root a = from(fine_, ir::floormod(times, ir::index(step_)));
    const Root c = from(coarse_, ir::floordiv(times, ir::index(step_)));
    return {a.cosine * c.cosine - a.sine * c.sine, a.cosine * c.sine + a.sine * c.cosine};
  }

 private:
  int64_t step_ = 0;
  Tensor fine_, coarse_;
};

// Half `part` of the product of a number and a turn of the table [2, ..] at `place`.
Expr turned(const Expr& real, const Expr& imaginary, const Tensor& table, const Expr& part,
            std::vector<Expr> place) {
  place.insert(place.begin(), part);
  const Expr same = table.at(place);
  if (!imaginary.get()) return real * same;
  place[0] = ir::index(1) - part;
  const Expr other = table.at(place);  // i times a turn: its parts change places
  return real * same + imaginary * ir::select(part == 0, -other, other);
}

Expr part_of(const Root& t, const Expr& part) { return ir::select(part == 0, t.cosine, t.sine); }

// With n = r m, j = m j1 + j2 and k = k1 + r k2: sums over j1 for each k1, times e^(j2 k1 / n), and
// transforms of length m over j2. A pass sees [.., part, what is left of j, digits of k], the last
// digit first, so that all of them are k in the end.
Tensor by_factors(Builder& b, const std::string& name, Tensor x, int64_t n,
                  const std::vector<int64_t>& factors, bool inverse) {
  const DType dtype = x.dtype();
  const size_t at_part = static_cast<size_t>(x.rank()) - 2, at_left = at_part + 1;
  Shape shape = x.shape();
  const Shape spectrum = [&] {
    Shape all = shape;
    all[at_part] = ir::index(2);
    return all;
  }();
  int64_t left = n;
  for (const int64_t r : factors) {
    const Expr radix = ir::index(r), parts = shape[at_part];
    const int64_t length = std::exchange(left, left / r);
    const Expr rest = ir::index(left);
    const Roots roots(b, dtype, r, inverse);
    const Tensor sums =
        b.compute(name + ".turns", dtype, {ir::index(2), parts, radix, radix}, [&](Point p) {
          const Root t = roots(ir::floormod(p[2] * p[3], radix));
          const Expr other = ir::select(p[0] == 0, -t.sine, t.cosine);
          return ir::select(p[1] == 0, part_of(t, p[0]), other);
        });
    shape[at_part] = ir::index(2);
    shape[at_left] = rest;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at_left) + 1, radix);
    const auto digit = static_cast<std::ptrdiff_t>(at_left) + 1;
    x = b.reduce(
        name + ".pass", Builder::Join::sum, dtype, shape, {parts, radix}, [&](Point p, Point over) {
          std::vector<Expr> from(p.begin(), p.end());
          from.erase(from.begin() + digit);
          from[at_part] = over[0];
          from[at_left] = over[1] * rest + p[at_left];
          return x.at(from) * sums({p[at_part], over[0], over[1], p[static_cast<size_t>(digit)]});
        });
    if (left == 1) break;
    const Roots of_length(b, dtype, length, inverse);
    const Tensor turns = b.compute(name + ".twiddles", dtype, {ir::index(2), rest, radix},
                                   [&](Point p) { return part_of(of_length(p[1] * p[2]), p[0]); });
    x = b.compute(name + ".turned", dtype, shape, [&](Point p) {
      std::vector<Expr> at(p.begin(), p.end());
      const auto half = [&](int64_t which) {
        at[at_part] = ir::index(which);
        return x.at(at);
      };
      return turned(half(0), half(1), turns, p[at_part],
                    {p[at_left], p[static_cast<size_t>(digit)]});
    });
  }
  return b.reshape(name + ".order", x, spectrum);
}

// jk = (j^2 + k^2 - (k - j)^2) / 2: a convolution with e^(i pi j^2 / n), as a product of spectra.
Tensor by_convolution(Builder& b, const std::string& name, const Tensor& x, int64_t n,
                      bool inverse) {
  const DType dtype = x.dtype();
  const size_t at_part = static_cast<size_t>(x.rank()) - 2, at_place = at_part + 1;
  const bool real = ir::is_const(x.dim(-2), 1);
  int64_t size = 1;
  while (size < 2 * n - 1) size *= 2;
  const Expr length = ir::index(n), padded = ir::index(size), two = ir::index(2);
  const Roots halves(b, dtype, 2 * n, inverse);
  const Tensor chirp = b.compute(name + ".chirp", dtype, {two, length}, [&](Point p) {
    return part_of(halves(product_modulo(b, p[1], p[1], ir::index(2 * n))), p[0]);
  });
  const Tensor kernel = b.compute(name + ".kernel", dtype, {two, padded}, [&](Point p) {
    const Expr distance = ir::min(p[1], padded - p[1]);
    const Expr value = chirp({p[0], distance});
    return ir::select(distance < length, ir::select(p[0] == 0, value, -value), ir::zero(dtype));
  });
  const auto half = [](const Tensor& of, Point p, size_t at, int64_t which) {
    std::vector<Expr> from(p.begin(), p.end());
    from[at] = ir::index(which);
    return of.at(from);
  };
  Shape shape = x.shape();
  shape[at_part] = two;
  const Shape spectrum = shape;
  shape[at_place] = padded;
  const Tensor signal = b.compute(name + ".signal", dtype, shape, [&](Point p) {
    const Expr value = turned(half(x, p, at_part, 0), real ? Expr() : half(x, p, at_part, 1), chirp,
                              p[at_part], {p[at_place]});
    return ir::select(p[at_place] < length, value, ir::zero(dtype));
  });
  const std::vector<int64_t> factors = factors_of(size);
  const Tensor of_kernel = by_factors(b, name + ".kernel", kernel, size, factors, false);
  const Tensor of_signal = by_factors(b, name + ".signal", signal, size, factors, false);
  // Back through conjugates.
  const Tensor product = b.compute(name + ".product", dtype, shape, [&](Point p) {
    const Expr value = turned(half(of_signal, p, at_part, 0), half(of_signal, p, at_part, 1),
                              of_kernel, p[at_part], {p[at_place]});
    return ir::select(p[at_part] == 0, value, -value);
  });
  const Tensor found = by_factors(b, name + ".back", product, size, factors, false);
  return b.compute(name + ".found", dtype, spectrum, [&](Point p) {
    const Expr value = turned(half(found, p, at_part, 0), -half(found, p, at_part, 1), chirp,
                              p[at_part], {p[at_place]});
    return value * (1.0 / static_cast<double>(size));
  });
}

}  // namespace

Tensor fast_fourier(Builder& b, const std::string& name, const Tensor& x, int64_t n, bool inverse) {
  const std::vector<int64_t> factors = factors_of(n);
  if (factors.empty()) return by_convolution(b, name, x, n, inverse);
  return by_factors(b, name, x, n, factors, inverse);
}

}  // namespace gossamer::ops
