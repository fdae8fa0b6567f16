#include "codegen/llvm/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>
#include <llvm/Transforms/Scalar.h>

#include "codegen/llvm/emit.h"

namespace gossamer::codegen::llvm_ {
namespace {

// A name alone would assume features that a virtual machine may hide, so "native" also says which
// are there.
std::string native_features() {
  llvm::SubtargetFeatures features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.getKey(), feature.getValue());
  return features.getString();
}

// Joins chains of additions of integers to trees. The sums of a tile's products in pairs then take
// more registers than there are.
bool keep_chains() {
  const auto& known = llvm::cl::getRegisteredOptions();
  const auto found = known.find("x86-machine-combiner");
  if (found != known.end()) static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(false);
  return true;
}

}  // namespace

Result<std::vector<std::string>> needs_of(const LlvmOptions& options) {
  GS_ASSIGN(const Target target, make_target(options));
  std::vector<std::string> needs;
  if (options.wasm) needs.emplace_back("wasm-simd");
  if (!target.machine->getTargetTriple().isX86()) return needs;
  if (target.vector_bits == 512)
    needs.emplace_back("cpu-avx512");
  else if (target.vector_bits == 256)
    needs.emplace_back("cpu-avx2");
  if (target.dot_bits > 0)
    needs.emplace_back(target.vector_bits == 512 ? "cpu-avx512-vnni" : "cpu-avx-vnni");
  return needs;
}

Result<Registers> registers_of(const LlvmOptions& options) {
  GS_ASSIGN(const Target target, make_target(options));
  const bool few = target.machine->getTargetTriple().isX86() && target.vector_bits < 512;
  return Registers{target.vector_bits, few ? 16 : 32, target.pair_bits >= target.vector_bits,
                   target.dot_bits >= target.vector_bits, target.has_half};
}

std::string host_cpu() { return llvm::sys::getHostCPUName().str(); }

namespace {

// SIMD is everywhere that wasm is; what came later is named by the engine that lacks it.
Result<Target> make_wasm_target(bool relaxed_simd, bool fixed_place) {
  LLVMInitializeWebAssemblyTargetInfo();
  LLVMInitializeWebAssemblyTarget();
  LLVMInitializeWebAssemblyTargetMC();
  LLVMInitializeWebAssemblyAsmPrinter();
  LLVMInitializeWebAssemblyAsmParser();  // of the run time in C
  Target target;
  target.cpu = "generic";
  target.features = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals";
  if (relaxed_simd) target.features += ",+relaxed-simd";
  target.relaxed_madd = relaxed_simd;
  target.is_wasm = true;
  target.pair_bits = 128;
  target.masked_loads = false;
  target.index_bits = 32;
  const std::string triple = "wasm32-unknown-wasi";
  std::string error;
  const llvm::Target* known = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!known) return fail(cat("this LLVM has no generator for WebAssembly: ", error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  target.machine.reset(
      known->createTargetMachine(triple, target.cpu, target.features, options,
                                 fixed_place ? llvm::Reloc::Static : llvm::Reloc::PIC_,
                                 std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!target.machine) return fail("LLVM cannot generate WebAssembly");
  return target;
}

}  // namespace

Result<Target> make_target(const LlvmOptions& for_what) {
  if (for_what.wasm) return make_wasm_target(for_what.relaxed_simd, for_what.fixed_place);
  const std::string& cpu = for_what.cpu;
  static const bool registered =
      !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter() &&
      !llvm::InitializeNativeTargetAsmParser() &&  // of the run time in C
      keep_chains();
  if (!registered) return fail("this LLVM has no generator for this machine");
  Target target;
  target.cpu = cpu == "native" || cpu.empty() ? host_cpu() : cpu;
  if (target.cpu != cpu) target.features = native_features();
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* known = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!known) return fail(error);
  // Asked of a default processor, since LLVM prints where it is given an unknown one.
  const std::unique_ptr<llvm::MCSubtargetInfo> any(known->createMCSubtargetInfo(triple, "", ""));
  if (!any || !any->isCPUStringValid(target.cpu))
    return fail(cat("LLVM knows no processor \"", target.cpu, "\""),
                "use \"native\" or a name of llc -mcpu=help");

  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // the IR says where to fuse
  target.machine.reset(known->createTargetMachine(triple, target.cpu, target.features, options,
                                                  llvm::Reloc::PIC_, std::nullopt,
                                                  llvm::CodeGenOptLevel::Default));
  if (!target.machine) return fail(cat("LLVM cannot generate code for ", triple));
  const llvm::MCSubtargetInfo& subtarget = *target.machine->getMCSubtargetInfo();
  const auto has = [&](llvm::StringRef feature) {
    return subtarget.checkFeatures(("+" + feature).str());
  };
  if (target.machine->getTargetTriple().isX86()) {
    if (!has("sse4.1"))
      return fail(cat("processor \"", target.cpu, "\" lacks SSE4.1"), "use \"x86-64-v2\" or later");
    target.has_fma = has("fma");
    target.has_half = has("f16c");
    target.vector_bits = has("avx512f") ? 512 : has("avx") ? 256 : 128;
    target.pair_bits = has("avx512bw") ? 512 : has("avx2") ? 256 : 128;
    target.dot_bits = has("avx512vnni") && has("avx512vl") ? 512 : has("avxvnni") ? 256 : 0;
  } else {
    target.has_fma = target.has_half = true;  // AArch64
  }
  return target;
}

Result<std::vector<std::byte>> compile_object(llvm::Module& module, const Target& target) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  llvm::legacy::PassManager passes;
  // First: passes that ask for it would have one that knows nothing of the processor, which later
  // passes share. Masked loads were taken apart lane by lane.
  passes.add(llvm::createTargetTransformInfoWrapperPass(target.machine->getTargetIRAnalysis()));
  // What points that a map computes together have in common (stages::runs_of).
  passes.add(llvm::createEarlyCSEPass(true));
  // Addresses with strides of open extents: computed in a loop, their latency makes the instruction
  // scheduler load all operands of a tile first, which spills its accumulators.
  passes.add(llvm::createLICMPass());
  if (target.machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile))
    return fail("this LLVM cannot write object files");
  passes.run(module);
  const auto* begin = reinterpret_cast<const std::byte*>(object.data());
  return std::vector<std::byte>(begin, begin + object.size());
}

}  // namespace gossamer::codegen::llvm_
