// The next token by its logits, on the host: what SampleToken does on the device, for texts of one
// batch that each have settings of their own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gossamer/generate.hpp"

namespace gossamer::runtime {

class Chooser {
 public:
  // `words`: the size of the vocabulary. Options are in their ranges (check_options).
  Chooser(const GenerateOptions& options, std::span<const int64_t> prompt, int64_t words);
  // The likeliest token, whatever else is asked for.
  bool is_plain() const {
    return options_.temperature == 0 && counts_.empty() && options_.logit_bias.empty();
  }
  // Counts a token that was chosen, for penalties.
  void push(int64_t token);
  // `total`: how many tokens the text has by now, with those of the prompt, which tells the draws
  // of a seed apart. `mask`: a bit for each token that may be chosen; empty: all.
  int64_t choose(std::span<const float> logits, int64_t total, std::span<const int32_t> mask);

 private:
  GenerateOptions options_;
  uint64_t seed_ = 0;
  // Twice how often a token was generated, and 1 more where the prompt has it; empty: no penalty.
  std::vector<int32_t> counts_;
  std::vector<float> values_, kept_;
};

}  // namespace gossamer::runtime
