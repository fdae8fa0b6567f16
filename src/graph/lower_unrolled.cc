// Rounds of a subgraph one after the other: loops that carry sequences, whose length may differ
// from round to round, and SequenceMap.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "graph/lowering.h"
#include "ir/build.h"
#include "ops/builder.h"

namespace gossamer::graph {
namespace {

constexpr int64_t most_rounds = 4096;

ConstantSource number(ir::DType dtype, int64_t value) {
  ConstantSource source;
  source.dtype = dtype;
  source.bytes.resize(static_cast<size_t>(ir::byte_size(dtype)));
  std::memcpy(source.bytes.data(), &value, source.bytes.size());
  return source;
}

}  // namespace

// A region's stages among those around it.
Result<std::vector<Item>> Lowering::lower_inline(const Graph& graph, const Values& outer,
                                                 const std::vector<Item>& inputs) {
  GS_ASSIGN(Region region, lower_region(graph, outer, inputs));
  std::ranges::move(region.program, std::back_inserter(out_.program));
  return std::move(region.outputs);
}

// Tensors of one shape along a new first axis.
Result<Tensor> Lowering::stack(const Node& node, const std::string& name,
                               const std::vector<Tensor>& rows) {
  ops::Builder builder(*catalog_.find("", "ConcatFromSequence"), cat(node.name, "/", name),
                       std::vector<Item>{Item::sequence(rows)},
                       {{"axis", int64_t{0}}, {"new_axis", int64_t{1}}}, 1);
  builder.catalog = &catalog_;
  builder.bounds = bounds_;
  GS_TRY(builder.define());
  Node made;
  made.def = &builder.def();
  made.name = builder.node_name();
  const size_t first_stage = out_.program.size();
  GS_TRY(take_stages(builder, {}, made));
  settle_output(builder.outputs[0], first_stage);
  return builder.outputs[0];
}

Result<> Lowering::unroll_loop(const Node& node, Values& values, int64_t rounds) {
  const std::string place = cat("[Loop] \"", node.name, "\"");
  const Graph& body = *node.regions[0];
  const size_t states = node.inputs.size() - 2;
  if (body.outputs.size() < states + 1 || body.inputs.size() != states + 2)
    return fail_at(place, "has a body with another number of inputs or outputs than it needs");
  if (rounds > most_rounds) {
    return fail_at(place, cat("carries a sequence through ", rounds, " rounds; ", most_rounds,
                              " can be compiled"));
  }
  const size_t rows = body.outputs.size() - 1 - states;
  std::vector<Item> carried;
  for (size_t k = 0; k < states; ++k) carried.push_back(known(values[node.inputs[k + 2]]));
  std::vector<std::vector<Tensor>> all_rows(rows);
  const auto round_of = [&](int64_t round) {
    std::vector<Item> inputs;
    inputs.emplace_back(add_constant(cat(node.name, "/round"), number(ir::DType::i64, round)));
    inputs.emplace_back(add_constant(cat(node.name, "/again"), number(ir::DType::boolean, 1)));
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    return lower_inline(body, values, inputs);
  };
  int64_t done = 0;
  for (bool again = true; again && done < rounds; ++done) {
    GS_ASSIGN(std::vector<Item> made, round_of(done));
    const Tensor& condition = made[0].tensor;
    const auto known_now = condition && condition.host && condition.host->size() == 1
                               ? ir::as_int(ir::simplify((*condition.host)[0], bounds_))
                               : std::nullopt;
    if (!known_now) {
      return fail_at(place,
                     cat("carries a sequence, so its condition must be known when compiling, ",
                         "which it is not after round ", done),
                     "end the loop by its trip count");
    }
    again = *known_now != 0;
    for (size_t k = 0; k < states; ++k) carried[k] = std::move(made[1 + k]);
    for (size_t r = 0; r < rows; ++r) {
      if (!made[1 + states + r].tensor) return fail_at(place, "stacks values that are no tensors");
      all_rows[r].push_back(std::move(made[1 + states + r].tensor));
    }
  }
  if (done == 0 && rows > 0) {
    // Their shape is that of a round that never runs.
    const Mark before = mark();
    GS_ASSIGN(const std::vector<Item> made, round_of(0));
    go_back(before);
    for (size_t r = 0; r < rows; ++r) {
      const Tensor& row = made[1 + states + r].tensor;
      if (!row) return fail_at(place, "stacks values that are no tensors");
      std::vector<Expr> shape = row.shape();
      shape.insert(shape.begin(), ir::index(0));
      const Tensor none =
          add_compute(cat(node.name, ".none"), row.dtype(), std::move(shape),
                      [&](const std::vector<Expr>&) { return ir::zero(row.dtype()); });
      if (states + r < node.outputs.size() && node.outputs[states + r] != no_value)
        values[node.outputs[states + r]] = none;
    }
  }
  for (size_t i = 0; i < node.outputs.size() && i < states + rows; ++i) {
    if (node.outputs[i] == no_value) continue;
    if (i < states) {
      values[node.outputs[i]] = carried[i];
    } else if (done > 0) {
      auto stacked = stack(node, body.values[body.outputs[1 + i]].name, all_rows[i - states]);
      if (!stacked) return fail_at(place, stacked.error().message);
      values[node.outputs[i]] = *std::move(stacked);
    }
  }
  return {};
}

Result<> Lowering::lower_sequence_map(const Node& node, Values& values) {
  const std::string place = cat("[SequenceMap] \"", node.name, "\"");
  if (node.inputs.empty() || node.regions.size() != 1)
    return fail_at(place, "needs a sequence and a body");
  const Graph& body = *node.regions[0];
  if (body.inputs.size() != node.inputs.size() || body.outputs.size() < node.outputs.size())
    return fail_at(place, "has a body with another number of inputs or outputs than it has itself");
  std::vector<Item> inputs;
  for (ValueId id : node.inputs) {
    if (id == no_value) return fail_at(place, "lacks an input");
    inputs.push_back(known(values[id]));
  }
  if (!inputs[0].is_sequence()) return fail_at(place, "its first input is no sequence");
  const size_t length = inputs[0].elements.size();
  for (const Item& input : inputs) {
    if (input.is_sequence() && input.elements.size() != length)
      return fail_at(
          place, cat("its sequences have ", length, " and ", input.elements.size(), " elements"));
  }
  std::vector<std::vector<Tensor>> made(node.outputs.size());
  for (size_t at = 0; at < length; ++at) {
    std::vector<Item> samples;
    for (const Item& input : inputs)
      samples.push_back(input.is_sequence() ? Item(input.elements[at]) : input);
    GS_ASSIGN(const std::vector<Item> outputs, lower_inline(body, values, samples));
    for (size_t i = 0; i < made.size(); ++i) {
      if (!outputs[i].tensor) return fail_at(place, "has a body that makes no tensor");
      made[i].push_back(outputs[i].tensor);
    }
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (node.outputs[i] != no_value) values[node.outputs[i]] = Item::sequence(std::move(made[i]));
  }
  return {};
}

}  // namespace gossamer::graph
