// Computes equal stages once. Two stages are equal where they differ only in the identity of their
// variables.
#include <algorithm>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "stages/stage_graph.h"

namespace gossamer::stages {
namespace {

using ir::Expr;

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
    const auto rename = [&](ir::Var& own) {
      const ir::Var var = variable(next++, own->type);
      map[own.get()] = var;
      own = var;
    };
    visit_fields(meaning.stage, [&]<class T>(FieldRole, T& field) {
      if constexpr (std::is_same_v<T, std::vector<ir::Var>>) std::ranges::for_each(field, rename);
      if constexpr (std::is_same_v<T, ir::Var>)
        if (field) rename(field);
    });
    visit_exprs(meaning.stage, any_role, [&](Expr& expr) { expr = ir::substitute(expr, map); });
    meaning.hash = stage.axes.size();
    if (stage.result) meaning.hash = meaning.hash * 31 + ir::hash(meaning.stage.result);
    for (const Expr& value : meaning.stage.values) {
      meaning.hash = meaning.hash * 31 + ir::hash(value);
    }
    return meaning;
  }

 private:
  ir::Var variable(size_t position, ir::Type type) {
    auto& pool = pools_[static_cast<int>(type.dtype)];
    while (pool.size() <= position) pool.push_back(ir::var(cat("v", pool.size()), type));
    return pool[position];
  }
  std::unordered_map<int, std::vector<ir::Var>> pools_;
};

}  // namespace

void merge_duplicates(StageGraph& graph) {
  Canonical canonical;
  std::unordered_multimap<size_t, Known> seen;
  const auto states = states_of(graph);
  const std::vector<int> blocks = blocks_of(graph.program);
  size_t position = 0;
  ir::BufferMap merged;
  std::vector<ir::Buffer> removed;  // keys of `merged`, kept so that no new buffer takes an address
  Program kept;
  for (Entry& entry : graph.program) {
    if (!merged.empty()) replace_inputs(entry, merged);
    const int block = blocks[position++];
    const Stage* stage = entry.stage();
    if (!stage || states.contains(stage->output.get())) {
      kept.push_back(std::move(entry));
      continue;
    }
    Meaning meaning = canonical.of(*stage);
    auto [first, last] = seen.equal_range(meaning.hash);
    auto found = std::find_if(first, last, [&](const auto& one) {
      return one.second.block == block && same_computation(one.second.stage, meaning.stage);
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

}  // namespace gossamer::stages
