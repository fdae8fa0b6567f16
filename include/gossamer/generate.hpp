// How Model::generate chooses tokens, and what it gives.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace gossamer {

class GenerationCache;

// Filters apply in the order of their fields. Times and sizes are in tokens.
struct GenerateOptions {
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
  int64_t max_tokens = unlimited;         // otherwise until a stop token or the end of the context
  std::vector<int64_t> stop_tokens = {};  // they end the text and are not given
  double temperature = 0;  // 0: the likeliest token; otherwise logits are divided by it
  int64_t top_k = unlimited;
  double top_p = 1, min_p = 0;
  double repetition_penalty = 1;                       // for tokens of the prompt and of the text
  double presence_penalty = 0, frequency_penalty = 0;  // for tokens of the text
  // Added to the logits of these tokens, after penalties and before the temperature: -100 excludes
  // a token of most models, 100 leaves no other.
  std::map<int64_t, double> logit_bias = {};
  // One seed gives one text on a target; without, each call has another one. Below 2^53 it is the
  // same as the `seed` of pages.
  std::optional<uint64_t> seed = std::nullopt;
  // Runs that are sent before the first of them is read; 0: each token is read first. Without: by
  // how long a run takes. The CPU and wasm always read each token first.
  std::optional<int> ahead = std::nullopt;
  int64_t prompt_chunk = 1024;  // a longer prompt is fed in runs of this many tokens
  int top_logprobs = 0;         // how many of the likeliest tokens to give with each token
  // Guesses up to so many tokens by what followed the same tokens before in the prompt and the
  // text, and checks them in one run: faster where text repeats. The text stays that of greedy
  // choice. For packages that were compiled with `speculate`. No effect on draws, penalties and
  // log-probabilities, and on models whose state cannot be set back.
  int prompt_lookup_num_tokens = 0;
  // Goes on from the state of an earlier text: what the prompt shares with the cache's tokens is
  // not computed again. At the end, the cache has the state of this prompt and its text. `feeds`
  // must be the same as before.
  const GenerationCache* cache = nullptr;
};

struct LogProbability {
  int64_t id = 0;
  // Natural logarithm of the probability that the model gives, before temperature, filters,
  // penalties and biases.
  float value = 0;
};

struct Token {
  int64_t id = 0;
  // With top_logprobs only: of this token, and of the likeliest ones, the likeliest first.
  float logprob = 0;
  std::vector<LogProbability> top = {};
};

enum class GenerationEnd : uint8_t { none, stop, length };

// Of texts that are generated together (Model::generate_batch).
struct BatchOptions {
  int64_t places = 32;        // texts that runs compute together, at most
  int64_t prompt_chunk = 64;  // tokens of prompts that are fed between two tokens of other texts
};

}  // namespace gossamer
