// Where the elements of a buffer lie in memory, by its layout: docs/specs/layout.md in numbers.
#pragma once

#include <span>
#include <vector>

#include "ir/nodes.h"

namespace gossamer::interp {

class Place {
 public:
  Place(const ir::BufferNode& buffer, std::vector<int64_t> extents);

  int64_t elements() const {
    return elements_;
  }  // padding included; textures: 4 a texel, all layers
  int64_t logical_elements() const;
  const std::vector<int64_t>& extents() const { return extents_; }
  // The element's offset in memory, -1 outside of the (padded) tensor.
  int64_t offset(std::span<const int64_t> point) const;
  int64_t texel_offset(int64_t x, int64_t y, int64_t layer) const;  // of its first component

 private:
  ir::Layout layout_;
  std::vector<int64_t> extents_;  // logical
  std::vector<ir::LayoutAxis> axes_;
  std::vector<int64_t> physical_;  // extents of the axes
  int64_t elements_ = 1;
  int64_t texels_ = 0, height_ = 0;  // textures
};

}  // namespace gossamer::interp
