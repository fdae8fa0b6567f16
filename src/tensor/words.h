// Keys of structure: sequences of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gossamer::tensor {

using Words = std::vector<int64_t>;

struct WordsHash {
  size_t operator()(const Words& words) const {
    uint64_t hash = 0x9e3779b97f4a7c15u + words.size();
    for (int64_t word : words) {
      hash = (hash ^ static_cast<uint64_t>(word)) * 0xff51afd7ed558ccdu;
      hash ^= hash >> 32;
    }
    return static_cast<size_t>(hash);
  }
};

}  // namespace gossamer::tensor
