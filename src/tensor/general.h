// One program for many shapes: what two programs of the same structure have in common.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ops/opdef.h"
#include "tensor/recorder.h"

namespace gossamer::tensor {

// Extents and elements of integer constants that differ between the two are linear in dimensions,
// which runs read from feeds. Everything else is alike.
class Recorder::General {
 public:
  // scale * dimension + offset; the offset alone where there is no dimension.
  struct Number {
    int dim = -1;
    int64_t scale = 0, offset = 0;
  };
  // Where a dimension is read: an axis of a feed.
  struct Dim {
    size_t feed = 0, axis = 0;
  };

  // Of programs of one skeleton; none where they differ in more than dimensions.
  static std::optional<General> of(const Recorder& recorder, const Words& a, const Words& b);
  // The structure without extents and without elements of integer constants that decide shapes.
  static Words skeleton(const Recorder& recorder, const Words& words);

  // Whether another program of the skeleton is this one with some dimensions.
  bool has(const Recorder& recorder, const Words& words) const;
  // Of the program that it was made of first.
  const Words& words() const { return words_; }
  // A graph with dimensions "n0", "n1", ...
  graph::Graph graph(const Recorder& recorder) const;

 private:
  bool find_dims(const Recorder& recorder, const Words& a, const Words& b);
  std::optional<Number> number(int64_t a, int64_t b) const;

  Words words_;
  std::vector<Dim> dims_;
  std::vector<std::pair<int64_t, int64_t>> values_;  // of dimensions, in the two programs
  std::map<size_t, std::vector<Number>> numbers_;    // by the place of a feed or constant
};

}  // namespace gossamer::tensor
