// Random graphs, grown a node at a time out of the catalog's own cases.
#pragma once

#include <set>

#include "fuzz/evaluate.h"
#include "fuzz/random.h"

namespace gossamer::fuzz {

struct GrowOptions {
  std::set<std::string, std::less<>> ops;  // only these; empty: all
  int nodes = 8;                           // at most
};

struct Grown {
  Recipe recipe;
  Values values;     // of every name
  int rejected = 0;  // candidates that the interpreter's side refused, or that are not stable
};

// The graph of that number, the same one every time.
Grown grow(uint64_t seed, const GrowOptions& options);

}  // namespace gossamer::fuzz
