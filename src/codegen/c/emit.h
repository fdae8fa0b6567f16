// Kernels and plans as C11: what `--emit c` is made of.
#pragma once

#include <span>
#include <string>

#include "codegen/plan_function.h"
#include "ir/nodes.h"

namespace gossamer::codegen::c {

// Kernels must be as for LLVM (codegen/llvm/emit.h). Kernel i becomes
//   static void k<i>(gs_word begin, gs_word end, void* const* arguments)
// and segment k of `plan`, where given, becomes
//   static void <segment_name(k)>(const double* variables, double* values)
// in front of which stand the types and functions that they use. Nothing traps or is undefined;
// the text wants <math.h>, <stdint.h>, <string.h> gs_word (runtime/embedded/program.h) and
// GS_INLINE, and a compiler that does not contract a * b + c (FP_CONTRACT).
std::string emit_source(std::span<const ir::Kernel> kernels, const PlanFunction* plan);

}  // namespace gossamer::codegen::c
