// What was learned of kernels' times on devices of a class: a search on another one begins with it.
#pragma once

#include <string>

#include "tune/boosted_trees.h"

namespace gossamer::tune {

struct LearnedCosts {
  std::string machine;          // of the kernels: "webgpu.hardware" (records::class_of)
  std::string adapter;          // what they were measured on
  int kernels = 0, points = 0;  // of which it was learned
  BoostedTrees trees;           // they predict what a CostModel does
};

}  // namespace gossamer::tune
