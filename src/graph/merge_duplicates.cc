// Computes equal stages once. Two stages are equal where they differ only in the identity of their
// variables.
#include <algorithm>
#include <unordered_map>

#include "graph/stage_graph.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::graph {
namespace {

using ir::Expr;
using ops::Stage;

// What a stage computes, over variables that depend only on their position.
struct Meaning {
  Stage stage;
  size_t hash = 0;
};

// Within one block, where a state has one value for all its readers.
struct Known {
  Stage stage;
  int block = 0;
};

class Canonical {
 public:
  Meaning of(const Stage& stage) {
    Meaning meaning{stage, 0};
    ir::VarMap map;
    size_t next = 0;
    for (const ir::Var& axis : stage.axes) map[axis.get()] = variable(next++, axis->type);
    for (const ir::Var& axis : stage.reduce_axes) map[axis.get()] = variable(next++, axis->type);
    for (const ir::Var& left : stage.combiner.left) map[left.get()] = variable(next++, left->type);
    for (const ir::Var& right : stage.combiner.right) {
      map[right.get()] = variable(next++, right->type);
    }
    auto rename = [&](std::vector<Expr>& exprs) {
      for (Expr& expr : exprs) expr = ir::substitute(expr, map);
    };
    rename(meaning.stage.values);
    rename(meaning.stage.combiner.joined);
    if (stage.result) meaning.stage.result = ir::substitute(stage.result, map);
    meaning.hash = ir::hash(meaning.stage.result) * 31 + stage.axes.size();
    for (const Expr& value : meaning.stage.values) {
      meaning.hash = meaning.hash * 31 + ir::hash(value);
    }
    return meaning;
  }

 private:
  Expr variable(size_t position, ir::Type type) {
    auto& pool = pools_[static_cast<int>(type.dtype)];
    while (pool.size() <= position) pool.push_back(ir::var(cat("v", pool.size()), type));
    return pool[position];
  }
  std::unordered_map<int, std::vector<ir::Var>> pools_;
};

bool equal_lists(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return ir::equal(x, y); });
}

bool equal(const Stage& a, const Stage& b) {
  return a.kind == b.kind && a.output->dtype == b.output->dtype &&
         a.output->storage == b.output->storage && a.output->layout == b.output->layout &&
         a.view == b.view && equal_lists(a.extents, b.extents) &&
         equal_lists(a.reduce_extents, b.reduce_extents) && equal_lists(a.values, b.values) &&
         equal_lists(a.combiner.joined, b.combiner.joined) &&
         equal_lists(a.combiner.identity, b.combiner.identity) && ir::equal(a.result, b.result);
}

}  // namespace

void merge_duplicates(StageGraph& graph) {
  Canonical canonical;
  std::unordered_multimap<size_t, Known> seen;
  const auto states = states_of(graph);
  const std::vector<int> blocks = ops::blocks_of(graph.program);
  size_t position = 0;
  ir::BufferMap merged;
  std::vector<ir::Buffer> removed;  // keys of `merged`, kept so that no new buffer takes an address
  ops::Program kept;
  for (ops::Entry& entry : graph.program) {
    if (!merged.empty()) ops::replace_inputs(entry, merged);
    const int block = blocks[position++];
    const Stage* stage = entry.stage();
    const bool pointwise = stage && (stage->kind == ops::StageKind::compute ||
                                     (stage->kind == ops::StageKind::reduce && !stage->in_order));
    if (!pointwise || states.contains(stage->output.get())) {
      kept.push_back(std::move(entry));
      continue;
    }
    Meaning meaning = canonical.of(*stage);
    auto [first, last] = seen.equal_range(meaning.hash);
    auto found = std::find_if(first, last, [&](const auto& one) {
      return one.second.block == block && equal(one.second.stage, meaning.stage);
    });
    if (found != last) {
      merged[stage->output.get()] = found->second.stage.output;
      removed.push_back(stage->output);
      continue;
    }
    seen.emplace(meaning.hash, Known{std::move(meaning.stage), block});
    kept.push_back(std::move(entry));
  }
  graph.program = std::move(kept);
  for (StageOutput& output : graph.outputs) {
    if (auto found = merged.find(output.buffer.get()); found != merged.end()) {
      output.buffer = found->second;
    }
  }
}

}  // namespace gossamer::graph
