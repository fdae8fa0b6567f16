// Random numbers by counting: each is a hash of its place and a seed, the same on every target.
#pragma once

#include "ir/build.h"

namespace gossamer::ops {

// 32 bits of the u32 `bits`, each of which depends on all of those.
ir::Expr mixed_bits(ir::Expr bits);

// What makes the largest of several log probabilities a draw by them (Gumbel's distribution), from
// 32 random bits; never infinite.
ir::Expr gumbel_noise(const ir::Expr& bits);

}  // namespace gossamer::ops
