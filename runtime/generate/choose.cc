#include "runtime/generate/choose.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "runtime/generate/sampling.h"

namespace gossamer::runtime {
namespace {

constexpr float lowest = -std::numeric_limits<float>::max();
// What is lower than the largest by more has no chance that draws of 32 bits could meet.
constexpr float reach = 32;

// As ops/random_bits has them.
uint32_t mixed_bits(uint32_t bits) {
  bits = (bits ^ bits >> 16) * 0x7feb352d;
  bits = (bits ^ bits >> 15) * 0x846ca68b;
  return bits ^ bits >> 16;
}

float gumbel_noise(uint32_t bits) {
  constexpr float step = 0x1p-32f;
  const float share = static_cast<float>(bits) * step + step / 2;
  const float rest = std::max(1 - share, step);
  return -std::log(share < 1.0f / 4096 ? share : -std::log(rest));
}

// e^-x of all 32-bit numbers, and a little more, as rounded numbers have errors.
const std::array<uint32_t, 21> shares = [] {
  std::array<uint32_t, 21> made{};
  for (size_t x = 0; x < made.size(); ++x)
    made[x] = static_cast<uint32_t>(
        std::min(0x1p32 - 1, 0x1p32 * std::exp(-static_cast<double>(x)) * 1.001 + 256));
  return made;
}();

// The lowest of the largest values whose chances, e^(value - most), add up to `wanted`. Divides the
// values at one of them again and again, as a selection by number does.
float least_of(std::span<float> values, float most, double wanted) {
  float pivot = most;
  while (!values.empty()) {
    pivot = values[values.size() / 2];
    const auto rest = std::ranges::partition(values, [&](float each) { return each > pivot; });
    const auto lower = std::ranges::partition(rest, [&](float each) { return each == pivot; });
    const std::span<float> larger(values.begin(), rest.begin());
    double above = 0;
    for (const float each : larger) above += std::exp(each - most);
    if (above >= wanted && !larger.empty()) {
      values = larger;
      continue;
    }
    above += static_cast<double>(lower.begin() - rest.begin()) * std::exp(pivot - most);
    if (above >= wanted) return pivot;
    wanted -= above;
    values = {lower.begin(), lower.end()};
  }
  return pivot;
}

bool allows(std::span<const int32_t> mask, size_t word) {
  return mask.empty() || (std::bit_cast<uint32_t>(mask[word / 32]) >> (word % 32) & 1) != 0;
}

}  // namespace

Chooser::Chooser(const GenerateOptions& options, std::span<const int64_t> prompt, int64_t words)
    : options_(options), seed_(seed_of(options)) {
  if (!penalises(options)) return;
  counts_.resize(static_cast<size_t>(words));
  for (const int64_t id : prompt) counts_[static_cast<size_t>(id)] = 1;
}

void Chooser::push(int64_t token) {
  if (!counts_.empty()) counts_[static_cast<size_t>(token)] += 2;
}

int64_t Chooser::choose(std::span<const float> logits, int64_t total,
                        std::span<const int32_t> mask) {
  std::span<const float> values = logits;
  const bool draws = options_.temperature > 0;
  if (draws || !counts_.empty() || !options_.logit_bias.empty() || !mask.empty()) {
    values_.assign(logits.begin(), logits.end());
    values = values_;
  }
  const auto repetition = static_cast<float>(options_.repetition_penalty),
             presence = static_cast<float>(options_.presence_penalty),
             frequency = static_cast<float>(options_.frequency_penalty),
             temperature = static_cast<float>(options_.temperature);
  for (size_t word = 0; word < counts_.size(); ++word) {
    const int32_t count = counts_[word];
    if (count == 0) continue;
    float& value = values_[word];
    value = value > 0 ? value / repetition : value * repetition;
    value -= (count > 1 ? presence : 0) + static_cast<float>(count >> 1) * frequency;
  }
  for (const auto& [id, bias] : options_.logit_bias)
    values_[static_cast<size_t>(id)] += static_cast<float>(bias);
  if (draws)
    for (float& value : values_) value /= temperature;
  if (!mask.empty())
    for (size_t word = 0; word < values_.size(); ++word)
      if (!allows(mask, word)) values_[word] = lowest;
  const auto best = std::ranges::max_element(values);
  if (!draws) return best - values.begin();

  // What is below has no chance: by number, by the sum of chances, by the share of the largest.
  const float most = *best;
  float least = most - reach;
  const bool by_k = options_.top_k < static_cast<int64_t>(values.size());
  if (by_k || options_.top_p < 1) {
    kept_.clear();
    for (const float value : values)
      if (value >= least) kept_.push_back(value);
    const auto count =
        by_k ? std::min(kept_.size(), static_cast<size_t>(options_.top_k)) : kept_.size();
    if (by_k) {
      const auto last = kept_.begin() + static_cast<std::ptrdiff_t>(count) - 1;
      std::ranges::nth_element(kept_, last, std::greater());
      least = std::max(least, *last);
    }
    if (options_.top_p < 1) {
      const std::span likeliest(kept_.data(), count);
      double mass = 0;
      for (const float value : likeliest) mass += std::exp(value - most);
      least = std::max(least, least_of(likeliest, most, options_.top_p * mass));
    }
  }
  if (options_.min_p > 0)
    least = std::max(least, most + static_cast<float>(std::log(options_.min_p)));
  // The same room as on the device.
  least -= 4e-6f + std::abs(most) * 2.4e-7f;
  const uint32_t key =
      mixed_bits(static_cast<uint32_t>(seed_) +
                 mixed_bits(static_cast<uint32_t>(seed_ >> 32) + static_cast<uint32_t>(total)));
  int64_t chosen = best - values.begin();
  float top = lowest;
  for (size_t word = 0; word < values.size(); ++word) {
    if (values[word] < least) continue;
    const uint32_t bits = mixed_bits(mixed_bits(static_cast<uint32_t>(word)) + key);
    // Noise of more than x comes from shares below e^-x alone, which saves most logarithms.
    const float missing = std::clamp(top - values[word], 0.0f, 20.0f);
    if (bits > shares[static_cast<size_t>(missing)]) continue;
    const float value = values[word] + gumbel_noise(bits);
    if (value > top) {
      top = value;
      chosen = static_cast<int64_t>(word);
    }
  }
  return chosen;
}

}  // namespace gossamer::runtime
