// Stages that depend on what a run computes: values read back, loops.
#include "ir/rewrite.h"
#include "ops/builder.h"
#include "ops/reshape_index.h"
#include "stages/state_update.h"

namespace gossamer::ops {
namespace {

constexpr int64_t max_read_elements = 64;
constexpr int max_unnamed = 24;  // parts of an expression

}  // namespace

Result<std::vector<Expr>> Builder::elements(int i) {
  if (!has(i) || input(i).host) return host(i);
  Tensor tensor = input(i);
  if (!read_allowed(tensor) && !tensor.shape().empty() && holds_one(tensor)) {
    // A slice of one element that begins where the run says.
    for (const Expr& extent : tensor.shape())
      GS_TRY(require(extent == 1.0, cat("input ", i, " has no element")));
    tensor = compute(cat("element", i), tensor.dtype(), Shape(tensor.shape().size(), ir::index(1)),
                     [&](Point point) { return tensor.at(point); });
  }
  if (!read_allowed(tensor)) return host(i);
  GS_ASSIGN(std::vector<Expr> values, read(tensor));
  inputs_[static_cast<size_t>(i)].tensor.host = values;
  return values;
}

bool Builder::holds_one(const Tensor& tensor) const {
  if (!ir::is_int(tensor.dtype()) && tensor.dtype() != DType::boolean) return false;
  for (const Expr& extent : tensor.shape()) {
    if (bounds.of(extent).high > 1) return false;
  }
  return true;
}

bool Builder::read_allowed(const Tensor& tensor) {
  if (!ir::is_int(tensor.dtype()) && tensor.dtype() != DType::boolean) return false;
  int64_t count = 1;
  for (const Expr& extent : tensor.shape()) {
    const auto known = ir::as_int(extent);
    if (!known || *known > max_read_elements) return false;
    count *= *known;
  }
  return count <= max_read_elements;
}

Result<std::vector<Expr>> Builder::read(const Tensor& tensor) {
  if (const auto known = known_.find(tensor.buffer.get()); known != known_.end())
    return known->second;
  if (!read_allowed(tensor)) {
    return error(cat("needs the elements of ", tensor.buffer->name,
                     " to know a shape; it is not a small tensor of integers"));
  }
  int64_t count = 1;
  for (const Expr& extent : tensor.shape()) count *= *ir::as_int(extent);
  if (tensor.rank() > 1 && count > 1) {
    // A step reads memory, and a layout may put another axis than the last one side by side.
    const std::string name = cat(tensor.buffer->name, ".list");
    const Tensor list = compute(name, tensor.dtype(), {index(count)}, [&](Point point) {
      return tensor.at(same_position(tensor.shape(), {index(count)}, {point[0]}, bounds));
    });
    GS_ASSIGN(std::vector<Expr> values, read(list));
    known_[tensor.buffer.get()] = values;
    return values;
  }
  std::vector<Var> variables;
  std::vector<Expr> values;
  for (int64_t k = 0; k < count; ++k) {
    const std::string& name = tensor.buffer->name;
    variables.push_back(ir::var(count == 1 ? name : cat(name, ".", k)));
    values.push_back(variables.back());
  }
  program.push_back(stages::read_step(tensor.buffer, std::move(variables)));
  known_[tensor.buffer.get()] = values;
  return values;
}

// Extents made of extents double with every operator; a variable keeps them short.
Expr Builder::named(const char* name, const Expr& value) {
  int parts = 0;
  ir::visit(value, [&](const Expr&) { return ++parts <= max_unnamed; });
  if (parts <= max_unnamed) return value;
  const Var variable = ir::var(unique_name(name));
  program.push_back(stages::set_step({variable}, {value}));
  return variable;
}

Result<Builder::Round> Builder::loop(
    std::string name, Expr rounds, std::span<const Tensor> initial,
    const std::function<Result<Round>(const Expr&, std::span<const Tensor>)>& body,
    const std::vector<Var>& carried) {
  rounds = simplify(rounds);
  Round result;
  std::vector<Buffer> states;
  for (size_t k = 0; k < initial.size(); ++k) {
    const Buffer& from = initial[k].buffer;
    states.push_back(ir::buffer(unique_name(cat(name, ".state")), from->dtype, from->shape));
    program.push_back(stages::copy_stage(unique_name(cat(name, ".initial")), from, states.back()));
    result.states.push_back({states.back(), std::nullopt});
  }
  const Var round = ir::var(unique_name(cat(name, ".round")));
  const size_t start = program.size();
  program.push_back(stages::loop_step(round, rounds, carried.empty() ? Expr() : Expr(carried[0])));
  const auto known = known_;
  const ir::Bounds outside = bounds;
  const int64_t last = ir::as_int(rounds).value_or(int64_t{1} << 31) - 1;
  bounds.set(round.get(), {0, std::max<int64_t>(last, 0)});
  GS_ASSIGN(Round made, body(round, result.states));
  known_ = known;  // what was read in a round is not known after it
  bounds = outside;
  GS_CHECK(made.states.size() == states.size(), "a next value a state");
  std::vector<Buffer> next;
  for (size_t k = 0; k < states.size(); ++k) {
    const Tensor& value = made.states[k];
    GS_CHECK(value.dtype() == states[k]->dtype && value.shape().size() == states[k]->shape.size(),
             "a state changes its type or rank");
    next.push_back(value.buffer);
  }
  std::vector<Stage> fills;
  for (const Tensor& row : made.rows) {
    Shape shape{rounds};
    shape.insert(shape.end(), row.shape().begin(), row.shape().end());
    const Buffer all = ir::buffer(unique_name(cat(name, ".rows")), row.dtype(), shape);
    Stage fill = stages::copy_stage(unique_name(cat(name, ".fill")), all, all);
    fill.result = ir::zero(row.dtype());
    fills.push_back(std::move(fill));
    program.push_back(stages::row_stage(unique_name(cat(name, ".row")), all, round, row.buffer));
    result.rows.push_back({all, std::nullopt});
  }
  for (Stage& stage : stages::advance_states(states, next)) {
    stage.name = unique_name(stage.name);
    program.push_back(std::move(stage));
  }
  if (made.carried) program.push_back(stages::read_step(made.carried.buffer, carried));
  program.push_back(stages::end_step());
  program.insert(program.begin() + static_cast<std::ptrdiff_t>(start),
                 std::make_move_iterator(fills.begin()), std::make_move_iterator(fills.end()));
  for (Stage& stage : stages_of(program)) stage.origin = node_name_;
  return result;
}

}  // namespace gossamer::ops
