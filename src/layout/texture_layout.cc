#include "layout/texture_layout.h"

#include "ir/build.h"

namespace gossamer::layout {

using ir::Expr;
using ir::Layout;
using target::Capabilities;

int64_t product_or(const std::vector<Expr>& extents, int64_t fallback) {
  int64_t product = 1;
  for (const Expr& e : extents) {
    const auto known = ir::as_int(e);
    if (!known) return fallback;
    product *= *known;
  }
  return product;
}

Layout blocked(const std::vector<int>& order, int dim, int lanes) {
  Layout layout;
  for (int d : order) layout.axes.push_back({d, d == dim ? lanes : 1, 0});
  layout.axes.push_back({dim, 1, lanes});
  return layout;
}

int64_t padded_elements(const std::vector<Expr>& shape, int dim, int lanes) {
  const int64_t all = product_or(shape, -1);
  const auto extent = ir::as_int(shape[static_cast<size_t>(dim)]);
  if (all < 0 || !extent || *extent == 0) return all;
  return all / *extent * ((*extent + lanes - 1) / lanes * lanes);
}

int texture_width(int64_t texels, int max_size) {
  int width = 1;
  while (static_cast<int64_t>(width) * width < texels && width < max_size) width *= 2;
  return width;
}

void set_texture(Layout& layout, int64_t elements, const Capabilities& caps) {
  layout.memory = ir::Memory::texture;
  layout.width = elements < 0 ? 1024 : texture_width((elements + 3) / 4, caps.max_texture_size);
}

Layout port_layout(const ir::BufferNode& buffer, const Capabilities& caps) {
  Layout layout;
  if (caps.texture_memory) {
    layout.flat = true;
    layout.axes = {{0, 4, 0}, {0, 1, 4}};
    set_texture(layout, product_or(buffer.shape, -1), caps);
  }
  return layout;
}

Layout packed(Layout layout, const ir::BufferNode& buffer, const Capabilities& caps) {
  layout.pack = 4 / ir::byte_size(buffer.dtype);
  const int64_t elements = product_or(buffer.shape, -1);
  if (caps.texture_memory)
    set_texture(layout, elements < 0 ? -1 : (elements + layout.pack - 1) / layout.pack, caps);
  return layout;
}

Layout vector_layout(const std::vector<Expr>& shape, int dim, const Capabilities& caps) {
  const int rank = static_cast<int>(shape.size());
  const int lanes = caps.vector_lanes;
  const auto extent = ir::as_int(shape[static_cast<size_t>(dim)]);
  Layout layout;
  const bool whole = dim == rank - 1 && extent && *extent % lanes == 0;
  if (!whole || caps.texture_memory) {
    std::vector<int> order;
    for (int d = 0; d < rank; ++d) order.push_back(d);
    layout = blocked(order, dim, lanes);
  }
  if (caps.texture_memory) set_texture(layout, padded_elements(shape, dim, lanes), caps);
  return layout;
}

void set_layers(Layout& layout, const stages::Stage& stage, int axis, int row, int layers,
                const Capabilities& caps) {
  int64_t elements = padded_elements(stage.output->shape, axis, caps.vector_lanes);
  const auto extent = ir::as_int(stage.extents[static_cast<size_t>(row)]);
  if (elements > 0 && extent) elements = elements / *extent * ((*extent + layers - 1) / layers);
  for (ir::LayoutAxis& a : layout.axes) {
    if (a.dim == row) a.divide = layers;
  }
  layout.axes.insert(layout.axes.end() - 1, ir::LayoutAxis{row, 1, layers});
  layout.layers = layers;
  set_texture(layout, elements, caps);
}

}  // namespace gossamer::layout
