#include "interp/place.h"

namespace gossamer::interp {

Place::Place(const ir::BufferNode& buffer, std::vector<int64_t> extents)
    : layout_(buffer.layout), extents_(std::move(extents)), axes_(buffer.layout.axes) {
  std::vector<int64_t> dims = extents_;
  if (layout_.flat) dims = {logical_elements()};
  if (axes_.empty()) {
    for (size_t d = 0; d < dims.size(); ++d) axes_.push_back({static_cast<int>(d), 1, 0});
  }
  for (const ir::LayoutAxis& axis : axes_) {
    const int64_t extent = dims[static_cast<size_t>(axis.dim)];
    physical_.push_back(axis.modulo ? axis.modulo : (extent + axis.divide - 1) / axis.divide);
    elements_ *= physical_.back();
  }
  if (layout_.memory == ir::Memory::texture) {
    layout_.width *= layout_.pack;  // of elements that share a word, four are a quarter of a texel
    texels_ = elements_ / (4 * layout_.layers);
    height_ = (texels_ + layout_.width - 1) / layout_.width;
    elements_ = layout_.layers * height_ * layout_.width * 4;
  }
  elements_ = (elements_ + layout_.pack - 1) / layout_.pack * layout_.pack;
}

int64_t Place::logical_elements() const {
  int64_t count = 1;
  for (int64_t e : extents_) count *= e;
  return count;
}

int64_t Place::texel_offset(int64_t x, int64_t y, int64_t layer) const {
  if (x < 0 || y < 0 || layer < 0 || x >= layout_.width || y >= height_ ||
      layer >= layout_.layers) {
    return -1;
  }
  return ((layer * height_ + y) * layout_.width + x) * 4;
}

int64_t Place::offset(std::span<const int64_t> point) const {
  int64_t linear = 0;
  if (layout_.flat) {
    for (size_t d = 0; d < point.size(); ++d) {
      if (point[d] < 0 || point[d] >= extents_[d]) return -1;
      linear = linear * extents_[d] + point[d];
    }
    point = {&linear, 1};
  }
  int64_t at = 0, layer = 0;
  const bool texture = layout_.memory == ir::Memory::texture;
  for (size_t k = 0; k < axes_.size(); ++k) {
    const int64_t whole = point[static_cast<size_t>(axes_[k].dim)];
    if (whole < 0) return -1;
    int64_t coordinate = whole / axes_[k].divide;
    if (axes_[k].modulo) coordinate %= axes_[k].modulo;
    if (coordinate >= physical_[k]) return -1;
    const bool is_component = texture && k + 1 == axes_.size();
    const bool is_layer = texture && layout_.layers > 1 && k + 2 == axes_.size();
    if (is_layer) {
      layer = coordinate;
    } else if (is_component) {
      const int64_t texel = texel_offset(at % layout_.width, at / layout_.width, layer);
      return texel < 0 ? -1 : texel + coordinate;
    } else {
      at = at * physical_[k] + coordinate;
    }
  }
  return at;
}

}  // namespace gossamer::interp
