#include "library/linked_forms.h"

#ifdef GOSSAMER_LLVM

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>

#include "codegen/llvm/library.h"
#include "library/header.h"
#include "library/run_time.h"
#include "runtime/signature.h"

namespace gossamer::library {
namespace {

using codegen::llvm_::LibraryParts;
using codegen::llvm_::LibraryTable;
using codegen::llvm_::LlvmOptions;

std::vector<std::byte> all_bytes(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// The functions of a library, as the run time and as others call them.
std::vector<std::pair<std::string, std::string>> functions_of(const std::string& name,
                                                              const Options& options,
                                                              const Encoded& encoded) {
  std::vector<std::pair<std::string, std::string>> all{
      {options.weights_beside ? "gossamer_model_init" : "gossamer_model_init_inside",
       name + "_init"}};
  if (!encoded.has_dynamic_memory)
    all.emplace_back(
        options.weights_beside ? "gossamer_model_init_in" : "gossamer_model_init_in_inside",
        name + "_init_in");
  for (const char* function : {"run", "free", "error", "message"})
    all.emplace_back(cat("gossamer_model_", function), cat(name, "_", function));
  return all;
}

// What the service of a component reads (runtime/embedded/component.h): JSON, with its end.
std::string signature_json(const std::string& name, const package::Module& module) {
  const runtime::Signature signature = runtime::signature_of(module);
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  const auto list = [&](const char* key, const std::vector<runtime::Port>& ports) {
    json.Key(key);
    json.StartArray();
    for (const runtime::Port& port : ports) {
      json.StartObject();
      json.Key("name");
      json.String(port.name);
      json.Key("dtype");
      json.String(std::string(ir::name_of(port.dtype)));
      json.Key("shape");
      json.StartArray();
      for (const int64_t extent : port.shape) json.Int64(extent);
      json.EndArray();
      json.EndObject();
    }
    json.EndArray();
  };
  json.StartObject();
  json.Key("name");
  json.String(name);
  list("inputs", signature.inputs);
  list("outputs", signature.outputs);
  json.EndObject();
  return {text.GetString(), text.GetSize() + 1};
}

LibraryParts parts_of(const Made& made, const Options& options, bool wasm,
                      std::span<const int64_t, 1> threads) {
  LibraryParts parts;
  parts.kernels = made.code;
  parts.data.push_back({"gossamer_program", std::as_bytes(std::span(made.encoded.words))});
  parts.data.push_back({"gossamer_texts", std::as_bytes(std::span(made.encoded.texts))});
  if (!options.weights_beside) parts.data.push_back({"gossamer_weight_data", made.encoded.weights});
  parts.pointers.emplace_back("gossamer_weights",
                              options.weights_beside ? "" : "gossamer_weight_data");
  LibraryTable kernels{"gossamer_kernels", {}}, plans{"gossamer_plans", {}};
  const bool gpu = made.module.target == TargetKind::webgpu;
  for (const package::KernelInfo& kernel : made.module.kernels)
    if (!gpu || kernel.device == 1) kernels.functions.push_back(kernel.entry);
  for (int segment = 0; made.module.plan_values > 0 && segment < made.module.plan_segments;
       ++segment)
    plans.functions.push_back(codegen::segment_name(segment));
  parts.tables = {kernels, plans};
  parts.run_time =
      wasm ? std::vector{run_time::wasm_model, run_time::wasm_one_thread,
                         gpu ? run_time::wasm_gpu : run_time::wasm_host}
           : std::vector{run_time::native_model, run_time::native_threads, run_time::native_host};
  if (options.form == Form::wasi) parts.run_time.push_back(run_time::wasm_program);
  if (options.threads > 1) {
    parts.run_time[1] = run_time::wasm_threads;
    parts.data.push_back({"gossamer_threads", std::as_bytes(std::span(threads))});
  }
  parts.load_anywhere = !wasm || options.form == Form::shared_library;
  return parts;
}

std::string machine_of(const package::Module& module, const LlvmOptions& llvm) {
  if (llvm.wasm)
    return llvm.relaxed_simd ? "WebAssembly with relaxed SIMD" : "WebAssembly with SIMD";
  std::string needs;
  for (const std::string& need : module.needs) needs += cat(" with ", need.substr(4));
  return cat(llvm.cpu == "native" ? codegen::llvm_::host_cpu() : llvm.cpu, needs);
}

}  // namespace

Result<package::Files> finish_linked(const std::string& name, Made& made,
                                     const compiler::Options& compile, const Options& options) {
  const LlvmOptions llvm{compile.cpu, compile.target != "cpu", compile.relaxed_simd};
  const std::array<int64_t, 1> threads{options.threads};
  LibraryParts parts = parts_of(made, options, llvm.wasm, threads);
  const std::string signature = signature_json(name, made.module);
  if (options.form == Form::wasi) {
    parts.exported = {{"gossamer_program_start", "_start"}};
    if (options.threads > 1)
      parts.exported.emplace_back("gossamer_thread_start", "wasi_thread_start");
  } else if (options.form == Form::component) {
    parts.run_time.push_back(run_time::wasm_component);
    parts.data.push_back({"gossamer_signature", std::as_bytes(std::span(signature))});
    for (const char* function :
         {"gossamer_component_signature", "gossamer_component_program", "gossamer_component_text",
          "gossamer_model_init_inside", "gossamer_model_compute", "gossamer_model_output",
          "gossamer_model_error", "gossamer_model_message"})
      parts.exported.emplace_back(function, function);
  } else {
    parts.exported = functions_of(name, options, made.encoded);
  }
  GS_ASSIGN(std::vector<std::byte> object, codegen::llvm_::emit_library_object(parts, llvm));
  package::Files files;
  const HeaderOptions header{name, machine_of(made.module, llvm), options.weights_beside};
  if (options.form != Form::wasi && options.form != Form::component)
    files.push_back({name + ".h", all_bytes(header_of(made.module, made.encoded, header))});
  switch (options.form) {
    case Form::object:
      files.push_back({name + ".o", std::move(object)});
      break;
    case Form::static_library: {
      GS_ASSIGN(std::vector<std::byte> archive, codegen::llvm_::write_archive(name + ".o", object));
      files.push_back({cat("lib", name, ".a"), std::move(archive)});
    } break;
    case Form::shared_library: {
      std::vector<std::string> exported;
      for (const auto& function : parts.exported) exported.push_back(function.second);
      const std::string file = cat("lib", name, llvm.wasm ? ".wasm" : ".so");
      GS_ASSIGN(std::vector<std::byte> linked,
                llvm.wasm ? codegen::llvm_::link_wasm_library(object, exported)
                          : codegen::llvm_::link_shared_library(object, file));
      files.push_back({file, std::move(linked)});
    } break;
    case Form::c:
    case Form::oci:
      break;
    case Form::wasi: {
      GS_ASSIGN(std::vector<std::byte> program,
                codegen::llvm_::link_wasm_program(object, options.threads > 1));
      files.push_back({name + ".wasm", std::move(program)});
    } break;
    case Form::component: {
      GS_ASSIGN(std::vector<std::byte> component,
                codegen::llvm_::link_wasm_component(
                    object, run_time::wasm_service,
                    {run_time::wasm_service_wit, run_time::wasm_service_encode}));
      files.push_back({name + ".wasm", std::move(component)});
    } break;
  }
  if (options.weights_beside) files.push_back({name + ".weights", std::move(made.encoded.weights)});
  return files;
}

}  // namespace gossamer::library

#else

namespace gossamer::library {

Result<package::Files> finish_linked(const std::string&, Made&, const compiler::Options&,
                                     const Options&) {
  return fail_at("libraries", "this build has no LLVM",
                 "use --emit c, or build with GOSSAMER_LLVM=ON");
}

}  // namespace gossamer::library

#endif
