#include "ops/shape_checks.h"

#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/reshape_index.h"

namespace gossamer::ops {

Result<> same_types(const Builder& b, int first) {
  for (int i = first + 1; i < b.input_count(); ++i) {
    if (!b.has(i) || b.input(i).dtype() == b.input(first).dtype()) continue;
    return b.error(cat("inputs have types ", ir::name_of(b.input(first).dtype()), " and ",
                       ir::name_of(b.input(i).dtype())),
                   "they must be equal; insert a Cast");
  }
  return {};
}

namespace {

std::string shape_text(const Shape& shape) {
  std::string list;
  for (const Expr& extent : shape) list += cat(list.empty() ? "" : ", ", ir::print(extent));
  return cat("[", list, "]");
}

}  // namespace

Result<> broadcasts_to(Builder& b, int input, const Shape& shape) {
  const Tensor& tensor = b.input(input);
  if (!tensor) return {};
  std::string message =
      cat("input ", b.def().inputs[static_cast<size_t>(input)].name, " is ",
          shape_text(tensor.shape()), ", which does not broadcast to ", shape_text(shape));
  if (tensor.shape().size() > shape.size()) return b.error(std::move(message));
  for (int axis = -1; axis >= -tensor.rank(); --axis) {
    const Expr &extent = tensor.dim(axis),
               &wanted = shape[shape.size() - static_cast<size_t>(-axis)];
    if (ir::is_const(extent, 1)) continue;
    GS_TRY(b.require(ir::as_int(extent) ? extent == wanted : extent == wanted || extent == 1.0,
                     message));
  }
  return {};
}

Result<> has_shape(Builder& b, int input, const Shape& shape) {
  const Tensor& tensor = b.input(input);
  if (!tensor) return {};
  Shape wanted;
  for (const Expr& extent : shape) wanted.push_back(b.simplify(extent));
  std::string message = cat("input ", b.def().inputs[static_cast<size_t>(input)].name, " is ",
                            shape_text(tensor.shape()), ", it should be ", shape_text(wanted));
  if (tensor.rank() != static_cast<int>(wanted.size())) return b.error(std::move(message));
  for (size_t i = 0; i < wanted.size(); ++i) {
    GS_TRY(b.require(tensor.shape()[i] == wanted[i], message));
  }
  return {};
}

Result<Tensor> as_list(Builder& b, int input, const Expr& count) {
  const Tensor& tensor = b.input(input);
  if (tensor.rank() == 1) {
    GS_TRY(has_shape(b, input, {count}));
    return tensor;
  }
  const Expr elements = product(tensor.shape());
  const std::string& name = b.def().inputs[static_cast<size_t>(input)].name;
  GS_TRY(b.require(elements == count, cat("input ", name, " is ", shape_text(tensor.shape()),
                                          ", it should be ", shape_text({b.simplify(count)}))));
  return b.reshape(cat(stage_name(b), ".", name), tensor, {b.simplify(count)});
}

}  // namespace gossamer::ops
