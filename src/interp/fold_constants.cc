// Evaluates stages of constants while compiling, where the result is small.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "interp/stages.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "stages/stage_graph.h"

namespace gossamer::interp {
namespace {

using stages::ConstantSource;
using stages::Stage;
using stages::StageGraph;

constexpr int64_t max_work = 1 << 18;   // points times terms of a stage: the interpreter is slow
constexpr int64_t max_total = 1 << 22;  // of a model

// The product of constant extents; -1 where one is symbolic or the product is beyond max_work.
int64_t product(const std::vector<ir::Expr>& extents) {
  int64_t count = 1;
  for (const ir::Expr& extent : extents) {
    auto known = ir::as_int(extent);
    if (!known || *known < 0 || *known > max_work) return -1;
    count *= *known;
    if (count > max_work) return -1;
  }
  return count;
}

// True where a stage reads a dimension of the model, so that its result differs from run to run.
bool reads_dimensions(const Stage& stage) {
  std::unordered_set<const ir::VarNode*> own;
  for (const ir::Var& var : stages::own_variables(stage)) own.insert(var.get());
  bool found = false;
  auto look = [&](const ir::Expr& expr) {
    const auto* var = ir::as<ir::VarNode>(expr);
    found = found || (var && !own.contains(var));
    return !found;
  };
  const auto computed = [](stages::FieldRole role) { return role != stages::FieldRole::extent; };
  stages::visit_exprs(stage, computed, [&](const ir::Expr& expr) { ir::visit(expr, look); });
  return found;
}

class Folder {
 public:
  Folder(StageGraph& graph, size_t limit) : graph_(graph), limit_(limit) {
    for (size_t i = 0; i < graph.constants.size(); ++i) {
      known_[graph.constants[i].buffer.get()] = i;
      names_.insert(graph.constants[i].name);
    }
  }

  void run() {
    const auto states = states_of(graph_);
    std::erase_if(graph_.program, [&](const stages::Entry& entry) {
      const Stage* stage = entry.stage();
      if (!stage || states.contains(stage->output.get())) return false;
      auto source = stage->view ? reshaped(*stage) : std::nullopt;
      if (!source) source = evaluated(*stage);
      if (!source) return false;
      add(stage->output, std::move(*source));
      return true;
    });
  }

 private:
  // A reshaped constant is the same bytes, wherever they are.
  std::optional<ConstantSource> reshaped(const Stage& stage) const {
    std::vector<ir::Buffer> inputs = stages::inputs_of(stage);
    if (inputs.size() != 1) return std::nullopt;
    auto found = known_.find(inputs[0].get());
    if (found == known_.end() || inputs[0]->dtype != stage.output->dtype) return std::nullopt;
    ConstantSource source = graph_.constants[found->second].source;
    source.shape.clear();
    for (const ir::Expr& extent : stage.output->shape) {
      auto known = ir::as_int(extent);
      if (!known) return std::nullopt;
      source.shape.push_back(*known);
    }
    return source;
  }

  std::optional<ConstantSource> evaluated(const Stage& stage) {
    int64_t elements = product(stage.output->shape), points = product(stage.extents);
    int64_t terms = product(stage.reduce_extents);
    int64_t size = ir::byte_size(stage.output->dtype);
    if (elements < 0 || points < 0 || terms < 0 || points * terms > max_work) return std::nullopt;
    if (size == 0 || elements * size > static_cast<int64_t>(limit_)) return std::nullopt;
    interp::Values values;
    for (const ir::Buffer& input : stages::inputs_of(stage)) {
      auto found = known_.find(input.get());
      if (found == known_.end()) return std::nullopt;
      const ConstantSource& source = graph_.constants[found->second].source;
      if (source.file >= 0) return std::nullopt;
      values[input.get()] = {source.dtype, source.shape, source.bytes, {}};
    }
    total_ += points * terms;
    if (total_ > max_total) return std::nullopt;
    if (reads_dimensions(stage) || !interp::run_stage(stage, values)) return std::nullopt;
    ops::TensorData& data = values[stage.output.get()];
    ConstantSource source;
    source.dtype = data.dtype;
    source.shape = std::move(data.shape);
    source.bytes = std::move(data.bytes);
    return source;
  }

  void add(const ir::Buffer& buffer, ConstantSource source) {
    std::string name = buffer->name;
    for (int i = 2; !names_.insert(name).second; ++i) name = cat(buffer->name, "#", i);
    known_[buffer.get()] = graph_.constants.size();
    graph_.constants.push_back({std::move(name), buffer, std::move(source)});
  }

  StageGraph& graph_;
  size_t limit_;
  int64_t total_ = 0;
  std::unordered_map<const ir::BufferNode*, size_t> known_;
  std::unordered_set<std::string> names_;
};

}  // namespace

void fold_constants(StageGraph& graph, size_t limit) {
  Folder(graph, limit).run();
  drop_dead(graph);
}

}  // namespace gossamer::interp
