#include "stages/place_on_side.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::stages {
namespace {

using ir::Buffer;
using ir::Expr;

bool is_exact(const ir::BufferNode& buffer) { return buffer.dtype == ir::DType::f64; }

std::vector<Expr> expressions_of(const Stage& stage) {
  std::vector<Expr> all;
  visit_exprs(stage, may_load, [&](const Expr& expr) { all.push_back(expr); });
  return all;
}

int buffers_of(const std::vector<Buffer>& touched) {
  std::unordered_set<const ir::BufferNode*> each;
  for (const Buffer& buffer : touched) each.insert(buffer.get());
  return static_cast<int>(each.size());
}

class Placer {
 public:
  Placer(StageGraph& graph, int max_buffers)
      : graph_(graph), max_buffers_(max_buffers), states_(states_of(graph)) {}

  void run() {
    mark();
    find_homes();
    if (!any_) return;
    Program program = std::exchange(graph_.program, {});
    for (const StageInput& port : graph_.inputs) mirror(port.buffer);
    for (const StageConstant& constant : graph_.constants) mirror(constant.buffer);
    for (Entry& entry : program) {
      if (Stage* stage = entry.stage()) {
        place(std::move(*stage));
      } else {
        graph_.program.push_back(std::move(entry));
      }
    }
  }

 private:
  // A buffer that several stages write, one of them on the side, takes all that touch it there:
  // rows of it are written in place.
  void mark() {
    std::unordered_set<const ir::BufferNode*> pulled;
    for (bool more = true; more;) {
      more = false;
      for (Stage& stage : stages_of(graph_.program)) {
        if (stage.side.empty()) stage.side = needs_side(stage);
        std::vector<Buffer> touched = inputs_of(stage);
        touched.push_back(stage.output);
        if (stage.side.empty() && buffers_of(touched) > max_buffers_)
          stage.side = "it takes more buffers than a kernel of this GPU";
        if (stage.side.empty() && std::ranges::any_of(touched, [&](const Buffer& buffer) {
              return pulled.contains(buffer.get());
            })) {
          stage.side = "it works on a tensor that the CPU changes";
          more = true;
        }
        if (!stage.side.empty() && states_.contains(stage.output.get()))
          more = pulled.insert(stage.output.get()).second || more;
      }
    }
  }

  void find_homes() {
    for (const Stage& stage : stages_of(graph_.program)) {
      auto& readers = stage.side.empty() ? target_reads_ : side_reads_;
      auto& touched = stage.side.empty() ? on_target_ : graph_.side;
      any_ = any_ || !stage.side.empty();
      for (const Buffer& buffer : inputs_of(stage)) {
        readers.insert(buffer.get());
        touched.insert(buffer.get());
      }
      touched.insert(stage.output.get());
    }
    std::erase_if(graph_.side, [&](const ir::BufferNode* buffer) {
      return on_target_.contains(buffer) && !is_exact(*buffer);
    });
    const auto keep_exact = [&](const Buffer& buffer) {
      if (!is_exact(*buffer)) return;
      any_ = true;
      graph_.side.insert(buffer.get());
    };
    for (const StageInput& port : graph_.inputs) keep_exact(port.buffer);
    for (const StageConstant& constant : graph_.constants) keep_exact(constant.buffer);
    for (const StageOutput& port : graph_.outputs) kept_.insert(port.buffer.get());
    for (const Entry& entry : graph_.program) {
      if (entry.is(StepKind::read)) kept_.insert(entry.step()->from.get());
    }
  }

  // The other device's copy of a buffer, made where its only writer stands.
  void mirror(const Buffer& buffer) {
    const bool here = graph_.side.contains(buffer.get());
    if (here || !side_reads_.contains(buffer.get()) || states_.contains(buffer.get())) return;
    copies_[buffer.get()] = copy_to_side(buffer);
  }

  Buffer copy_to_side(const Buffer& buffer) {
    Buffer copy = fresh(buffer);
    graph_.program.push_back(copy_step(buffer, copy));
    return copy;
  }

  Buffer fresh(const Buffer& buffer) {
    Buffer copy = ir::buffer(cat(buffer->name, ".side"), buffer->dtype, buffer->shape);
    graph_.side.insert(copy.get());
    return copy;
  }

  void place(Stage stage) {
    const bool side = !stage.side.empty();
    const Buffer output = stage.output;
    if (!side) {
      graph_.program.push_back(std::move(stage));
      mirror(output);
      return;
    }
    ir::BufferMap map;
    for (const Buffer& buffer : inputs_of(stage)) {
      if (graph_.side.contains(buffer.get())) continue;
      const auto known = copies_.find(buffer.get());
      // One that changes is copied for each reader.
      map[buffer.get()] = known != copies_.end() ? known->second : copy_to_side(buffer);
    }
    replace_inputs(stage, map);
    if (graph_.side.contains(output.get())) {
      graph_.program.push_back(std::move(stage));
      return;
    }
    stage.output = copies_[output.get()] = fresh(output);
    graph_.program.push_back(std::move(stage));
    if (target_reads_.contains(output.get()) || kept_.contains(output.get()))
      graph_.program.push_back(copy_step(copies_[output.get()], output));
  }

  StageGraph& graph_;
  int max_buffers_;
  bool any_ = false;  // is on the side
  std::unordered_set<const ir::BufferNode*> states_, on_target_, side_reads_, target_reads_, kept_;
  std::unordered_map<const ir::BufferNode*, Buffer> copies_;
};

}  // namespace

std::string needs_side(const Stage& stage) {
  bool exact = is_exact(*stage.output);
  for (const Buffer& buffer : inputs_of(stage)) exact = exact || is_exact(*buffer);
  for (const Expr& expr : expressions_of(stage)) {
    ir::visit(expr, [&](const Expr& e) {
      exact = exact || e->type.dtype == ir::DType::f64;
      return !exact;
    });
  }
  return exact ? "64-bit floats are exact on the CPU only" : "";
}

void place_on_side(StageGraph& graph, int max_buffers) { Placer(graph, max_buffers).run(); }

}  // namespace gossamer::stages
