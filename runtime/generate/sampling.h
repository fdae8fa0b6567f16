// What the stages that choose a token are fed (docs/specs/package.md), by the options of a call.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/result.h"
#include "gossamer/generate.hpp"
#include "runtime/model.h"
#include "runtime/tensor.h"

namespace gossamer::runtime {

// The state that counts tokens, for penalties.
inline constexpr std::string_view token_counts = "past_token_counts";

// The input that says how many of the latest tokens choose (packages compiled with `speculate`).
inline constexpr std::string_view rows_input = "sampling.rows";

// A tensor in host memory, of these elements.
template <class T>
HostTensor tensor_of(ir::DType dtype, std::vector<int64_t> shape, std::span<const T> elements) {
  const auto bytes = std::as_bytes(elements);
  return {dtype, std::move(shape), {bytes.begin(), bytes.end()}};
}

// The option's, or another one each time.
uint64_t seed_of(const GenerateOptions& options);

// Whether a penalty changes logits.
bool penalises(const GenerateOptions& options);

// `words`: the size of the vocabulary. Errors: an option out of its range, a package without
// biases.
Result<> check_options(const Model& model, const GenerateOptions& options, int64_t words);

// By input. `words`: the size of the vocabulary.
std::map<std::string, HostTensor> sampling_of(const GenerateOptions& options, int64_t words);

// What the counts begin with, where a penalty asks for them; otherwise without columns. Runs count
// the tokens of the prompt that they are `fed` as if they were generated (SampleToken), which this
// takes back.
HostTensor counts_of(const GenerateOptions& options, std::span<const int64_t> prompt,
                     std::span<const int64_t> fed, int64_t words);

// Logits of a type that the package has, as numbers.
std::vector<float> floats_of(const HostTensor& logits);

// The token's log-probability and the likeliest ones, by its logits.
Token with_logprobs(int64_t id, std::span<const float> logits, int top);

}  // namespace gossamer::runtime
