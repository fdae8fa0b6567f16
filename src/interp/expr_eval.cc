#include "interp/expr_eval.h"

#include "base/result.h"

namespace gossamer::interp {
namespace {

using ir::Scalar;

struct Evaluator {
  const Variables& variables;
  const Values& values;

  Scalar operator()(const ir::Expr& e) const {
    return ir::dispatch(*e, [&](const auto& node) { return eval(node); });
  }

  Scalar eval(const ir::VarNode& node) const {
    auto found = variables.find(&node);
    GS_CHECK(found != variables.end(), "variable ", node.name, " has no value");
    return found->second;
  }
  Scalar eval(const ir::IntImm& node) const { return Scalar::of_int(node.type.dtype, node.value); }
  Scalar eval(const ir::FloatImm& node) const {
    return Scalar::of_float(node.type.dtype, node.value);
  }
  Scalar eval(const ir::Unary& node) const { return ir::apply(node.op, (*this)(node.a)); }
  Scalar eval(const ir::Binary& node) const {
    return ir::apply(node.op, (*this)(node.a), (*this)(node.b));
  }
  Scalar eval(const ir::Fma& node) const {
    return ir::apply_fma((*this)(node.a), (*this)(node.b), (*this)(node.c));
  }
  Scalar eval(const ir::Dot& node) const {
    return ir::apply_dot((*this)(node.a), (*this)(node.b), (*this)(node.c), node.terms);
  }
  Scalar eval(const ir::Select& node) const {
    return (*this)((*this)(node.condition).truthy() ? node.yes : node.no);
  }
  Scalar eval(const ir::Cast& node) const { return ir::convert(node.type.dtype, (*this)(node.a)); }
  Scalar eval(const ir::Bitcast& node) const {
    auto bits = ir::reinterpret(node.type.dtype, (*this)(node.a));
    GS_CHECK(bits, "bitcast between types of different sizes");
    return *bits;
  }
  Scalar eval(const ir::Load& node) const {
    auto found = values.find(node.buffer.get());
    GS_CHECK(found != values.end(), "buffer ", node.buffer->name, " has no value");
    std::vector<int64_t> point;
    for (const ir::Expr& index : node.indices) point.push_back((*this)(index).as_int());
    int64_t offset = offset_of(found->second.shape, point);
    if (offset < 0) return Scalar::of_int(node.type.dtype, 0);
    return element(found->second, offset);
  }
  template <class Other>
  Scalar eval(const Other& node) const {
    check_failed(__FILE_NAME__, __LINE__, "scalar expression",
                 cat("node kind ", static_cast<int>(node.kind)));
  }
};

}  // namespace

Scalar evaluate(const ir::Expr& expr, const Variables& variables, const Values& values) {
  return Evaluator{variables, values}(expr);
}

Scalar element(const ops::TensorData& data, int64_t offset) {
  return ir::read_scalar(data.dtype,
                         &data.bytes[static_cast<size_t>(offset * ir::byte_size(data.dtype))]);
}
void set_element(ops::TensorData& data, int64_t offset, Scalar value) {
  ir::write_scalar(value, &data.bytes[static_cast<size_t>(offset * ir::byte_size(data.dtype))]);
}

int64_t offset_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& point) {
  GS_CHECK(shape.size() == point.size(), "a point of ", point.size(), " axes in rank ",
           shape.size());
  int64_t offset = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (point[i] < 0 || point[i] >= shape[i]) return -1;
    offset = offset * shape[i] + point[i];
  }
  return offset;
}

}  // namespace gossamer::interp
