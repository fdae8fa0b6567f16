// An elementwise operator: an expression of its operands' elements, which broadcast.
#include "ops/elementwise.h"
#include "extend/entries.h"
#include "ops/shape_checks.h"

namespace gossamer::extend {

using ir::Expr;

ops::OpDef smooth_step() {
  return {
      .name = "SmoothStep",
      .doc = "0 up to low, 1 from high on, and t * t * (3 - 2 * t) of the way t between.",
      .domain = std::string(domain),
      .since = 1,
      .inputs = {{"X", ops::any_float}, {"low", ops::any_float}, {"high", ops::any_float}},
      .define = [](ops::Builder& b) -> Result<> {
        GS_TRY(ops::same_types(b));
        return ops::elementwise(b, b.input(0).dtype(), [](std::span<const Expr> in) {
          Expr t = ir::min(ir::max((in[0] - in[1]) / (in[2] - in[1]), 0.0), 1.0);
          return t * t * (3.0 - 2.0 * t);
        });
      },
      .cases = [] -> ops::Cases {
        return {
            {.name = "scalar edges",
             .shapes = {{3, 4, 5}},
             .inputs = {{}, ops::floats({}, {-1}), ops::floats({}, {1.5})}},
            {.name = "odd",
             .shapes = {{13}},
             .inputs = {{}, ops::floats({1}, {-0.5}), ops::floats({1}, {0.25})}},
            {.name = "edges by channel",
             .shapes = {{2, 3, 4, 5}},
             .inputs = {
                 {}, ops::floats({3, 1, 1}, {-2, -1, 0}), ops::floats({3, 1, 1}, {-1, 1, 0.5})}}};
      },
  };
}

}  // namespace gossamer::extend
