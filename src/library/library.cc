#include "library/library.h"

#include <algorithm>
#include <array>

#include "codegen/llvm/library.h"
#include "library/encode.h"
#include "library/header.h"
#include "library/run_time.h"
#include "runtime/manifest.h"

namespace gossamer::library {
namespace {

using codegen::llvm_::LibraryParts;
using codegen::llvm_::LibraryTable;
using codegen::llvm_::LlvmOptions;

struct FormName {
  std::string_view name;
  Form form;
};
constexpr std::array<FormName, 4> forms{{{"object", Form::object},
                                         {"static-lib", Form::static_library},
                                         {"shared-lib", Form::shared_library},
                                         {"wasi", Form::wasi}}};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::span<const std::byte> file_of(const package::Files& files, std::string_view name) {
  const auto found =
      std::ranges::find_if(files, [&](const package::File& file) { return file.name == name; });
  return found == files.end() ? std::span<const std::byte>() : std::span(found->bytes);
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

struct Made {
  package::Module module;
  Encoded encoded;
  std::span<const std::byte> code;
};

LibraryParts parts_of(const Made& made, const Options& options, bool wasm) {
  LibraryParts parts;
  parts.kernels = made.code;
  parts.data.push_back({"gossamer_program", std::as_bytes(std::span(made.encoded.words))});
  parts.data.push_back({"gossamer_texts", std::as_bytes(std::span(made.encoded.texts))});
  if (!options.weights_beside) parts.data.push_back({"gossamer_weight_data", made.encoded.weights});
  parts.pointers.emplace_back("gossamer_weights",
                              options.weights_beside ? "" : "gossamer_weight_data");
  LibraryTable kernels{"gossamer_kernels", {}}, plans{"gossamer_plans", {}};
  for (const package::KernelInfo& kernel : made.module.kernels)
    kernels.functions.push_back(kernel.entry);
  for (int segment = 0; made.module.plan_values > 0 && segment < made.module.plan_segments;
       ++segment)
    plans.functions.push_back(codegen::segment_name(segment));
  parts.tables = {kernels, plans};
  parts.run_time = wasm ? std::vector{run_time::wasm_model, run_time::wasm_one_thread}
                        : std::vector{run_time::native_model, run_time::native_threads};
  if (options.form == Form::wasi) parts.run_time.push_back(run_time::wasm_program);
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

Result<package::Files> finish(const std::string& name, Made& made, const Options& options,
                              const LlvmOptions& llvm) {
  LibraryParts parts = parts_of(made, options, llvm.wasm);
  if (options.form == Form::wasi)
    parts.exported = {{"gossamer_program_start", "_start"}};
  else
    parts.exported = functions_of(name, options, made.encoded);
  GS_ASSIGN(std::vector<std::byte> object, codegen::llvm_::emit_library_object(parts, llvm));
  package::Files files;
  const HeaderOptions header{name, machine_of(made.module, llvm), options.weights_beside};
  if (options.form != Form::wasi)
    files.push_back({name + ".h", bytes_of(header_of(made.module, made.encoded, header))});
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
    case Form::wasi: {
      GS_ASSIGN(std::vector<std::byte> program, codegen::llvm_::link_wasm_program(object));
      files.push_back({name + ".wasm", std::move(program)});
    } break;
  }
  if (options.weights_beside) files.push_back({name + ".weights", std::move(made.encoded.weights)});
  return files;
}

Result<> check_form(const compiler::Options& compile, const Options& options) {
  const bool wasm = compile.target == "wasm";
  if (!wasm && compile.target != "cpu")
    return fail_at(cat("target \"", compile.target, "\""), "has no libraries",
                   "use --target cpu or --target wasm");
  if (!wasm && options.form == Form::wasi) return fail("--emit wasi is for --target wasm");
  if (options.form == Form::wasi && options.weights_beside)
    return fail("a program has its weights inside");
  return {};
}

}  // namespace

Result<Form> form_named(std::string_view name) {
  for (const FormName& form : forms)
    if (form.name == name) return form.form;
  return fail(cat("there is no form \"", name, "\""), "object, static-lib, shared-lib, wasi");
}

Result<package::Files> make_library(std::span<const std::byte> model,
                                    const compiler::Options& compile, const Options& options,
                                    compiler::Report* report) {
  GS_TRY(check_form(compile, options));
  compiler::Options given = compile;
  given.code = compiler::CodeForm::bitcode;
  given.shard_bytes = uint64_t{1} << 62;
  given.share_weights = false;
  GS_ASSIGN(const package::Files package, compiler::compile(model, given, report));
  const std::span<const std::byte> text = file_of(package, "manifest.json");
  Made made;
  made.code = file_of(package, "kernels.bc");
  GS_ASSIGN(runtime::Manifest manifest,
            runtime::parse_manifest({reinterpret_cast<const char*>(text.data()), text.size()}));
  made.module = std::move(manifest.module);
  GS_ASSIGN(made.encoded,
            encode(made.module, file_of(package, "weights.safetensors"), options.weights_beside));
  return finish(identifier_of(compile.name), made, options,
                {compile.cpu, compile.target == "wasm", compile.relaxed_simd});
}

}  // namespace gossamer::library
