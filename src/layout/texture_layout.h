// How tensors lie in vectors and in textures: their layouts as such, whoever asks for them.
#pragma once

#include "stages/stage.h"
#include "target/capabilities.h"

namespace gossamer::layout {

// The product of extents, `fallback` where one is not known.
int64_t product_or(const std::vector<ir::Expr>& extents, int64_t fallback);

// [.., dim/lanes, .., dim%lanes]; `order` lists the dims from outermost to innermost.
ir::Layout blocked(const std::vector<int>& order, int dim, int lanes);

// Elements of a tensor that is blocked along `dim`, padding included; -1 where not known.
int64_t padded_elements(const std::vector<ir::Expr>& shape, int dim, int lanes);

// Texture width for a number of texels: a power of two that keeps the texture near a square.
int texture_width(int64_t texels, int max_size);

// Memory of a texture for so many elements; fewer than 0: not known.
void set_texture(ir::Layout& layout, int64_t elements, const target::Capabilities& caps);

// Inputs, outputs, constants: row-major; in textures four consecutive elements a texel.
ir::Layout port_layout(const ir::BufferNode& buffer, const target::Capabilities& caps);
// The layout of elements that share words: of one or two bytes each, four or two to a word.
ir::Layout packed(ir::Layout layout, const ir::BufferNode& buffer,
                  const target::Capabilities& caps);

// Blocked along `dim` unless plain memory is the same thing.
ir::Layout vector_layout(const std::vector<ir::Expr>& shape, int dim,
                         const target::Capabilities& caps);

// Puts an axis of the output of `stage`, whose vector axis is `axis`, into `layers` of an array
// texture.
void set_layers(ir::Layout& layout, const stages::Stage& stage, int axis, int row, int layers,
                const target::Capabilities& caps);

}  // namespace gossamer::layout
