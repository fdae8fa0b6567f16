// A cache of kernels that the passes have lowered. A model repeats most of its kernels, and a
// search compiles a model many times with few changes: equal kernels are lowered once.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/canonical.h"
#include "compiler/pipeline.h"
#include "compiler/shaders.h"
#include "target/capabilities.h"

namespace gossamer::compiler {

class LoweredKernelCache {
 public:
  // A kernel as the passes leave it, over buffers and scalars of its own.
  struct Lowered {
    ir::Kernel kernel;
    std::string key;                // as Canonical::key
    ir::Expr range;                 // of its launch
    std::vector<ir::Expr> scalars;  // what the caller must pass
    std::vector<ir::Var>
        given;  // the scalars of the kernel before: range and scalars are over these
  };
  // `scheduled` is canonical. The answer lasts until the next call. Errors: those of a pass.
  Result<const Lowered*> run(const Canonical& scheduled, TargetKind target,
                             const Machine& machine = {});

  // What print_shader makes of a kernel with that key; of one set of capabilities.
  Result<ShaderText> print(const std::string& key, const ir::Kernel& kernel,
                           const target::Capabilities& capabilities, bool exact);

 private:
  // So many take tens of megabytes at most; then all are made anew.
  static constexpr size_t most = 512;
  std::map<std::string, Lowered> lowered_;
  std::map<std::string, ShaderText> printed_;
};

}  // namespace gossamer::compiler
