#include "lower/control_tensors.h"

#include "ir/build.h"

namespace gossamer::lower {

Tensor add_compute(StageBuilder& stages, const std::string& name, ir::DType dtype,
                   std::vector<Expr> shape,
                   const std::function<Expr(const std::vector<Expr>&)>& body,
                   const std::string& origin) {
  stages::Stage stage;
  stage.name = name;
  stage.origin = origin;
  stage.extents = shape;
  std::vector<Expr> point;
  for (size_t i = 0; i < shape.size(); ++i) {
    stage.axes.push_back(ir::var(cat("i", i)));
    point.push_back(stage.axes.back());
  }
  stage.result = body(point);
  stage.output = ir::buffer(name, dtype, std::move(shape));
  Tensor tensor{stage.output, std::nullopt};
  stages.append(std::move(stage));
  return tensor;
}

Tensor add_host_tensor(StageBuilder& stages, const std::string& name, const ir::Buffer& like,
                       std::vector<Expr> elements) {
  const auto body = [&](const std::vector<Expr>& point) -> Expr {
    Expr linear = ir::index(0);
    for (size_t i = 0; i < point.size(); ++i) linear = linear * like->shape[i] + point[i];
    const auto element = [&](size_t i) -> Expr {
      if (like->dtype == ir::DType::boolean) return elements[i] != 0.0;
      return ir::cast(like->dtype, elements[i]);
    };
    if (elements.empty()) return ir::zero(like->dtype);
    Expr chain = element(elements.size() - 1);
    for (size_t i = elements.size() - 1; i-- > 0;)
      chain = ir::select(linear == static_cast<double>(i), element(i), chain);
    return chain;
  };
  Tensor tensor = add_compute(stages, name, like->dtype, like->shape, body);
  tensor.host = std::move(elements);
  return tensor;
}

Result<Expr> scalar_value(StageBuilder& stages, const Item& item, const std::string& name) {
  if (!item.tensor) return fail(cat(name, " is no tensor"));
  const Tensor now = stages.known.of(item.tensor);
  if (now.host && now.host->size() == 1) return (*now.host)[0];
  if (!ir::is_int(now.dtype()) && now.dtype() != ir::DType::boolean)
    return fail(cat(name, " is no integer or boolean"));
  bool late = false;
  for (const Expr& extent : now.shape()) {
    if (ir::is_const(ir::simplify(extent), 1)) continue;
    // A slice of one element that begins where the run says.
    if (stages.bounds.of(extent).high > 1) return fail(cat(name, " is not a single number"));
    stages.add_check(extent == 1.0, cat(name, " \"", now.buffer->name, "\" has no element"));
    late = true;
  }
  const ir::Var var = ir::var(now.buffer->name);
  const auto first = [&](const std::vector<Expr>&) {
    return ir::load(now.buffer, std::vector<Expr>(now.shape().size(), ir::index(0)));
  };
  const ir::Buffer one =
      late ? add_compute(stages, cat(now.buffer->name, ".element"), now.dtype(), {}, first).buffer
           : now.buffer;
  stages.append(stages::read_step(one, {var}));
  stages.known.add(now.buffer, {Expr(var)});
  return Expr(var);
}

}  // namespace gossamer::lower
