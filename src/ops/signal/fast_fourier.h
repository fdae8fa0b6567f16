// Fourier transforms of a known length by its factors.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// The transform along the last axis of x, [.., 1 (real) or 2 (complex), n], as [.., 2, n]: sums of
// x[j] e^(-+2 pi i j k / n), not divided by n. In n times the sum of its factors, of which none is
// above 64: a length with a larger prime is a convolution, three transforms of the next power of
// two above 2n (Bluestein).
Tensor fast_fourier(Builder& b, const std::string& name, const Tensor& x, int64_t n, bool inverse);

}  // namespace gossamer::ops
