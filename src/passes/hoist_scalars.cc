#include "passes/hoist_scalars.h"

#include <ranges>
#include <string>
#include <unordered_set>

#include "ir/build.h"
#include "ir/ranges.h"
#include "ir/rewrite.h"
#include "passes/flatten_access.h"

namespace gossamer::passes {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Var;

class Hoisting {
 public:
  explicit Hoisting(const ir::Kernel& kernel) : kernel_(kernel), ranges_(bounds_) {
    for (const Var& scalar : kernel.scalars) {
      scalars_.insert(scalar.get());
      bounds_.set(scalar.get(), {0, ir::plus_infinity});
    }
  }

  HoistedScalars run() {
    ir::Kernel& made = result_.kernel;
    made = kernel_;
    made.scalars.clear();
    ir::BufferMap buffers;
    for (ir::Kernel::Param& param : made.params) {
      auto* node = new ir::BufferNode(*param.buffer);
      node->shape = {
          ir::index(ranges_.multiple_of(physical_elements(*param.buffer)) % 4 == 0 ? 4 : 1)};
      node->layout = {};
      const Buffer buffer(node);
      buffers[param.buffer.get()] = buffer;
      param.buffer = buffer;
    }
    ir::Rewriter rewriter;
    rewriter.expr_before = [this](const Expr& e) { return hoisted(e); };
    made.body = ir::rewrite(ir::substitute_buffers(kernel_.body, buffers), rewriter);
    return std::move(result_);
  }

 private:
  Expr hoisted(const Expr& e) {
    if (e->type != ir::Type(ir::DType::index) || !depends_on_scalars_only(e)) return {};
    if (ir::as_int(e) || ranges_.of(e).low < 0) return {};
    for (size_t i = 0; i < result_.values.size(); ++i) {
      if (ir::equal(result_.values[i], e)) return result_.kernel.scalars[i];
    }
    result_.values.push_back(e);
    result_.kernel.scalars.push_back(ir::var("s" + std::to_string(result_.values.size())));
    return result_.kernel.scalars.back();
  }

  bool depends_on_scalars_only(const Expr& e) {
    bool only = true;
    ir::visit(e, [&](const Expr& part) {
      const bool known = part->kind == ir::NodeKind::Var && scalars_.contains(part.get());
      const bool computed =
          part->kind == ir::NodeKind::Binary || part->kind == ir::NodeKind::IntImm;
      only = only && (known || computed) && part->type == ir::Type(ir::DType::index);
      return only;
    });
    return only;
  }

  const ir::Kernel& kernel_;
  std::unordered_set<const ir::Node*> scalars_;
  ir::Bounds bounds_;
  ir::RangeFinder ranges_;
  HoistedScalars result_;
};

}  // namespace

HoistedScalars hoist_scalars(const ir::Kernel& kernel) { return Hoisting(kernel).run(); }

}  // namespace gossamer::passes
