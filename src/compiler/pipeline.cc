#include "compiler/pipeline.h"

#include <array>

#include "passes/clamp_guarded_loads.h"
#include "passes/flatten_access.h"
#include "passes/legalize_types.h"
#include "passes/lower_math.h"
#include "passes/round_to_integers.h"
#include "passes/unroll_loops.h"
#include "passes/vectorize_loops.h"

namespace gossamer::compiler {
namespace {

using ir::Kernel;
using ir::Property;

template <auto pass>
Result<Kernel> on_body(const Kernel& kernel) {
  Kernel result = kernel;
  result.body = pass(kernel.body);
  return result;
}

Result<Kernel> flatten(const Kernel& kernel) { return passes::flatten_access(kernel); }
// Of targets whose generators shuffle whole vectors for loads of short strides.
template <int longest_stride>
Result<Kernel> flatten_strided(const Kernel& kernel) {
  return passes::flatten_access(kernel, longest_stride);
}
Result<Kernel> legalize_types(const Kernel& kernel) { return passes::legalize_types(kernel); }
constexpr Pass round{"round_to_integers",
                     on_body<[](const ir::Stmt& body) { return passes::round_to_integers(body); }>,
                     0};
constexpr Pass unroll{"unroll_loops", on_body<passes::unroll_loops>,
                      static_cast<ir::Properties>(Property::no_unrolled_loops)};
constexpr Pass vectorize{"vectorize_loops", on_body<passes::vectorize_loops>,
                         static_cast<ir::Properties>(Property::no_vector_loops)};
constexpr Pass flatten_access{"flatten_access", flatten,
                              Property::flat_access | Property::contiguous_vectors};
template <int longest_stride>
constexpr Pass flatten_strides{"flatten_access", flatten_strided<longest_stride>,
                               static_cast<ir::Properties>(Property::flat_access)};
constexpr Pass legalize{"legalize_types", legalize_types,
                        static_cast<ir::Properties>(Property::storage_types)};
constexpr Pass math{"lower_math",
                    on_body<[](const ir::Stmt& body) { return passes::lower_math(body); }>,
                    static_cast<ir::Properties>(Property::math_lowered)};

#ifdef GOSSAMER_LLVM  // modules of pages have no native generator
Result<Kernel> legalize_but_halves(const Kernel& kernel) {
  return passes::legalize_types(kernel, {.converts_halves = true});
}
constexpr auto lower_math_but_ldexp =
    on_body<[](const ir::Stmt& body) { return passes::lower_math(body, true); }>;
constexpr Pass clamp{"clamp_guarded_loads", on_body<passes::clamp_guarded_loads>, 0};
constexpr Pass clamp_unmasked{"clamp_unmasked_loads", on_body<passes::clamp_unmasked_loads>, 0};
constexpr std::array cpu_passes{
    round,      // before unroll: there is less of it
    clamp,      // before unroll: ranges are those of loops, which unrolling dissolves
    unroll,     // before vectorize: tiles become straight code around the lanes
    vectorize,  // before flatten_access, which decides which vectors are in order in memory
    flatten_strides<4>,
    legalize,  // before lower_math: f16 functions become f32 ones
    math,      // last: its polynomials are plain arithmetic
};
#endif
// Shaders need no clamping (accesses are robust, or made so by their generator) and bring their own
// functions; their generators legalise types and functions themselves (raise).
constexpr std::array gpu_passes{unroll, vectorize, flatten_access};
// The wasm generator guards loads in selects itself, with a branch or a clamped address.
constexpr std::array wasm_passes{round, unroll, vectorize, flatten_strides<3>, legalize, math};

}  // namespace

std::vector<Pass> passes_of(TargetKind target, [[maybe_unused]] const Machine& machine) {
  const auto list = [](const auto& passes) { return std::vector(passes.begin(), passes.end()); };
  if (is_gpu(target)) return list(gpu_passes);
#ifdef GOSSAMER_LLVM
  if (target == TargetKind::cpu) {
    std::vector<Pass> passes = list(cpu_passes);
    for (Pass& pass : passes) {
      if (pass.run == legalize.run && machine.converts_halves) pass.run = legalize_but_halves;
      if (pass.run == math.run && machine.has_ldexp) pass.run = lower_math_but_ldexp;
      if (pass.run == clamp.run && machine.masks_loads) pass = clamp_unmasked;
    }
    return passes;
  }
#endif
  return list(wasm_passes);
}

Result<Kernel> run_passes_before_access(Kernel kernel, TargetKind target) {
  for (const Pass& pass : passes_of(target)) {
    if (pass.name == flatten_access.name) break;
    GS_ASSIGN(kernel, pass.run(kernel));
  }
  return kernel;
}

Result<Kernel> run_pipeline(Kernel kernel, TargetKind target, const Machine& machine) {
  [[maybe_unused]] ir::Properties established = static_cast<ir::Properties>(Property::scheduled);
  for (const Pass& pass : passes_of(target, machine)) {
    auto result = pass.run(kernel);
    if (!result) return result;
    kernel = *std::move(result);
    established |= pass.establishes;
#ifndef NDEBUG
    if (auto checked = ir::verify(kernel, established); !checked) {
      check_failed(__FILE_NAME__, __LINE__, std::string(pass.name).c_str(),
                   checked.error().to_string());
    }
#endif
  }
  return kernel;
}

}  // namespace gossamer::compiler
