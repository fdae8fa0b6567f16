// One rewrite of several expressions that may share parts, or of parts that a hook asks for itself.
#pragma once

#include <memory>

#include "ir/rewrite.h"

namespace gossamer::ir {

// rewrite() that remembers from call to call. The expressions must outlive it.
class Rewriting {
 public:
  explicit Rewriting(Rewriter rewriter);
  ~Rewriting();
  Expr operator()(const Expr&);

 private:
  const Rewriter rewriter_;
  const std::unique_ptr<class RewriteWalk> walk_;
};

}  // namespace gossamer::ir
