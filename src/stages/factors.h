// The factors of products that a stage sums.
#pragma once

#include "stages/stage.h"

namespace gossamer::stages {

// The factors of a sum's products; null where its terms are no products.
struct Factors {
  ir::Expr a, b;
  int64_t terms = 1;  // of a Dot, whose factors are words
};
ir::Expr product_of(const ir::Expr& a, const ir::Expr& b, int64_t terms);
Factors factors_of(const Stage& stage);
// The factor that is computed from elements of a byte, where it alone is, of the first of several
// sums; null: there is none.
ir::Expr decoded_factor(const Stage& stage);
// A factor times a scale that stays the same in blocks of steps along an axis; without one, the
// factor itself and null.
struct ScaledFactor {
  ir::Expr factor, scale;
  int64_t block = 0;  // steps
};
ScaledFactor scaled_in_blocks(const ir::Expr& factor, const ir::Var& axis);
// The product of a sum along one axis, without the scale of one of its factors.
ScaledFactor scaled_product(const Stage& stage);
// Whether a load is part of that factor.
bool is_decoded_from(const Stage& stage, const ir::Load& load);

}  // namespace gossamer::stages
