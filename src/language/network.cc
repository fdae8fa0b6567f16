#include "language/network.h"

#include <algorithm>
#include <array>

namespace gossamer::language {
namespace {

constexpr std::array<Architecture, 5> architectures = {
    {{"llama"},
     {"qwen2"},
     {"qwen3"},
     {.name = "gemma3", .embedding_scaled = true, .end_norms = true, .gelu = true},
     {"phi3"}}};

}  // namespace

const Architecture* architecture(std::string_view name) {
  const auto known = std::ranges::find(architectures, name, &Architecture::name);
  return known == architectures.end() ? nullptr : &*known;
}

std::string known_architectures() {
  std::string names;
  for (const Architecture& one : architectures)
    names += cat(names.empty() ? "" : &one == &architectures.back() ? " and " : ", ", one.name);
  return names;
}

}  // namespace gossamer::language
