#include "lower/lower_scan.h"

#include "ir/build.h"
#include "lower/control_tensors.h"
#include "lower/repeat.h"
#include "lower/text_parts.h"

namespace gossamer::lower {
namespace {

using graph::no_value;
using graph::Node;
using graph::ValueId;

// One number for each of `size`; all 0 where the node does not say.
Result<std::vector<int64_t>> list_of(const Node& node, std::string_view name, size_t size) {
  std::vector<int64_t> list;
  if (const auto found = node.attributes.find(name); found != node.attributes.end()) {
    if (const auto* given = std::get_if<std::vector<int64_t>>(&found->second)) list = *given;
  }
  const std::string place = cat("[Scan] \"", node.name, "\"");
  if (!list.empty() && list.size() != size) {
    return fail_at(place, cat("`", name, "` has ", list.size(), " entries, ", size, " are needed"));
  }
  for (int64_t entry : list) {
    if (name.ends_with("directions") && entry != 0 && entry != 1)
      return fail_at(place, cat("`", name, "` has an entry ", entry), "it must be 0 or 1");
  }
  list.resize(size, 0);
  return list;
}

// An input that rounds read a slice of.
struct Scanned {
  Tensor source;
  size_t axis = 0;
  bool backwards = false;
};

// Its slice in a round.
Tensor slice(const Scanned& scanned, const std::string& name, const Repeat& what,
             const ir::Var& round, StageBuilder& stages) {
  const Expr at = scanned.backwards ? what.rounds - ir::index(1) - round : Expr(round);
  const auto axis = static_cast<std::ptrdiff_t>(scanned.axis);
  std::vector<Tensor> slices;
  for (const Tensor& part : parts_of({scanned.source})) {
    std::vector<Expr> shape = part.shape();
    shape.erase(shape.begin() + axis);
    slices.push_back(add_compute(stages, name, part.dtype(), shape, [&](std::vector<Expr> point) {
      point.insert(point.begin() + axis, at);
      return ir::load(part.buffer, std::move(point));
    }));
  }
  return joined(slices, {is_text(scanned.source)})[0];
}

// Rows that are stacked along the first axis, along `axis` instead.
Tensor turn(const Tensor& rows, size_t axis, bool backwards, const std::string& name,
            const Repeat& what, StageBuilder& stages) {
  const auto place = static_cast<std::ptrdiff_t>(axis);
  std::vector<Tensor> turned;
  for (const Tensor& part : parts_of({rows})) {
    std::vector<Expr> shape(part.shape().begin() + 1, part.shape().end());
    shape.insert(shape.begin() + place, what.rounds);
    turned.push_back(add_compute(stages, name, part.dtype(), shape, [&](std::vector<Expr> point) {
      Expr row = point[axis];
      point.erase(point.begin() + place);
      if (backwards) row = what.rounds - ir::index(1) - row;
      point.insert(point.begin(), row);
      return ir::load(part.buffer, std::move(point));
    }));
  }
  return joined(turned, {is_text(rows)})[0];
}

// The last `count` inputs, and how many rounds they make.
Result<std::vector<Scanned>> scanned_inputs(const Node& node, const Values& values, size_t count,
                                            StageBuilder& stages, Repeat& what) {
  const std::string place = cat("[Scan] \"", node.name, "\"");
  GS_ASSIGN(const std::vector<int64_t> axes, list_of(node, "scan_input_axes", count));
  GS_ASSIGN(const std::vector<int64_t> directions, list_of(node, "scan_input_directions", count));
  std::vector<Scanned> all;
  for (size_t i = 0; i < count; ++i) {
    const Tensor& source = values[node.inputs[node.inputs.size() - count + i]].tensor;
    const int64_t axis = axes[i] < 0 ? axes[i] + source.rank() : axes[i];
    if (axis < 0 || axis >= source.rank()) {
      return fail_at(place, cat("scan_input_axes[", i, "] is ", axes[i], ", the input has rank ",
                                source.rank()));
    }
    const Expr& extent = source.shape()[static_cast<size_t>(axis)];
    if (i == 0) {
      what.rounds = extent;
    } else if (!ir::prove_equal(extent, what.rounds, stages.bounds)) {
      stages.add_check(extent == what.rounds, cat(place, ": the scanned inputs differ in length"));
    }
    all.push_back({source, static_cast<size_t>(axis), directions[i] != 0});
  }
  return all;
}

// The last `count` results are rows, which go where the node says.
Result<> turn_rows(const Node& node, size_t count, const Repeat& what, StageBuilder& stages,
                   std::vector<Tensor>& results) {
  const std::string place = cat("[Scan] \"", node.name, "\"");
  GS_ASSIGN(const std::vector<int64_t> axes, list_of(node, "scan_output_axes", count));
  GS_ASSIGN(const std::vector<int64_t> directions, list_of(node, "scan_output_directions", count));
  for (size_t r = 0; r < count; ++r) {
    const size_t i = results.size() - count + r;
    if (i >= node.outputs.size() || node.outputs[i] == no_value) continue;
    const int64_t axis = axes[r] < 0 ? axes[r] + results[i].rank() : axes[r];
    if (axis < 0 || axis >= results[i].rank())
      return fail_at(place, cat("scan_output_axes[", r, "] is ", axes[r]));
    const bool backwards = directions[r] != 0;
    if (axis == 0 && !backwards) continue;
    results[i] = turn(results[i], static_cast<size_t>(axis), backwards,
                      cat(node.name, "/stacked", i), what, stages);
  }
  return {};
}

}  // namespace

Result<> lower_scan(const Node& node, Values& values, GraphLowering& lowering) {
  const std::string place = cat("[Scan] \"", node.name, "\"");
  int64_t given = 0;
  if (const auto found = node.attributes.find("num_scan_inputs"); found != node.attributes.end()) {
    if (const auto* number = std::get_if<int64_t>(&found->second)) given = *number;
  }
  if (given < 1 || given > static_cast<int64_t>(node.inputs.size()) || node.regions.size() != 1) {
    return fail_at(place, "needs a body and at least one input to scan");
  }
  for (ValueId id : node.inputs) {
    if (id == no_value) return fail_at(place, "lacks an input");
    if (!values[id].tensor) return fail_at(place, "has a sequence as input, it takes tensors");
  }
  const size_t count = static_cast<size_t>(given), states = node.inputs.size() - count;
  StageBuilder& stages = lowering.stages();
  Repeat what(node);
  GS_ASSIGN(const std::vector<Scanned> scanned, scanned_inputs(node, values, count, stages, what));
  for (size_t k = 0; k < states; ++k)
    what.initial.push_back(stages.known.of(values[node.inputs[k]].tensor));
  what.inputs = [](const ir::Var&) { return std::vector<Tensor>(); };
  what.rows = [&](const ir::Var& round) {
    std::vector<Tensor> rows;
    for (size_t i = 0; i < count; ++i)
      rows.push_back(slice(scanned[i], cat(node.name, "/slice", i), what, round, stages));
    return rows;
  };
  GS_ASSIGN(std::vector<Item> made, lower_repeat(what, values, lowering));
  std::vector<Tensor> results;
  for (Item& item : made) results.push_back(std::move(item.tensor));
  GS_TRY(turn_rows(node, results.size() - states, what, stages, results));
  for (size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
    if (node.outputs[i] != no_value) values[node.outputs[i]] = std::move(results[i]);
  }
  return {};
}

}  // namespace gossamer::lower
