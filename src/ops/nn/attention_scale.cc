#include "ops/nn/attention_scale.h"

#include <cmath>

namespace gossamer::ops {

ir::Expr attention_scale(const Builder& b, const ir::Expr& width, ir::DType type) {
  if (b.has_attribute("scale")) return ir::constant(type, b.number("scale"));
  if (auto known = ir::as_int(width))
    return ir::constant(type, 1 / std::sqrt(static_cast<double>(*known)));
  return ir::constant(type, 1) / ir::sqrt(ir::cast(type, width));
}

}  // namespace gossamer::ops
