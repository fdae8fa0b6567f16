#include "lower/unroll_loop.h"

#include <cstring>

#include "ir/build.h"
#include "lower/control_tensors.h"

namespace gossamer::lower {
namespace {

using graph::Graph;
using graph::no_value;
using graph::Node;
using stages::ConstantSource;

constexpr int64_t most_unrolled = 4096;

ConstantSource number(ir::DType dtype, int64_t value) {
  ConstantSource source;
  source.dtype = dtype;
  source.bytes.resize(static_cast<size_t>(ir::byte_size(dtype)));
  std::memcpy(source.bytes.data(), &value, source.bytes.size());
  return source;
}

class Unrolling {
 public:
  Unrolling(const Node& node, Values& values, GraphLowering& lowering)
      : node_(node),
        values_(values),
        lowering_(lowering),
        stages_(lowering.stages()),
        body_(*node.regions[0]),
        place_(cat("[Loop] \"", node.name, "\"")),
        states_(node.inputs.size() - 2) {}

  Result<> run(int64_t rounds);

 private:
  Result<std::vector<Item>> lower_round(int64_t round);
  Result<bool> goes_on(const Tensor& condition, int64_t round) const;
  Result<> run_rounds(int64_t rounds);
  Result<> stack_none();
  // Tensors of one shape along a new first axis.
  Result<Item> stack(const std::string& name, const std::vector<Tensor>& rows);
  void set_output(size_t i, Item item);

  const Node& node_;
  Values& values_;
  GraphLowering& lowering_;
  StageBuilder& stages_;
  const Graph& body_;
  std::string place_;
  size_t states_;
  std::vector<Item> carried_;
  std::vector<std::vector<Tensor>> rows_;  // of each output that stacks them, by round
  int64_t done_ = 0;                       // rounds
};

Result<> Unrolling::run(int64_t rounds) {
  if (body_.outputs.size() < states_ + 1 || body_.inputs.size() != states_ + 2)
    return fail_at(place_, "has a body with another number of inputs or outputs than it needs");
  if (rounds > most_unrolled) {
    return fail_at(place_, cat("carries a sequence through ", rounds, " rounds; ", most_unrolled,
                               " can be compiled"));
  }
  for (size_t k = 0; k < states_; ++k)
    carried_.push_back(stages_.known.of(values_[node_.inputs[k + 2]]));
  rows_.resize(body_.outputs.size() - 1 - states_);
  GS_TRY(run_rounds(rounds));
  if (done_ == 0 && !rows_.empty()) GS_TRY(stack_none());
  for (size_t k = 0; k < states_; ++k) set_output(k, carried_[k]);
  for (size_t r = 0; done_ > 0 && states_ + r < node_.outputs.size() && r < rows_.size(); ++r) {
    if (node_.outputs[states_ + r] == no_value) continue;
    auto stacked = stack(body_.values[body_.outputs[1 + states_ + r]].name, rows_[r]);
    if (!stacked) return fail_at(place_, stacked.error().message);
    set_output(states_ + r, *std::move(stacked));
  }
  return {};
}

void Unrolling::set_output(size_t i, Item item) {
  if (i < node_.outputs.size() && node_.outputs[i] != no_value)
    values_[node_.outputs[i]] = std::move(item);
}

Result<std::vector<Item>> Unrolling::lower_round(int64_t round) {
  const auto scalar = [&](const char* name, ir::DType dtype, int64_t value) {
    return stages_.add_constant(cat(node_.name, name), number(dtype, value));
  };
  std::vector<Item> inputs;
  inputs.emplace_back(scalar("/round", ir::DType::i64, round));
  inputs.emplace_back(scalar("/again", ir::DType::boolean, 1));
  inputs.insert(inputs.end(), carried_.begin(), carried_.end());
  return lowering_.lower_inline(body_, values_, inputs);
}

Result<bool> Unrolling::goes_on(const Tensor& condition, int64_t round) const {
  const auto known = condition && condition.host && condition.host->size() == 1
                         ? ir::as_int(ir::simplify((*condition.host)[0], stages_.bounds))
                         : std::nullopt;
  if (!known) {
    return fail_at(place_,
                   cat("carries a sequence, so its condition must be known when compiling, ",
                       "which it is not after round ", round),
                   "end the loop by its trip count");
  }
  return *known != 0;
}

Result<> Unrolling::run_rounds(int64_t rounds) {
  for (bool again = true; again && done_ < rounds; ++done_) {
    GS_ASSIGN(std::vector<Item> made, lower_round(done_));
    GS_ASSIGN(again, goes_on(made[0].tensor, done_));
    for (size_t k = 0; k < states_; ++k) carried_[k] = std::move(made[1 + k]);
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (!made[1 + states_ + r].tensor)
        return fail_at(place_, "stacks values that are no tensors");
      rows_[r].push_back(std::move(made[1 + states_ + r].tensor));
    }
  }
  return {};
}

// No rows: their shape is that of a round that never runs.
Result<> Unrolling::stack_none() {
  const StageBuilder before = stages_;
  GS_ASSIGN(const std::vector<Item> made, lower_round(0));
  stages_ = before;
  for (size_t r = 0; r < rows_.size(); ++r) {
    const Tensor& row = made[1 + states_ + r].tensor;
    if (!row) return fail_at(place_, "stacks values that are no tensors");
    std::vector<Expr> shape = row.shape();
    shape.insert(shape.begin(), ir::index(0));
    const auto body = [&](const std::vector<Expr>&) { return ir::zero(row.dtype()); };
    set_output(states_ + r,
               add_compute(stages_, cat(node_.name, ".none"), row.dtype(), std::move(shape), body));
  }
  return {};
}

Result<Item> Unrolling::stack(const std::string& name, const std::vector<Tensor>& rows) {
  return lowering_.lower_call("ConcatFromSequence", cat(node_.name, "/", name),
                              {Item::sequence(rows)},
                              {{"axis", int64_t{0}}, {"new_axis", int64_t{1}}});
}

}  // namespace

Result<> unroll_loop(const Node& node, Values& values, int64_t rounds, GraphLowering& lowering) {
  return Unrolling(node, values, lowering).run(rounds);
}

}  // namespace gossamer::lower
