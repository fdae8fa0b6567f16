#include "passes/unroll_loops.h"

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::passes {

ir::Stmt unroll_loops(const ir::Stmt& body) {
  ir::Rewriter rewriter;
  rewriter.stmt = [](const ir::Stmt& s) -> ir::Stmt {
    const auto* loop = ir::as<ir::For>(s);
    if (!loop || loop->loop != ir::LoopKind::unrolled) return {};
    const auto extent = ir::as_int(loop->extent);
    GS_CHECK(extent, "an unrolled loop has a constant extent");
    std::vector<ir::Stmt> copies;
    for (int64_t i = 0; i < *extent; ++i) {
      copies.push_back(ir::substitute(loop->body, {{loop->var.get(), ir::index(i)}}));
    }
    return ir::block(std::move(copies));
  };
  return ir::rewrite(body, rewriter);
}

}  // namespace gossamer::passes
