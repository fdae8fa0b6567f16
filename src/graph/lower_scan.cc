// Scan: a Loop whose rounds read slices of inputs and stack their rows, along any axes, either way.
#include "graph/lowering.h"
#include "graph/text_parts.h"
#include "ir/build.h"

namespace gossamer::graph {
namespace {

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

}  // namespace

Result<> Lowering::lower_scan(const Node& node, Values& values) {
  const std::string place = cat("[Scan] \"", node.name, "\"");
  int64_t scanned = 0;
  if (const auto found = node.attributes.find("num_scan_inputs"); found != node.attributes.end()) {
    if (const auto* given = std::get_if<int64_t>(&found->second)) scanned = *given;
  }
  const auto inputs = static_cast<int64_t>(node.inputs.size());
  if (scanned < 1 || scanned > inputs || node.regions.size() != 1) {
    return fail_at(place, "needs a body and at least one input to scan");
  }
  for (ValueId id : node.inputs) {
    if (id == no_value) return fail_at(place, "lacks an input");
    if (!values[id].tensor) return fail_at(place, "has a sequence as input, it takes tensors");
  }
  const auto states = static_cast<size_t>(inputs - scanned), count = static_cast<size_t>(scanned);
  GS_ASSIGN(const std::vector<int64_t> axes, list_of(node, "scan_input_axes", count));
  GS_ASSIGN(const std::vector<int64_t> directions, list_of(node, "scan_input_directions", count));
  Repeat what(node);
  std::vector<Tensor> sources;
  std::vector<size_t> along;
  for (size_t i = 0; i < count; ++i) {
    const Tensor& source = values[node.inputs[states + i]].tensor;
    const int64_t axis = axes[i] < 0 ? axes[i] + source.rank() : axes[i];
    if (axis < 0 || axis >= source.rank()) {
      return fail_at(place, cat("scan_input_axes[", i, "] is ", axes[i], ", the input has rank ",
                                source.rank()));
    }
    const Expr& extent = source.shape()[static_cast<size_t>(axis)];
    if (i == 0) {
      what.rounds = extent;
    } else if (!ir::prove_equal(extent, what.rounds, bounds_)) {
      add_check(extent == what.rounds, cat(place, ": the scanned inputs differ in length"));
    }
    sources.push_back(source);
    along.push_back(static_cast<size_t>(axis));
  }
  for (size_t k = 0; k < states; ++k) what.initial.push_back(known(values[node.inputs[k]].tensor));
  what.inputs = [](const ir::Var&) { return std::vector<Tensor>(); };
  what.rows = [&](const ir::Var& round) {
    std::vector<Tensor> rows;
    for (size_t i = 0; i < count; ++i) {
      const Expr at = directions[i] == 0 ? Expr(round) : what.rounds - ir::index(1) - round;
      std::vector<Tensor> slices;
      for (const Tensor& part : parts_of({sources[i]})) {
        std::vector<Expr> shape = part.shape();
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(along[i]));
        slices.push_back(add_compute(
            cat(node.name, "/slice", i), part.dtype(), shape, [&](std::vector<Expr> point) {
              point.insert(point.begin() + static_cast<std::ptrdiff_t>(along[i]), at);
              return ir::load(part.buffer, std::move(point));
            }));
      }
      rows.push_back(joined(slices, {is_text(sources[i])})[0]);
    }
    return rows;
  };
  GS_ASSIGN(std::vector<Tensor> results, repeat(what, values));
  const size_t rows = results.size() - states;
  GS_ASSIGN(const std::vector<int64_t> out_axes, list_of(node, "scan_output_axes", rows));
  GS_ASSIGN(const std::vector<int64_t> out_directions,
            list_of(node, "scan_output_directions", rows));
  for (size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
    if (node.outputs[i] == no_value) continue;
    Tensor result = results[i];
    if (i >= states) {
      const int64_t given = out_axes[i - states];
      const int64_t axis = given < 0 ? given + result.rank() : given;
      if (axis < 0 || axis >= result.rank())
        return fail_at(place, cat("scan_output_axes[", i - states, "] is ", given));
      if (axis != 0 || out_directions[i - states] != 0) {
        const auto place_of = static_cast<std::ptrdiff_t>(axis);
        const bool backwards = out_directions[i - states] != 0;
        std::vector<Tensor> stacked;
        for (const Tensor& part : parts_of({results[i]})) {
          std::vector<Expr> shape(part.shape().begin() + 1, part.shape().end());
          shape.insert(shape.begin() + place_of, what.rounds);
          stacked.push_back(add_compute(cat(node.name, "/stacked", i), part.dtype(), shape,
                                        [&](std::vector<Expr> point) {
                                          Expr row = point[static_cast<size_t>(axis)];
                                          point.erase(point.begin() + place_of);
                                          if (backwards) row = what.rounds - ir::index(1) - row;
                                          point.insert(point.begin(), row);
                                          return ir::load(part.buffer, std::move(point));
                                        }));
        }
        result = joined(stacked, {is_text(results[i])})[0];
      }
    }
    values[node.outputs[i]] = std::move(result);
  }
  return {};
}

}  // namespace gossamer::graph
