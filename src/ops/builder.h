// What an operator's `define` sees, and how it says what it computes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/build.h"
#include "ops/opdef.h"
#include "ops/stage.h"

namespace gossamer::ops {

using ir::DType;
using ir::index;
using ir::Type;
using Point = std::span<const Expr>;
using Shape = std::vector<Expr>;  // extents of type index

// A tensor while defining: its buffer, and what is known of it. A handle; copying is cheap.
struct Tensor {
  Buffer buffer;  // null for an absent optional input
  // Elements as expressions of type index, row-major, when the tensor is a host value (small, integer, computes
  // shapes); elements it stands for are of `buffer->dtype`.
  std::optional<std::vector<Expr>> host;

  explicit operator bool() const { return static_cast<bool>(buffer); }
  DType dtype() const { return buffer->dtype; }
  int rank() const { return static_cast<int>(buffer->shape.size()); }
  const Shape& shape() const { return buffer->shape; }
  const Expr& dim(int axis) const;  // negative counts from the end
  Expr at(Point point) const;       // load
  Expr operator()(std::initializer_list<Expr> point) const;
};

// The machinery behind one node's definition: collects stages and outputs. Errors carry the node's name.
class Builder {
 public:
  Builder(const OpDef& def, std::string node_name, std::vector<Tensor> inputs, Attributes attributes,
          int output_count);

  // Inputs ---------------------------------------------------------------------------------------------------------
  int input_count() const;  // variadic ones included
  const Tensor& input(int i) const;  // absent: a null Tensor
  bool has(int i) const;
  // The host value of an input, or an error that asks for a constant: "`axes` must be known when compiling".
  Result<std::vector<Expr>> host(int i) const;
  Result<std::vector<int64_t>> host_ints(int i) const;  // same, every element a number
  int output_count() const;  // how many outputs the node uses (later ones may be unused)
  bool wants(int output) const;

  // Attributes (defaults applied) ------------------------------------------------------------------------------------
  bool has_attribute(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;  // empty when absent
  std::vector<double> numbers(std::string_view name) const;
  const TensorData* tensor(std::string_view name) const;
  Result<int> axis(std::string_view name, int rank) const;  // normalised, checked

  // Stages -------------------------------------------------------------------------------------------------------------
  // A tensor of `shape`; `body` gives the element at a point. The domain is the shape inference.
  Tensor compute(std::string name, DType dtype, Shape shape, const std::function<Expr(Point)>& body);
  // Sum, max, ... over `extents`; `body(point, reduce_point)` gives the term (its type is the accumulator's).
  enum class Join { sum, prod, max, min };
  Tensor reduce(std::string name, Join join, DType dtype, Shape shape, Shape extents,
                const std::function<Expr(Point, Point)>& body,
                const std::function<Expr(Point, Expr)>& finish = {});
  // General reduction over a tuple of accumulators.
  Tensor reduce(std::string name, Combiner combiner, DType dtype, Shape shape, Shape extents,
                const std::function<std::vector<Expr>(Point, Point)>& body,
                const std::function<Expr(Point, std::span<const Var>)>& finish);
  Tensor scatter(std::string name, Tensor initial, Shape domain, std::optional<Join> join, bool unique,
                 const std::function<std::vector<Expr>(Point)>& target,
                 const std::function<Expr(Point)>& value, const std::function<Expr(Point)>& condition = {});
  // A tensor of known elements (expressions of type index), e.g. the result of Shape.
  Tensor host_tensor(DType dtype, Shape shape, std::vector<Expr> elements);
  Tensor constant(const TensorData& data);
  Tensor scalar(DType dtype, double value);
  // compose: another operator's outputs on these inputs, defined in place.
  Result<std::vector<Tensor>> call(std::string_view op, std::vector<Tensor> inputs, Attributes attributes = {},
                                   int output_count = 1);
  Result<Tensor> call1(std::string_view op, std::vector<Tensor> inputs, Attributes attributes = {});
  // The same tensor under another shape of equal element count (no copy where the layout allows).
  Tensor reshape(std::string name, Tensor tensor, Shape shape);

  void output(int i, Tensor tensor);

  // Shapes ---------------------------------------------------------------------------------------------------------------
  // NumPy broadcasting of shapes; an error names both. Dimension expressions that can't be proved equal become a check.
  Result<Shape> broadcast(std::span<const Tensor> tensors);
  Result<Shape> broadcast(const Shape& a, const Shape& b);
  // The load of `tensor` at `point` of a broadcast shape (size-1 axes read 0).
  Expr at_broadcast(const Tensor& tensor, Point point) const;
  // `condition` must hold when the model runs: proved now, an error now, or a check in the host program.
  Result<> require(Expr condition, std::string message);
  Expr simplify(const Expr&) const;  // with what is known of dimensions (each at least 1... see graph)

  std::unexpected<Diagnostic> error(std::string message, std::string hint = {}) const;

  // What was defined (used by the graph) -----------------------------------------------------------------------------------
  struct Check {
    Expr condition;
    std::string message;
  };
  struct Constant {
    Buffer buffer;
    TensorData data;
  };
  std::vector<Stage> stages;
  std::vector<Tensor> outputs;
  std::vector<Check> checks;
  std::vector<Constant> constants;
  const Catalog* catalog = nullptr;  // where `call` looks

 private:
  const OpDef& def_;
  std::string node_name_;
  std::vector<Tensor> inputs_;
  Attributes attributes_;
  int output_count_;
};

}  // namespace gossamer::ops
