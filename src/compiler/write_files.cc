// The files of a package: code for every kernel, weights, the manifest.
#include <algorithm>
#include <map>
#include <set>

#include "codegen/wasm/emit.h"
#include "compiler/module_builder.h"
#include "compiler/shaders.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "package/write.h"
#ifdef GOSSAMER_C
#include "codegen/c/emit.h"
#endif
#ifdef GOSSAMER_LLVM
#include "codegen/llvm/emit.h"
#endif

namespace gossamer::compiler {
namespace {

void need(package::Module& module, std::string_view what) { module.needs.emplace_back(what); }

bool sums_bytes(const ir::Kernel& kernel) {
  bool found = false;
  const auto look = [&](const ir::Expr& e) {
    const auto* dot = ir::as<ir::Dot>(e);
    found |= dot && dot->terms == 4;
    return !found;
  };
  ir::visit(kernel.body, [&](const ir::Stmt&) { return !found; }, look);
  return found;
}

}  // namespace

Result<package::Files> ModuleBuilder::write(const graph::Graph& graph,
                                            std::span<const std::byte> model, Report* report) {
  package::Files files;
  GS_TRY(emit(files));
  if (!module_.weights.empty()) {
    package::WeightFiles weights;
    if (options_.weights) {
      weights = *options_.weights;
    } else {
      GS_ASSIGN(weights, this->weights(graph, model));
    }
    if (report) report->weights.file_of = weights.file_of;
    for (size_t i = 0; i < module_.weights.size(); ++i) {
      const auto file = static_cast<size_t>(weights.file_of[i]);
      if (weights.file_of[i] >= 0 && weights.files[file].name != "weights.safetensors")
        module_.weights[i].file = static_cast<int>(files.size() + file);
    }
    for (package::File& file : weights.files) {
      if (report) {
        report->weight_bytes += static_cast<int64_t>(file.size);
        report->weights.files.push_back(
            {file.name, {}, file.sha256, file.above, file.size, file.xxh3, file.pieces});
      }
      files.push_back(std::move(file));
    }
  }
  GS_TRY(add_defaults(graph, model, files));
  if (report) {
    kernels_.tell(*report);
    for (size_t i = 0; i < module_.kernels.size(); ++i)
      report->kernels[i].code = module_.kernels[i].source;
    report->memory_bytes = memory().kept;
    if (options_.ir) report->plan = planner_.function();
  }
  files.insert(files.begin(), package::write_manifest(module_, files));
  return files;
}

Result<> ModuleBuilder::emit(package::Files& files) {
  const codegen::PlanFunction* plan = module_.plan_values > 0 ? &planner_.function() : nullptr;
  for (size_t i = 0; i < module_.kernels.size(); ++i) module_.kernels[i].entry = cat("k", i);
  if (options_.code != CodeForm::finished && target_ != TargetKind::webgpu)
    return emit_for_library(plan, files, kernels_.kernels());
  switch (target_) {
    case TargetKind::wasm:
      need(module_, "wasm-simd");
      emit_wasm(plan, files);
      return {};
    case TargetKind::cpu:
      return emit_native("kernels.so", kernels_.kernels(), plan, files);
    case TargetKind::webgpu:
    case TargetKind::webgl:
    case TargetKind::opencl:
    case TargetKind::opengl:
      for (size_t i = 0; i < kernels_.kernels().size(); ++i) {
        if (module_.kernels[i].device == 0) GS_TRY(emit_shader(i));
      }
      for (const ir::Buffer& buffer : buffers_) {
        if (device_of(*buffer) != 0 || storage_of(*buffer) != ir::DType::f16 ||
            placed(*buffer).layout.pack > 1)
          continue;
        need(module_, "webgpu-f16");
        break;
      }
      files.push_back(package::write_kernel_sources(module_));
      if (options_.code != CodeForm::finished) {
        if (!stages_.side.empty()) module_.side = package::Side{TargetKind::wasm, "kernels.bc"};
        return emit_for_library(plan, files, side_kernels());
      }
      if (side_caps_.kind == TargetKind::cpu) return emit_native_side(plan, files);
      if (!stages_.side.empty()) emit_side(files);
      if (plan) files.push_back({"plan.wasm", codegen::wasm::emit_module({}, plan, {})});
      return {};
  }
  return {};
}

// Of webgpu the CPU's part, as wasm.
Result<> ModuleBuilder::emit_for_library(const codegen::PlanFunction* plan, package::Files& files,
                                         [[maybe_unused]] std::span<const ir::Kernel> kernels) {
  if (target_ != TargetKind::cpu && target_ != TargetKind::wasm && target_ != TargetKind::webgpu)
    return fail_at(cat("target \"", options_.target, "\""), "has no libraries",
                   "use --target cpu or --target wasm");
#ifdef GOSSAMER_C
  if (options_.code == CodeForm::c) {
    const std::string text = codegen::c::emit_source(kernels, plan);
    const auto bytes = std::as_bytes(std::span(text));
    files.push_back({"kernels.c", {bytes.begin(), bytes.end()}});
    return {};
  }
#endif
#ifdef GOSSAMER_LLVM
  if (options_.code == CodeForm::bitcode) {
    const codegen::llvm_::LlvmOptions llvm{options_.cpu, target_ != TargetKind::cpu,
                                           options_.relaxed_simd};
    GS_ASSIGN(std::vector<std::byte> bitcode, codegen::llvm_::emit_bitcode(kernels, plan, llvm));
    files.push_back({"kernels.bc", std::move(bitcode)});
    GS_ASSIGN(const std::vector<std::string> needs, codegen::llvm_::needs_of(llvm));
    for (const std::string& what : needs) need(module_, what);
    return {};
  }
#endif
  (void)plan;
  (void)files;
  return fail_at("libraries", "this build has no LLVM", "build with GOSSAMER_LLVM=ON");
}

Result<> ModuleBuilder::emit_native(std::string_view file,
                                    [[maybe_unused]] std::span<const ir::Kernel> kernels,
                                    [[maybe_unused]] const codegen::PlanFunction* plan,
                                    [[maybe_unused]] package::Files& files) {
#ifdef GOSSAMER_LLVM
  const codegen::llvm_::LlvmOptions llvm{options_.cpu};
  GS_ASSIGN(const std::vector<std::byte> object, codegen::llvm_::emit_object(kernels, plan, llvm));
  GS_ASSIGN(std::vector<std::byte> library, codegen::llvm_::link_shared_library(object));
  files.push_back({std::string(file), std::move(library)});
  GS_ASSIGN(const std::vector<std::string> needs, codegen::llvm_::needs_of(llvm));
  for (const std::string& what : needs) need(module_, what);
  return {};
#else
  return fail_at(cat("target \"", name_of(module_.target), "\""),
                 cat("this build has no LLVM, which makes ", file), "build with GOSSAMER_LLVM=ON");
#endif
}

// Plan and side in one library.
Result<> ModuleBuilder::emit_native_side(const codegen::PlanFunction* plan, package::Files& files) {
  if (!plan && stages_.side.empty()) return {};
  module_.side = package::Side{TargetKind::cpu, "side.so"};
  return emit_native(module_.side->code, side_kernels(), plan, files);
}

// With relaxed SIMD's multiply-adds and without, or with them alone, each with the kernels that its
// launches call. Products of bytes have a third module, for engines whose dot product is exact.
void ModuleBuilder::emit_wasm(const codegen::PlanFunction* plan, package::Files& files) {
  const auto module = [&](bool relaxed, bool dots = false) {
    std::set<int> called;
    for (const std::vector<package::Launch>* launches : {&module_.init, &module_.run}) {
      for (const package::Launch& launch : *launches)
        called.insert(relaxed && launch.hardware ? launch.hardware->kernel : launch.kernel);
    }
    const std::vector<int> numbers(called.begin(), called.end());
    std::vector<ir::Kernel> kernels;
    for (int kernel : numbers) kernels.push_back(kernels_.kernels()[static_cast<size_t>(kernel)]);
    return codegen::wasm::emit_module(
        kernels, plan, {.relaxed_simd = relaxed, .numbers = numbers, .relaxed_dots = dots});
  };
  const bool relaxed = options_.relaxed_simd && options_.adapters != "software";
  const bool bytes = std::ranges::any_of(kernels_.kernels(), sums_bytes);
  if (relaxed && options_.adapters == "hardware") {
    need(module_, "wasm-relaxed-simd");
    files.push_back({"kernels.relaxed.wasm", module(true)});
  } else {
    files.push_back({"kernels.wasm", module(false)});
    if (!relaxed) return;
    std::vector<std::byte> other = module(true);
    // Run times look for exact dots only where a package has relaxed SIMD.
    if (other == files.back().bytes && !bytes) return;
    files.push_back({"kernels.relaxed.wasm", std::move(other)});
  }
  if (bytes) files.push_back({"kernels.dots.wasm", module(true, true)});
}

// They are numbered among themselves.
std::vector<ir::Kernel> ModuleBuilder::side_kernels() {
  std::vector<ir::Kernel> kernels;
  for (size_t i = 0; i < kernels_.kernels().size(); ++i) {
    if (module_.kernels[i].device == 0) continue;
    module_.kernels[i].entry = cat("k", kernels.size());
    kernels.push_back(kernels_.kernels()[i]);
  }
  return kernels;
}

void ModuleBuilder::emit_side(package::Files& files) {
  need(module_, "wasm-simd");
  module_.side = package::Side{TargetKind::wasm, "side.wasm"};
  files.push_back({"side.wasm", codegen::wasm::emit_module(side_kernels(), nullptr, {})});
}

void ModuleBuilder::take(package::KernelInfo& info, const ShaderText& shader) const {
  info.entry = target_ == TargetKind::opencl ? "run" : "main";
  info.source = shader.code;
  info.scalars = shader.scalars;
  // A loop over one invocation was simplified away.
  info.group_size = shader.group_size;
}

void ModuleBuilder::announce(int kernel, bool once) {
  const auto at = static_cast<size_t>(kernel);
  if (!is_gpu(target_) || variant_caps() || !announced_.insert(kernel).second) return;
  const auto shader = kernels_.print(at, caps_, once);
  if (!shader) return;  // emit_shader() reports it
  package::KernelInfo info = kernels_.infos()[at];
  take(info, *shader);
  options_.on_kernel(info, kernels_.origin_of(at));
}

Result<> ModuleBuilder::emit_shader(size_t kernel) {
  // What runs once, at load, may take its time: factors of a quantization decide how ties fall.
  const bool once = std::ranges::any_of(module_.init, [&](const package::Launch& launch) {
    return launch.kernel == static_cast<int>(kernel);
  });
  auto shader = kernels_.print(kernel, caps_, once);
  if (!shader) {
    shader.error().where = kernels_.origin_of(kernel);
    return std::unexpected(shader.error());
  }
  take(module_.kernels[kernel], *shader);
  if (!shader->range_scalar) return {};
  for (std::vector<package::Launch>* launches : {&module_.init, &module_.run}) {
    const auto add_range = [&](auto& call) {
      if (call.kernel == static_cast<int>(kernel))
        call.scalars.insert(call.scalars.begin(), call.range);
    };
    for (package::Launch& launch : *launches) {
      add_range(launch);
      if (launch.hardware) add_range(*launch.hardware);
    }
  }
  return {};
}

namespace {

// The constants in the order of their first use, which is that of the launches at load: a run time
// packs the first while others are on their way.
std::vector<size_t> order_of_use(const stages::StageGraph& stages) {
  std::map<const ir::BufferNode*, size_t> left;
  for (size_t constant = 0; constant < stages.constants.size(); ++constant)
    left[stages.constants[constant].buffer.get()] = constant;
  std::vector<size_t> order;
  const auto take = [&](const ir::Buffer& buffer) {
    if (const auto found = left.find(buffer.get()); found != left.end()) {
      order.push_back(found->second);
      left.erase(found);
    }
  };
  for (const stages::Entry& entry : stages.program)
    for (const ir::Buffer& read : entry.inputs()) take(read);
  for (const stages::StageConstant& constant : stages.constants) take(constant.buffer);
  GS_CHECK(order.size() == stages.constants.size(), "two constants are one tensor");
  return order;
}

// A target of 32 bits cannot hold every i64; the run time would refuse the weight.
Result<> fits_storage(const package::Weight& weight, ir::DType storage,
                      std::span<const std::byte> bytes) {
  const bool wide = weight.dtype == ir::DType::i64 || weight.dtype == ir::DType::u64;
  if (!wide || storage == weight.dtype) return {};
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    const ir::Scalar value = ir::read_scalar(weight.dtype, &bytes[at]);
    if (ir::convert(storage, value).i == value.i) continue;
    return fail_at(cat("constant \"", weight.name, "\""),
                   cat("element ", at / 8, " is ", value.i,
                       ", which does not fit the 32 bits of this target's integers"),
                   "run this model on cpu or wasm");
  }
  return {};
}

}  // namespace

