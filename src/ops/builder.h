// What an operator's `define` sees, and how it says what it computes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/build.h"
#include "ir/simplify.h"
#include "ops/opdef.h"
#include "ops/strings.h"
#include "stages/program.h"

namespace gossamer::ops {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;
using ir::Type;
using ir::Var;
using stages::Accumulators;
using stages::Program;
using stages::Stage;
using stages::StageKind;
using Point = std::span<const Expr>;
using Shape = std::vector<Expr>;  // extents of type index
using Numbers = std::vector<int64_t>;

// A tensor while defining: its buffer, and what is known of it. A handle; copying is cheap.
struct Tensor {
  Buffer buffer;  // null for an absent optional input
  // Elements as expressions, row-major, when the tensor is a host value (small, computes shapes):
  // of type index for an integer or boolean tensor (false 0, true 1), of type f32 for an f32 tensor
  // (the scales of Resize).
  std::optional<std::vector<Expr>> host;
  // Of a tensor of strings: what it is made of. `bytes` u8 [shape..., width] is UTF-8 with zeros
  // behind the end, `lengths` i32 [shape...]. Its own buffer is never in memory: stages that load
  // from it, to move strings elsewhere, become stages over the two.
  Buffer bytes = {}, lengths = {};

  Tensor all_bytes() const { return {bytes, std::nullopt}; }
  Tensor all_lengths() const { return {lengths, std::nullopt}; }
  const Expr& width() const { return bytes->shape.back(); }

  explicit operator bool() const { return static_cast<bool>(buffer); }
  DType dtype() const { return buffer->dtype; }
  int rank() const { return static_cast<int>(buffer->shape.size()); }
  const Shape& shape() const { return buffer->shape; }
  const Expr& dim(int axis) const;  // negative counts from the end
  Expr at(Point point) const;       // load
  Expr operator()(std::initializer_list<Expr> point) const;
};

// A sequence whose length is only known in the run: all elements one after the other in one tensor
// (ops/sequence/packed.h).
struct Packed {
  Tensor data;   // [count, shape...] where all elements have one shape, otherwise flat [total]
  Tensor sizes;  // i32 [count, rank], the shape of each element; null where all have one shape
  Shape shape;   // of an element; extents in which elements differ are null

  const Expr& count() const { return (sizes ? sizes : data).shape()[0]; }
};

// A value of a graph: a tensor, a sequence of tensors, or an optional that holds nothing. An
// optional that holds something is that.
struct Item {
  enum class Kind : uint8_t { missing, tensor, sequence, nothing } kind = Kind::missing;
  Tensor tensor;                 // null where it is none
  std::vector<Tensor> elements;  // of a sequence whose length is known
  std::optional<Packed> packed;  // a sequence whose length is not known

  Item() = default;
  Item(Tensor one) : kind(one ? Kind::tensor : Kind::missing), tensor(std::move(one)) {}
  static Item sequence(std::vector<Tensor> elements);
  static Item packed_sequence(Packed packed);
  // Every tensor that the value consists of, in order.
  std::vector<Tensor*> tensors();
  static Item nothing();
  explicit operator bool() const { return kind != Kind::missing; }
  bool is_sequence() const { return kind == Kind::sequence; }
};

// The machinery behind one node's definition: collects stages and outputs. Errors carry the node's
// name.
class Builder {
 public:
  // `def` must outlive the builder.
  Builder(const OpDef& def, std::string node_name, const std::vector<Tensor>& inputs,
          Attributes attributes, int output_count);
  Builder(const OpDef& def, std::string node_name, std::vector<Item> inputs, Attributes attributes,
          int output_count);

  const OpDef& def() const { return def_; }
  const std::string& node_name() const { return node_name_; }

  // Checks inputs and attributes against the entry, runs its `define`, and checks that every output
  // was made.
  Result<> define();

  // Inputs
  // ---------------------------------------------------------------------------------------------------------
  int input_count() const;           // variadic ones included
  const Tensor& input(int i) const;  // absent: a null Tensor
  bool has(int i) const;             // a tensor
  const Item& item(int i) const;     // an input that may be no tensor
  // The tensors of an input that is a sequence.
  const std::vector<Tensor>& sequence(int i) const { return item(i).elements; }
  // The host value of an input, or an error that asks for a constant: "`axes` must be known when
  // compiling".
  Result<std::vector<Expr>> host(int i) const;
  Result<std::vector<int64_t>> host_ints(int i) const;  // same, every element a number
  // The elements of a small integer or boolean input: its host value where it has one, else
  // variables that the host program reads when the model runs. They may be of any sign; the element
  // count must be a number.
  Result<std::vector<Expr>> elements(int i);
  // The same of any tensor, such as a count that a stage computed: shapes of later stages may use
  // it.
  Result<std::vector<Expr>> read(const Tensor& tensor);
  int output_count() const;  // how many outputs the node uses (later ones may be unused)
  bool wants(int output) const;

