// Convolutions, which stages do not name, by what they read: products with weights, summed over
// channels and a window that moves over the input.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <vector>

#include "stages/program.h"

namespace gossamer::rewrite {

// The edge of the window.
constexpr int window_edge = 3;

// One axis of the window.
struct Slide {
  size_t axis, tap;  // of the points, and of the reduction
  ir::Expr points;
};

// A sum over `channel` and the taps of input * weights.
struct SlidingSum {
  ir::Expr input;    // over the places `at` along the two axes, batches and the channel
  ir::Expr weights;  // over columns, the channel and the taps
  size_t column, channel;
  std::array<Slide, 2> slides;
  std::array<ir::Var, 2> at;
  std::vector<size_t> batches;  // axes that remain, which tiles are counted along
  std::vector<size_t> open;     // and those whose extent only a run tells
  int64_t columns, channels, tiled_batches = 1;
};

// Of a reduction in f32 whose window is 3 x 3 and moves by one, and whose weights read `constants`
// alone.
std::optional<SlidingSum> find_sliding_sum(const stages::Stage& stage,
                                           const std::set<const ir::BufferNode*>& constants);

}  // namespace gossamer::rewrite