Result<std::span<const std::byte>> ModuleBuilder::bytes_of(const stages::ConstantSource& source,
                                                           const std::string& name,
                                                           const graph::Graph& graph,
                                                           std::span<const std::byte> model) const {
  if (source.file < 0) return source.bytes;
  if (source.file == 0) {
    if (source.offset > model.size() || source.length > model.size() - source.offset)
      return fail_at(name, "its bytes lie outside the model file");
    return model.subspan(source.offset, source.length);
  }
  const std::string& path = graph.files[static_cast<size_t>(source.file) - 1];
  if (!options_.external)
    return fail_at(cat("\"", name, "\""), cat("external data \"", path, "\" was not given"),
                   cat("the model wants ", onnx::quoted_names(graph.files),
                       "; compile it by its path, with these files next to it"));
  auto range = options_.external->range(path, source.offset, source.length);
  if (!range) range.error().where = cat("\"", name, "\"");
  return range;
}

// What inputs are that a run leaves out. Libraries take all of their inputs; strings, and what the
// file has no type for or packs otherwise, have to be given.
Result<> ModuleBuilder::add_defaults(const graph::Graph& graph, std::span<const std::byte> model,
                                     package::Files& files) {
  if (options_.code != CodeForm::finished) return {};
  std::vector<package::Constant> defaults;
  for (const graph::Default& one : graph.defaults) {
    const stages::ConstantSource& source = one.value;
    const bool held = source.file > 0 &&
                      (options_.hold_external ||
                       options_.held.contains(graph.files[static_cast<size_t>(source.file) - 1]));
    if (source.dtype == ir::DType::string || source.packed > 1 || held) continue;
    const std::string& name = graph.values[one.input].name;
    GS_ASSIGN(const auto bytes, bytes_of(source, name, graph, model));
    defaults.push_back({name, source.dtype, source.shape, bytes});
  }
  if (defaults.empty()) return {};
  GS_ASSIGN(package::File file, package::write_safetensors(defaults));
  file.name = package::defaults_file;
  files.push_back(std::move(file));
  return {};
}

