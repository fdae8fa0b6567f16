// What the lowering of control flow makes itself, beside what definitions of operators do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lower/stage_builder.h"

namespace gossamer::lower {

// Appends a stage; `body` gives the element at a point.
Tensor add_compute(StageBuilder& stages, const std::string& name, ir::DType dtype,
                   std::vector<Expr> shape,
                   const std::function<Expr(const std::vector<Expr>&)>& body,
                   const std::string& origin = {});
// A tensor of the type and shape of `like` with these elements, which are its host value too.
Tensor add_host_tensor(StageBuilder& stages, const std::string& name, const ir::Buffer& like,
                       std::vector<Expr> elements);
// A scalar integer or boolean: known by then, or read by a step. Errors call it `name`.
Result<Expr> scalar_value(StageBuilder& stages, const Item& item, const std::string& name);

}  // namespace gossamer::lower
