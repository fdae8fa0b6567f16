// Where gradients end.
#include "ops/elementwise.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

Result<> stop_gradient(Builder& b) {
  const Tensor& x = b.input(0);
  b.output(0, b.compute(stage_name(b), x.dtype(), x.shape(), [&](Point p) { return x.at(p); }));
  b.program.back().stage()->stops_gradient = true;
  return {};
}

}  // namespace

std::vector<OpDef> stop_gradient_family() {
  return {{.name = "StopGradient",
           .doc = "The same tensor, which gradients take for a constant (detach).",
           .domain = "ai.gossamer",
           .since = 1,
           .inputs = {{"X", any_number}},
           .define = stop_gradient,
           .cases = [] -> Cases {
             return {{.name = "plain", .shapes = {{3, 5}}}, {.name = "scalar", .shapes = {{}}}};
           }}};
}

}  // namespace gossamer::ops
