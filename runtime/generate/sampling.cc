#include "runtime/generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "ir/scalar.h"

namespace gossamer::runtime {
namespace {

constexpr double no_limit = 1e300;
// No filter: more than any sum of weights.
constexpr float none = 3e38f;

HostTensor floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return tensor_of<float>(ir::DType::f32, std::move(shape), values);
}

}  // namespace

uint64_t seed_of(const GenerateOptions& options) {
  if (options.seed) return *options.seed;
  std::random_device device;
  return (uint64_t{device()} << 32 | device()) >> 11;
}

bool penalises(const GenerateOptions& options) {
  return options.repetition_penalty != 1 || options.presence_penalty != 0 ||
         options.frequency_penalty != 0;
}

Result<> check_options(const Model& model, const GenerateOptions& options, int64_t words) {
  const struct {
    const char* name;
    double value, least, most;
  } ranges[] = {
      {"max_tokens", static_cast<double>(options.max_tokens), 0, no_limit},
      {"temperature", options.temperature, 0, 1e6},
      {"top_k", static_cast<double>(options.top_k), 1, no_limit},
      {"top_p", options.top_p, 0, 1},
      {"min_p", options.min_p, 0, 1},
      {"repetition_penalty", options.repetition_penalty, 1e-6, 1e6},
      {"presence_penalty", options.presence_penalty, -1e6, 1e6},
      {"frequency_penalty", options.frequency_penalty, -1e6, 1e6},
      {"ahead", static_cast<double>(options.ahead.value_or(0)), 0, 1024},
      {"prompt_chunk", static_cast<double>(options.prompt_chunk), 1, no_limit},
      {"top_logprobs", static_cast<double>(options.top_logprobs), 0, no_limit},
      {"prompt_lookup_num_tokens", static_cast<double>(options.prompt_lookup_num_tokens), 0, 1024},
  };
  for (const auto& [name, value, least, most] : ranges)
    if (!(value >= least && value <= most))
      return fail_at("generate()",
                     most == no_limit
                         ? cat(name, " is ", value, ", not at least ", least)
                         : cat(name, " is ", value, ", not between ", least, " and ", most));
  constexpr double most = 1e6;
  for (const auto& [id, bias] : options.logit_bias) {
    if (id < 0 || id >= words)
      return fail_at("generate()",
                     cat("logit_bias has token ", id, ", the vocabulary is 0 to ", words - 1));
    if (!(bias >= -most && bias <= most))
      return fail_at("generate()", cat("logit_bias of token ", id, " is ", bias, ", not between ",
                                       -most, " and ", most));
  }
  const auto port = std::ranges::find(model.inputs(), "sampling.penalties", &Port::name);
  if (!options.logit_bias.empty() && port != model.inputs().end() && port->shape[0] >= 0)
    return fail_at("generate()", "the package was compiled before logit_bias was there",
                   "compile the model again");
  return {};
}

std::map<std::string, HostTensor> sampling_of(const GenerateOptions& options, int64_t words) {
  const bool sampled = options.temperature > 0;
  const bool by_k = options.top_k < words, by_p = options.top_p < 1, by_share = options.min_p > 0;
  const bool filtered = sampled && (by_k || by_p || by_share);
  std::vector<float> temperature, filters;
  if (sampled) temperature = {static_cast<float>(options.temperature)};
  if (filtered)
    filters = {by_k ? static_cast<float>(options.top_k) : none,
               by_p ? static_cast<float>(options.top_p) : none,
               by_share ? static_cast<float>(std::log(options.min_p)) : -none};
  std::vector<float> penalties = {static_cast<float>(options.repetition_penalty),
                                  static_cast<float>(options.presence_penalty),
                                  static_cast<float>(options.frequency_penalty)};
  const size_t first = penalties.size();
  if (!options.logit_bias.empty()) penalties.resize(first + static_cast<size_t>(words));
  for (const auto& [id, bias] : options.logit_bias)
    penalties[first + static_cast<size_t>(id)] = static_cast<float>(bias);
  const auto penalty_count = static_cast<int64_t>(penalties.size());
  const uint64_t seed = seed_of(options);
  const std::vector<uint32_t> halves = {static_cast<uint32_t>(seed),
                                        static_cast<uint32_t>(seed >> 32)};
  return {
      {"sampling.temperature", floats({sampled}, temperature)},
      {"sampling.filters", floats({filtered, 3}, filters)},
      {"sampling.penalties", floats({penalty_count}, penalties)},
      {"sampling.seed", tensor_of<uint32_t>(ir::DType::i32, {2}, halves)},
  };
}

HostTensor counts_of(const GenerateOptions& options, std::span<const int64_t> prompt,
                     std::span<const int64_t> fed, int64_t words) {
  std::vector<int32_t> counts;
  if (penalises(options)) {
    counts.resize(static_cast<size_t>(words));
    for (const int64_t id : fed) counts[static_cast<size_t>(id)] -= 2;
    for (const int64_t id : std::set(prompt.begin(), prompt.end()))
      counts[static_cast<size_t>(id)] += 1;
  }
  return tensor_of<int32_t>(ir::DType::i32, {1, static_cast<int64_t>(counts.size())}, counts);
}

std::vector<float> floats_of(const HostTensor& logits) {
  std::vector<float> values(logits.bytes.size() / static_cast<size_t>(ir::byte_size(logits.dtype)));
  if (logits.dtype == ir::DType::f32) {
    std::memcpy(values.data(), logits.bytes.data(), values.size() * sizeof(float));
  } else {
    std::vector<uint16_t> bits(values.size());
    std::memcpy(bits.data(), logits.bytes.data(), bits.size() * sizeof(uint16_t));
    std::ranges::transform(bits, values.begin(),
                           [](uint16_t each) { return static_cast<float>(ir::from_half(each)); });
  }
  return values;
}

Token with_logprobs(int64_t id, std::span<const float> values, int top) {
  const size_t words = values.size();
  const double most = *std::ranges::max_element(values);
  double sum = 0;
  for (const float value : values) sum += std::exp(value - most);
  const double whole = most + std::log(sum);
  std::vector<int64_t> order(words);
  for (size_t at = 0; at < words; ++at) order[at] = static_cast<int64_t>(at);
  const size_t count = std::min(words, static_cast<size_t>(top));
  const auto value = [&](int64_t word) { return values[static_cast<size_t>(word)]; };
  std::ranges::partial_sort(
      order, order.begin() + static_cast<std::ptrdiff_t>(count),
      [&](int64_t a, int64_t b) { return value(a) > value(b) || (value(a) == value(b) && a < b); });
  Token token{id, static_cast<float>(value(id) - whole), {}};
  for (size_t at = 0; at < count; ++at)
    token.top.push_back({order[at], static_cast<float>(value(order[at]) - whole)});
  return token;
}

}  // namespace gossamer::runtime