  // Attributes (defaults applied)
  // ------------------------------------------------------------------------------------
  bool has_attribute(std::string_view name) const;
  // What the node itself says, without the default: to pass on in `call`.
  std::optional<Attribute> given(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;  // empty when absent
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  const TensorData* tensor(std::string_view name) const;
  Result<int> axis(std::string_view name, int rank) const;  // normalised, checked

  // Stages
  // -------------------------------------------------------------------------------------------------------------
  // A tensor of `shape`; `body` gives the element at a point. The domain is the shape inference.
  Tensor compute(std::string name, DType dtype, Shape shape,
                 const std::function<Expr(Point)>& body);
  // `past`, continued along `axis`: its rows before `first(point)`, then `count` new ones, where
  // `fresh(point)` counts them from 0, then zeros. Where a model keeps states, only the new rows
  // are written (stages/append_rows.h).
  Tensor append(std::string name, const Tensor& past, Shape shape, int axis, const Expr& count,
                const std::function<Expr(Point)>& first, const std::function<Expr(Point)>& fresh);
  // A stage whose loads are all of host values is also evaluated now, and its result is a host
  // value as well. Sum, max, ... over `extents`; `body(point, reduce_point)` gives the term (its
  // type is the accumulator's); `finish(point, accumulator)` the element, of `dtype`.
  enum class Join { sum, prod, max, min };
  Tensor reduce(std::string name, Join join, DType dtype, Shape shape, Shape extents,
                const std::function<Expr(Point, Point)>& body,
                const std::function<Expr(Point, Expr)>& finish = {});
  // General reduction over a tuple of accumulators.
  Tensor reduce(std::string name, Accumulators accumulators, DType dtype, Shape shape,
                Shape extents, const std::function<std::vector<Expr>(Point, Point)>& body,
                const std::function<Expr(Point, std::span<const Var>)>& finish);
  // Running results along `axis`: the element of `dtype` at a point is made from the join of the
  // terms `body(point)` at all points up to it.
  Tensor scan(std::string name, Join join, DType dtype, Shape shape, int axis,
              const std::function<Expr(Point)>& body,
              const std::function<Expr(Point, Expr)>& finish = {});
  // The same of a tuple of accumulators.
  Tensor scan(std::string name, Accumulators accumulators, DType dtype, Shape shape, int axis,
              const std::function<std::vector<Expr>(Point)>& body,
              const std::function<Expr(Point, std::span<const Var>)>& finish);
  // Steps along `axis`, whose extent is a number, in order: accumulators are `starts(point)` before
  // the first one, `next(point, accumulators)` after each; `finish` gives the element of what they
  // are by then.
  Tensor walk(std::string name, DType dtype, Shape shape, int axis,
              const std::function<std::vector<Expr>(Point)>& starts,
              const std::function<std::vector<Expr>(Point, std::span<const Var>)>& next,
              const std::function<Expr(Point, std::span<const Var>)>& finish);
  // [shape], i32: along `axis`, where the elements lie that come first, second, ... of `length`;
  // no more of them than the shape has. `keys(point)` are what `before(left, right)` compares of
  // the element at a point; equals keep their order.
  Tensor sort(std::string name, Shape shape, int axis, Expr length,
              const std::function<std::vector<Expr>(Point)>& keys,
              const std::function<Expr(std::span<const Var>, std::span<const Var>)>& before);
  // [shape], i32: the first place of 0..length where `holds(point, place)`, which holds at all
  // places behind it too; `length` where it holds nowhere. In log(length) steps.
  Tensor search(std::string name, Shape shape, Expr length,
                const std::function<Expr(Point, Expr)>& holds);
  // For every point of `domain`: output[target] joins `value` (replaces, without a join) where
  // `condition` holds, one point after the other. The output starts as a copy of `initial`.
  // `increasing`: Stage::increasing.
  Tensor scatter(std::string name, Tensor initial, Shape domain, std::optional<Join> join,
                 const std::function<std::vector<Expr>(Point)>& target,
                 const std::function<Expr(Point)>& value,
                 const std::function<Expr(Point)>& condition = {}, bool increasing = false);
  // Stages repeated in order: `rounds` times, `body` makes the next states (of the shapes and types
  // of the initial ones) and rows, which are stacked along a new first axis. `round` counts from 0.
  // `carried`: variables of the run, set before; no round begins where the first one is 0.
  // Round::carried (small, of integers), if the body makes it, gives them anew at the end of a
  // round, which waits for it.
  struct Round {
    std::vector<Tensor> states, rows;
    Tensor carried = {};
  };
  Result<Round> loop(
      std::string name, Expr rounds, std::span<const Tensor> initial,
      const std::function<Result<Round>(const Expr& round, std::span<const Tensor> states)>& body,
      const std::vector<Var>& carried = {});
  // A tensor of known elements (host expressions, see Tensor::host), e.g. the result of Shape.
  Tensor host_tensor(DType dtype, Shape shape, std::vector<Expr> elements);
  Tensor constant(const TensorData& data);
  // The tensor of strings that these two make, see Tensor::bytes.
  Tensor strings(const Tensor& bytes, const Tensor& lengths);
  Tensor scalar(DType dtype, double value);
  // compose: another operator's outputs on these inputs, defined in place. One of another domain
  // is DOMAIN::NAME.
  Result<std::vector<Tensor>> call(const OpDef& def, std::vector<Tensor> inputs,
                                   Attributes attributes, int output_count);
  Result<std::vector<Tensor>> call(std::string_view op, std::vector<Tensor> inputs,
                                   Attributes attributes = {}, int output_count = 1);
  Result<Tensor> call1(std::string_view op, std::vector<Tensor> inputs, Attributes attributes = {});
  // The outputs of the graph that attribute `name` (of OpDef::regions) holds, on these inputs.
  bool has_region(std::string_view name) const;
  Result<std::vector<Tensor>> region(std::string_view name, std::vector<Tensor> inputs);
  // The same tensor under another shape of equal element count: a view stage (no copy where the
  // layout allows).
  Tensor reshape(std::string name, Tensor tensor, Shape shape);

  void output(int i, Tensor tensor);
  void output_item(int i, Item item);

  // Shapes
  // ---------------------------------------------------------------------------------------------------------------
  // NumPy broadcasting of shapes; an error names both. Dimension expressions that can't be proved
  // equal become a check.
  Result<Shape> broadcast(std::span<const Tensor> tensors);
  Result<Shape> broadcast(const Shape& a, const Shape& b);
  // The load of `tensor` at `point` of a broadcast shape (size-1 axes read 0); the number itself
  // where the tensor is one known number, so that it takes no binding.
  Expr at_broadcast(const Tensor& tensor, Point point) const;
  // Where an axis of `extent` elements is read at `at` of the axis that it is broadcast to: 0 where
  // it has one element, which may be for the run to say.
  Expr broadcast_place(const Expr& extent, const Expr& at) const;
  // The extent that two axes are broadcast to; `message` where neither is 1 and they differ.
  Result<Expr> broadcast_extent(const Expr& x, const Expr& y, const std::string& message);
  // `condition` must hold when the model runs: proved now, an error now, or a check in the host
  // program.
  Result<> require(Expr condition, std::string message);
  Expr simplify(const Expr&) const;               // with `bounds`
  bool same(const Expr& a, const Expr& b) const;  // provably equal

  std::unexpected<Diagnostic> error(std::string message, std::string hint = {}) const;

  // What was defined (used by the graph)
  // -----------------------------------------------------------------------------------
  struct Check {
    Expr condition;
    std::string message;
  };
  struct Constant {
    Buffer buffer;
    TensorData data;
  };
  Program program;
  std::vector<Tensor> outputs;          // null where it is in `items`
  std::unordered_map<int, Item> items;  // outputs that are no tensors
  std::vector<Check> checks;
  std::vector<Constant> constants;
  // Makes the stages of a region; one for each of OpDef::regions, empty where the node has none.
  struct Inlined {
    Program program;
    std::vector<Tensor> outputs;
  };
  std::vector<std::function<Result<Inlined>(std::vector<Tensor>)>> regions;
  const Catalog* catalog = nullptr;  // where `call` looks; null: the built-in one
  ir::Bounds bounds;                 // what the graph knows of its dimensions

 private:
  bool decided_late(const Expr& extent) const;
  void keep_extents(const std::vector<Var>& axes, const Shape& extents);
  Stage stage_over(StageKind kind, std::string name, const Shape& extents);
  std::unordered_map<const ir::VarNode*, Expr> extent_of_axis_;
  Expr named(const char* name, const Expr& value);  // long expressions become a variable of the run
  static bool read_allowed(const Tensor& tensor);
  bool holds_one(const Tensor& tensor) const;  // at most one integer or boolean
  Tensor finish(Stage stage, DType dtype);     // names and keeps a stage, evaluates it where it can
  Tensor finish_strings(Stage stage);          // as two stages
  void know(const Tensor& tensor);
  std::string unique_name(std::string name);
  Attribute attribute(std::string_view name) const;
  Result<> check_inputs() const;
  Result<> check_attributes() const;

  const OpDef& def_;
  std::string node_name_;
  std::vector<Item> inputs_;
  Attributes attributes_;
  int output_count_;
  std::unordered_map<const ir::BufferNode*, std::vector<Expr>> known_;  // host values by buffer
  StringParts strings_;
  std::unordered_set<std::string> stage_names_;
  Result<> reads_;  // the first load that leaves its tensor
};

inline Expr int32(int64_t value) { return ir::constant_int(DType::i32, value); }
inline Expr as_index(const Expr& stored) { return ir::cast(DType::index, stored); }

}  // namespace gossamer::ops
