// Fourier transforms by factors against sums in 64 bits.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "interp/case_values.h"

namespace gossamer::interp {
namespace {

using Complex = std::complex<double>;

float sample(int64_t at) { return static_cast<float>(std::sin(1.7 * static_cast<double>(at))); }

// [1, n, parts], and what the entry makes of it: [1, n, 2].
std::vector<double> transformed(int64_t n, int64_t parts, bool inverse) {
  std::vector<float> samples;
  for (int64_t i = 0; i < n * parts; ++i) samples.push_back(sample(i));
  return values_of("", "DFT", {{"inverse", inverse ? 1 : 0}},
                   {ops::floats({1, n, parts}, samples)});
}

void expect_sums(int64_t n, int64_t parts, bool inverse) {
  const std::vector<double> found = transformed(n, parts, inverse);
  ASSERT_EQ(found.size(), static_cast<size_t>(2 * n));
  double largest = 0, error = 0;
  for (int64_t k = 0; k < n; ++k) {
    Complex sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      const double angle =
          (inverse ? 2 : -2) * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n);
      sum +=
          Complex(sample(j * parts), parts == 2 ? sample(j * 2 + 1) : 0) * std::polar(1.0, angle);
    }
    if (inverse) sum /= static_cast<double>(n);
    const auto at = static_cast<size_t>(2 * k);
    const Complex one(found[at], found[at + 1]);
    largest = std::max(largest, std::abs(sum));
    error = std::max(error, std::abs(sum - one));
  }
  EXPECT_LE(error, 1e-6 * largest) << n << " of " << parts << (inverse ? " back" : "");
}

// Of one factor, of several, of a prime for a sum of its own, and of one that is too large for it.
TEST(FourierValues, FactorsGiveTheSums) {
  for (const int64_t n : {1, 2, 7, 64, 65, 81, 96, 74, 100, 61 * 4, 67, 134, 509, 512, 1000}) {
    expect_sums(n, 1, false);
    expect_sums(n, 2, true);
  }
}

}  // namespace
}  // namespace gossamer::interp
