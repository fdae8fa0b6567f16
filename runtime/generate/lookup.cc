#include "runtime/generate/lookup.h"

namespace gossamer::runtime {
namespace {

// How many tokens have to be the same, the most first.
constexpr size_t lengths[] = {3, 2};

std::vector<int64_t> last(const std::vector<int64_t>& tokens, size_t count) {
  return {tokens.end() - static_cast<std::ptrdiff_t>(count), tokens.end()};
}

}  // namespace

Lookup::Lookup(std::span<const int64_t> tokens) {
  for (const int64_t token : tokens) push(token);
}

void Lookup::push(int64_t token) {
  for (const size_t length : lengths)
    if (tokens_.size() >= length) places_[last(tokens_, length)] = tokens_.size();
  tokens_.push_back(token);
}

std::vector<int64_t> Lookup::next(int64_t count) const {
  std::vector<int64_t> drafts;
  for (const size_t length : lengths) {
    if (tokens_.size() <= length) continue;
    const auto found = places_.find(last(tokens_, length));
    if (found == places_.end()) continue;
    // Beyond the end, what repeats goes on.
    for (size_t at = found->second; static_cast<int64_t>(drafts.size()) < count; ++at)
      drafts.push_back(at < tokens_.size() ? tokens_[at] : drafts[at - tokens_.size()]);
    break;
  }
  return drafts;
}

}  // namespace gossamer::runtime
