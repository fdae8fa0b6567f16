#include "tensor/formula.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace gossamer::tensor {
namespace {

constexpr int64_t most_parts = 64;
constexpr double largest_whole = 9007199254740992.0;  // 2^53
constexpr double tolerance = 1e-6;                    // relative: numbers were rounded to f32

template <class T>
bool is_same(std::span<const T> numbers) {
  return std::ranges::all_of(numbers, [&](T number) { return number == numbers[0]; });
}

bool is_near(double a, double b) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

}  // namespace

Examples::Examples(std::vector<std::vector<int64_t>> values) : values_(std::move(values)) {
  size_t begin = 0;
  const auto add = [&](Product product, size_t dim) {
    product.formula.factors[static_cast<size_t>(product.formula.count++)] =
        static_cast<int16_t>(dim);
    for (size_t t = 0; t < product.values.size(); ++t) product.values[t] *= values_[dim][t];
    products_.push_back(std::move(product));
  };
  for (size_t d = 0; d < values_.size(); ++d)
    add({Formula(), std::vector<int64_t>(values_[d].size(), 1)}, d);
  for (int degree = 1; degree < Formula::most_factors; ++degree) {
    const size_t end = products_.size();
    for (; begin < end; ++begin) {
      const Product product = products_[begin];
      const auto last = product.formula.factors[static_cast<size_t>(degree) - 1];
      for (auto d = static_cast<size_t>(last); d < values_.size(); ++d) add(product, d);
    }
  }
}

// A whole multiple, and something added.
std::optional<Formula> Examples::scaled(const Product& product,
                                        std::span<const int64_t> numbers) const {
  const int64_t run = product.values[1] - product.values[0], rise = numbers[1] - numbers[0];
  if (run == 0 || rise == 0 || rise % run != 0) return std::nullopt;
  Formula made = product.formula;
  made.numerator = rise / run;
  made.offset = numbers[0] - made.numerator * product.values[0];
  for (size_t t = 0; t < numbers.size(); ++t)
    if (made.numerator * product.values[t] + made.offset != numbers[t]) return std::nullopt;
  return made;
}

// A sum of two dimensions, and something added.
std::optional<Formula> Examples::summed(std::span<const int64_t> numbers) const {
  for (size_t a = 0; a < values_.size(); ++a) {
    for (size_t b = a + 1; b < values_.size(); ++b) {
      Formula made = products_[a].formula;
      made.term = static_cast<int16_t>(b);
      made.offset = numbers[0] - values_[a][0] - values_[b][0];
      bool fits = true;
      for (size_t t = 0; t < numbers.size(); ++t)
        fits = fits && values_[a][t] + values_[b][t] + made.offset == numbers[t];
      if (fits) return made;
    }
  }
  return std::nullopt;
}

std::optional<Formula> Examples::whole(std::span<const int64_t> numbers) const {
  if (is_same(numbers)) return Formula{.offset = numbers[0]};
  std::optional<Formula> found;
  const auto better = [&](std::optional<Formula> made) {
    // A multiple is likelier than a multiple and something added.
    if (made && (!found || (found->offset != 0 && made->offset == 0))) found = made;
  };
  for (size_t i = 0; i < products_.size(); ++i) {
    // Sums come before products.
    if (i == values_.size()) better(summed(numbers));
    if (found && products_[i].formula.count > found->count) break;
    better(scaled(products_[i], numbers));
  }
  if (found) return found;
  return quotient(numbers);
}

// A part of a dimension, as the rows of patches of an image; rounded down or up.
std::optional<Formula> Examples::quotient(std::span<const int64_t> numbers) const {
  const auto fits = [&](const Product& product, const Formula& made) {
    for (size_t t = 0; t < numbers.size(); ++t) {
      const int64_t whole = made.numerator * product.values[t] + made.more;
      if (whole / made.denominator != numbers[t]) return false;
    }
    return true;
  };
  for (const Product& product : products_) {
    const int64_t common = std::gcd(numbers[0], product.values[0]);
    if (common == 0 || numbers[0] <= 0) continue;
    Formula made = product.formula;
    made.numerator = numbers[0] / common;
    made.denominator = product.values[0] / common;
    if (fits(product, made)) return made;
  }
  for (const Product& product : products_) {
    for (int64_t denominator = 2; denominator <= most_parts; ++denominator) {
      for (const int64_t more : {int64_t{0}, denominator - 1}) {
        Formula made = product.formula;
        made.denominator = denominator;
        made.more = more;
        if (fits(product, made)) return made;
      }
    }
  }
  return std::nullopt;
}

std::optional<RealFormula> Examples::line(std::span<const double> numbers) const {
  for (const Product& product : products_) {
    const auto run = static_cast<double>(product.values[1] - product.values[0]);
    if (run == 0) continue;
    RealFormula made{product.formula, (numbers[1] - numbers[0]) / run};
    if (made.scale == 0) continue;
    const auto first = static_cast<double>(product.values[0]);
    // Rounding leaves something of a sum that is none.
    made.shift = numbers[0] - made.scale * first;
    const double whole = std::round(made.shift / made.scale);
    if (std::abs(made.shift / made.scale - whole) < 1e-3) {
      made.scale = numbers[0] / (first + whole);
      made.shift = made.scale * whole;
    }
    bool fits = true;
    for (size_t t = 0; t < numbers.size(); ++t) {
      const double value = made.scale * static_cast<double>(product.values[t]) + made.shift;
      fits = fits && is_near(value, numbers[t]);
    }
    if (fits) return made;
  }
  return std::nullopt;
}

std::optional<RealFormula> Examples::real(std::span<const double> numbers) const {
  if (is_same(numbers)) return RealFormula{Formula(), 0, numbers[0]};
  std::vector<int64_t> integers;
  for (const double number : numbers)
    if (std::abs(number) < largest_whole && number == std::floor(number))
      integers.push_back(static_cast<int64_t>(number));
  if (integers.size() == numbers.size()) {
    if (auto found = whole(integers)) return RealFormula{*found};
  }
  struct Form {
    RealFormula::Last last;
    bool inverted, squared;
  };
  constexpr std::array forms{
      Form{RealFormula::same, false, false}, Form{RealFormula::reciprocal, true, false},
      Form{RealFormula::root, false, true}, Form{RealFormula::reciprocal_root, true, true}};
  for (const Form& form : forms) {
    std::vector<double> changed(numbers.begin(), numbers.end());
    for (double& number : changed) {
      if (form.squared) number = number < 0 ? std::nan("") : number * number;
      if (form.inverted) number = 1 / number;
    }
    if (!std::ranges::all_of(changed, [](double number) { return std::isfinite(number); }))
      continue;
    auto found = line(changed);
    if (!found) continue;
    found->last = form.last;
    return found;
  }
  return std::nullopt;
}

}  // namespace gossamer::tensor
