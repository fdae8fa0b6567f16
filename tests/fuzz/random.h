// Numbers that a seed decides, the same everywhere.
#pragma once

#include <cstdint>
#include <vector>

namespace gossamer::fuzz {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {  // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(limit));
  }
  double real() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }  // in [0, 1)
  bool chance(double probability) { return real() < probability; }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int64_t>(all.size())))];
  }

 private:
  uint64_t state_;
};

}  // namespace gossamer::fuzz
