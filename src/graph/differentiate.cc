#include "graph/differentiate.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/stage_gradient.h"
#include "ir/build.h"

namespace gossamer::graph {
namespace {

bool has_gradient(ir::DType dtype) { return ir::is_float(dtype) && !ir::is_small(dtype); }

class Differentiation {
 public:
  Differentiation(ops::Builder& builder, std::span<const ops::Entry> program,
                  const Gradients& wanted)
      : b_(builder), program_(program), wanted_(wanted) {
    for (const Tensor& x : wanted.xs) xs_.insert(x.buffer.get());
  }

  Result<std::vector<Tensor>> run() {
    find_active();
    if (is_active(wanted_.y.buffer)) {
      add(wanted_.y.buffer, seed());
      GS_TRY(go_back());
    }
    std::vector<Tensor> gradients;
    for (const Tensor& x : wanted_.xs) gradients.push_back(total(x.buffer));
    return gradients;
  }

 private:
  bool is_active(const ir::Buffer& buffer) const { return active_.contains(buffer.get()); }
  bool is_x(const ir::Buffer& buffer) const { return xs_.contains(buffer.get()); }

  // What hangs on an x, of floats.
  void find_active() {
    active_.insert(xs_.begin(), xs_.end());
    for (const ops::Entry& entry : program_) {
      const Stage* stage = entry.stage();
      if (!stage || stage->stops_gradient || !has_gradient(stage->output->dtype)) continue;
      const std::vector<ir::Buffer> inputs = entry.inputs();
      if (std::ranges::any_of(inputs, [this](const ir::Buffer& one) { return is_active(one); }))
        active_.insert(stage->output.get());
    }
  }

  Tensor seed() {
    if (wanted_.seed) return wanted_.seed;
    const Tensor& y = wanted_.y;
    return b_.compute("seed", y.dtype(), y.shape(),
                      [&](ops::Point) { return ir::constant(y.dtype(), 1); });
  }

  void add(const ir::Buffer& to, Tensor cotangent) {
    parts_[to.get()].push_back(std::move(cotangent));
  }

  // Null where nothing came back.
  Tensor total(const ir::Buffer& buffer) {
    const auto found = parts_.find(buffer.get());
    if (found == parts_.end()) return {};
    std::vector<Tensor>& parts = found->second;
    if (parts.size() > 1) parts = {sum_of(b_, "total", parts)};
    return parts[0];
  }

  Result<> go_back() {
    const std::vector<int> blocks = ops::blocks_of({program_.begin(), program_.end()});
    const Active active = [this](const ir::Buffer& buffer) { return is_active(buffer); };
    for (size_t i = program_.size(); i-- > 0;) {
      const Stage* stage = program_[i].stage();
      if (!stage || !is_active(stage->output) || stage->stops_gradient) continue;
      if (wanted_.independent && is_x(stage->output)) continue;
      const Tensor cotangent = total(stage->output);
      if (!cotangent) continue;
      if (blocks[i] != 0) {
        return fail_at(stage->origin, "has no gradient: it is part of a loop or branch",
                       "give the loop a number of rounds, or the branch a condition, that is known "
                       "when compiling");
      }
      GS_ASSIGN(const std::vector<Contribution> made,
                StageGradient(b_, active, *stage).run(cotangent));
      for (const Contribution& one : made) add(one.to, one.cotangent);
    }
    return {};
  }

  ops::Builder& b_;
  std::span<const ops::Entry> program_;
  const Gradients& wanted_;
  std::unordered_set<const ir::BufferNode*> xs_, active_;
  std::unordered_map<const ir::BufferNode*, std::vector<Tensor>> parts_;
};

}  // namespace

Result<std::vector<Tensor>> differentiate(ops::Builder& builder,
                                          std::span<const ops::Entry> program,
                                          const Gradients& wanted) {
  return Differentiation(builder, program, wanted).run();
}

}  // namespace gossamer::graph
