// How numbers follow from dimensions, found from a few examples of both.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gossamer::tensor {

// Of whole numbers: (numerator * (product of dimensions) + more) / denominator + a dimension +
// offset, where quotients are rounded down.
struct Formula {
  static constexpr int most_factors = 3;
  static constexpr int16_t none = -1;

  // Numbers of dimensions: `count` factors, and a second one of a sum.
  std::array<int16_t, most_factors> factors = {};
  int16_t count = 0, term = none;
  int64_t numerator = 1, denominator = 1, offset = 0;
  int64_t more = 0;  // denominator - 1: a quotient is rounded up

  bool is_constant() const { return count == 0; }
  // The number of the dimension that it is; -1: it is another number.
  int dimension() const {
    const bool plain = numerator == 1 && denominator == 1 && term == none && offset == 0 && !more;
    return plain && count == 1 ? factors[0] : none;
  }
};

// Of other numbers: a formula times `scale` plus `shift`, and then what `last` does.
struct RealFormula {
  enum Last : uint16_t { same, reciprocal, root, reciprocal_root };
  Formula whole;
  double scale = 1, shift = 0;
  Last last = same;

  bool is_constant() const { return whole.is_constant(); }
};

// Dimensions in several examples: values[d][t] is dimension d in example t.
class Examples {
 public:
  explicit Examples(std::vector<std::vector<int64_t>> values);

  // The simplest formula that gives numbers[t] in example t; none where there is none.
  std::optional<Formula> whole(std::span<const int64_t> numbers) const;
  // The same for floats, which are rounded to f32.
  std::optional<RealFormula> real(std::span<const double> numbers) const;

 private:
  struct Product {
    Formula formula;
    std::vector<int64_t> values;
  };
  std::optional<Formula> scaled(const Product& product, std::span<const int64_t> numbers) const;
  std::optional<Formula> summed(std::span<const int64_t> numbers) const;
  std::optional<Formula> quotient(std::span<const int64_t> numbers) const;
  std::optional<RealFormula> line(std::span<const double> numbers) const;

  std::vector<std::vector<int64_t>> values_;
  std::vector<Product> products_;  // the simplest ones first
};

}  // namespace gossamer::tensor
