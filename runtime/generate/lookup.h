// Guesses of the next tokens by what followed the same tokens before (prompt lookup decoding,
// https://github.com/apoorvumang/prompt-lookup-decoding).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace gossamer::runtime {

class Lookup {
 public:
  explicit Lookup(std::span<const int64_t> tokens);
  void push(int64_t token);
  // At most `count` tokens that may follow; none where the latest tokens are new.
  std::vector<int64_t> next(int64_t count) const;

 private:
  std::vector<int64_t> tokens_;
  std::map<std::vector<int64_t>, size_t> places_;  // by tokens: after their latest occurrence
};

}  // namespace gossamer::runtime
