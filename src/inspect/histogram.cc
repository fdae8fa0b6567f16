#include "inspect/histogram.h"

#include <algorithm>
#include <cmath>

#include "ir/scalar.h"

namespace gossamer::inspect {
namespace {

constexpr int64_t most_seen = 1 << 15;
constexpr size_t bins = 32;

double element(const stages::ConstantSource& source, std::span<const std::byte> bytes, int64_t at) {
  const auto index = static_cast<size_t>(at);
  if (source.packed == 1)
    return ir::read_scalar(source.dtype,
                           &bytes[index * static_cast<size_t>(ir::byte_size(source.dtype))])
        .as_double();
  const auto elements = static_cast<size_t>(source.packed);
  const unsigned width = 8 / static_cast<unsigned>(elements);
  const unsigned word = std::to_integer<unsigned>(bytes[index / elements]);
  const unsigned code = word >> (width * (index % elements)) & ((1u << width) - 1);
  const auto byte = static_cast<std::byte>(code);
  return ir::read_scalar(source.dtype, &byte).as_double();
}

}  // namespace

std::optional<Histogram> histogram_of(const stages::ConstantSource& source,
                                      std::span<const std::byte> bytes) {
  Histogram made;
  made.elements = 1;
  for (const int64_t extent : source.shape) made.elements *= extent;
  const int size = ir::byte_size(source.dtype);
  if (made.elements <= 0 || size <= 0) return std::nullopt;
  const int64_t held = static_cast<int64_t>(bytes.size()) * source.packed / size;
  if (held < made.elements) return std::nullopt;
  const int64_t step = (made.elements + most_seen - 1) / most_seen;
  std::vector<double> numbers;
  double sum = 0;
  for (int64_t at = 0; at < made.elements; at += step) {
    const double number = element(source, bytes, at);
    ++made.seen;
    if (!std::isfinite(number)) {
      ++made.not_finite;
      continue;
    }
    if (number == 0) ++made.zeros;
    sum += number;
    numbers.push_back(number);
  }
  if (numbers.empty()) return made;
  const auto [least, most] = std::ranges::minmax(numbers);
  made.least = least;
  made.most = most;
  made.mean = sum / static_cast<double>(numbers.size());
  double squares = 0;
  for (const double number : numbers) squares += (number - made.mean) * (number - made.mean);
  made.deviation = std::sqrt(squares / static_cast<double>(numbers.size()));
  const double range = most - least;
  if (!(range > 0) || !std::isfinite(range)) return made;
  made.bins.resize(bins);
  for (const double number : numbers) {
    const auto bin = static_cast<size_t>((number - least) / range * static_cast<double>(bins));
    ++made.bins[std::min(bin, bins - 1)];
  }
  return made;
}

}  // namespace gossamer::inspect
