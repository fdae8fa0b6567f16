#include "ops/random_bits.h"

namespace gossamer::ops {

using ir::DType;
using ir::Expr;

// The finalizer of murmur3 with better constants (lowbias32, Ellis, "hash-prospector").
Expr mixed_bits(Expr bits) {
  const auto number = [](int64_t value) { return ir::constant_int(DType::u32, value); };
  const auto folded = [&](Expr x, int64_t by) {
    return ir::binary(ir::BinaryOp::bit_xor, x, ir::binary(ir::BinaryOp::shr, x, number(by)));
  };
  bits = folded(std::move(bits), 16) * number(0x7feb352d);
  bits = folded(std::move(bits), 15) * number(0x846ca68b);
  return folded(std::move(bits), 16);
}

// Large noise comes from small shares, which floats tell apart best: there -log(1 - share) is the
// share itself.
Expr gumbel_noise(const Expr& bits) {
  const double step = 1.0 / (int64_t{1} << 32);
  const Expr share = ir::cast(DType::f32, bits) * step + step / 2;
  const Expr rest = ir::max(1.0 - share, ir::constant(DType::f32, step));
  const Expr waiting = ir::select(share < 1.0 / 4096, share, -ir::log(rest));
  return -ir::log(waiting);
}

}  // namespace gossamer::ops
