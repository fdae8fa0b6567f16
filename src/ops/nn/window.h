// Sliding windows over the spatial axes of [n, c, spatial...]: what convolutions and pools share.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// One entry a spatial axis.
struct Window {
  Shape kernel;
  Numbers strides, dilations;
  Shape pad_begin, pad_end;
  Shape out;

  size_t rank() const { return kernel.size(); }
  bool padded() const;  // some padding is not known to be 0
};

// Reads auto_pad, dilations, pads, strides and ceil_mode (where the operator has it) and computes
// output extents.
Result<Window> make_window(const Builder& b, const Shape& spatial, const Shape& kernel);

// The attributes make_window reads, for an operator's entry.
std::vector<AttributeDef> window_attributes(std::vector<AttributeDef> more);

// The spatial extents of [n, c, spatial...].
Shape spatial_of(const Tensor& x);

// Cuts a dilated window down to the taps that read x at some output, where others read padding
// alone. The first of them, one entry a spatial axis.
Shape skip_padding(Builder& b, const Tensor& x, Window& window);

// x with its spatial axes extended by `fill` so that every window lies inside: a stage `name`.pad,
// or x itself.
Tensor pad_for(Builder& b, const std::string& name, const Tensor& x, const Window& window,
               Expr fill);

// Where tap `tap` of the window at `out` reads the padded input: out * stride + tap * dilation.
Expr tap_at(const Window& window, size_t axis, Expr out, Expr tap);

// x with `begin` and `end` elements of `fill` around it (one entry an axis of x, >= 0).
Tensor pad_constant(Builder& b, const std::string& name, const Tensor& x, const Shape& begin,
                    const Shape& end, Expr fill);

}  // namespace gossamer::ops