Result<package::WeightFiles> ModuleBuilder::weights(const graph::Graph& graph,
                                                    std::span<const std::byte> model) {
  std::vector<package::Constant> constants;
  const std::vector<size_t> order = order_of_use(stages_);
  std::vector<size_t> inside;
  for (size_t i : order) {
    const stages::ConstantSource& source = stages_.constants[i].source;
    if (source.file > 0 && options_.hold_external) continue;
    inside.push_back(i);
    const package::Weight& weight = module_.weights[i];
    const std::string* path =
        source.file > 0 ? &graph.files[static_cast<size_t>(source.file) - 1] : nullptr;
    if (const auto held = path ? options_.held.find(*path) : options_.held.end();
        held != options_.held.end()) {
      if (source.offset > held->second || source.length > held->second - source.offset)
        return fail_at(cat("\"", stages_.constants[i].name, "\""),
                       cat("its bytes lie outside ", *path, ", which has ", held->second));
      constants.push_back(
          {weight.name, weight.dtype, weight.shape, {}, {*path, source.offset, source.length}});
      continue;
    }
    GS_ASSIGN(const auto bytes, bytes_of(source, stages_.constants[i].name, graph, model));
    GS_TRY(
        fits_storage(weight, module_.tensors[static_cast<size_t>(weight.tensor)].storage, bytes));
    constants.push_back({weight.name,
                         weight.dtype,
                         weight.shape,
                         bytes,
                         {},
                         options_.view_weights && source.file >= 0});
  }
  GS_ASSIGN(
      package::WeightFiles files,
      package::write_weights(constants, {.most = options_.shard_bytes,
                                         .shared = options_.share_weights,
                                         .pieces = options_.pieces && target_of(target_).pages,
                                         .on_read = [&](std::span<const std::byte> bytes) {
                                           if (options_.external) options_.external->release(bytes);
                                         }}));
  std::vector<int> file_of(order.size(), -1);
  for (size_t at = 0; at < inside.size(); ++at) file_of[inside[at]] = files.file_of[at];
  files.file_of = std::move(file_of);
  return files;
}

}  // namespace gossamer::compiler
