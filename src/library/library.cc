#include "library/library.h"

#include <algorithm>
#include <array>

#include "library/c_source.h"
#include "library/encode.h"
#include "library/header.h"
#include "library/linked_forms.h"
#include "library/oci.h"
#include "runtime/manifest.h"
#include "runtime/shader_sources.h"

namespace gossamer::library {
namespace {

struct FormName {
  std::string_view name;
  Form form;
};
constexpr std::array<FormName, 7> forms{{{"object", Form::object},
                                         {"static-lib", Form::static_library},
                                         {"shared-lib", Form::shared_library},
                                         {"c", Form::c},
                                         {"wasi", Form::wasi},
                                         {"oci", Form::oci},
                                         {"component", Form::component}}};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::span<const std::byte> file_of(const package::Files& files, std::string_view name) {
  const auto found =
      std::ranges::find_if(files, [&](const package::File& file) { return file.name == name; });
  return found == files.end() ? std::span<const std::byte>() : std::span(found->bytes);
}

Result<> check_form(const compiler::Options& compile, const Options& options) {
  const bool wasm = compile.target == "wasm";
  const bool gpu = compile.target == "webgpu" && options.form == Form::wasi;
  if (gpu && options.threads != 1) return fail("beside a GPU a program has one thread");
  if (!wasm && !gpu && compile.target != "cpu")
    return fail_at(cat("target \"", compile.target, "\""), "has no libraries",
                   "use --target cpu or --target wasm; webgpu has --emit wasi");
  if (wasm && options.form == Form::c) return fail("--emit c is for --target cpu");
  const bool wasi = options.form == Form::wasi || options.form == Form::oci;
  const bool program = wasi || options.form == Form::component;
  if (!wasm && !gpu && program) return fail("programs and components are for --target wasm");
  if (!wasi && options.threads != 1) return fail("threads are told to a library by init");
  if (program && options.weights_beside) return fail("a program has its weights inside");
  return {};
}

// The source of each kernel that is a shader, by its number.
Result<std::vector<std::string>> shaders_of(std::span<const std::byte> sources,
                                            const runtime::Manifest& manifest) {
  const std::vector<package::KernelInfo>& kernels = manifest.module.kernels;
  std::vector<runtime::KernelEntry> entries;
  for (size_t at = 0; at < kernels.size(); ++at)
    if (kernels[at].device == 0)
      entries.push_back({.name = kernels[at].entry, .source = kernels[at].code});
  GS_ASSIGN(std::vector<std::string> found, runtime::shader_sources(sources, entries));
  std::vector<std::string> all(kernels.size());
  size_t next = 0;
  for (size_t at = 0; at < kernels.size(); ++at)
    if (kernels[at].device == 0) all[at] = std::move(found[next++]);
  return all;
}

}  // namespace

Result<Form> form_named(std::string_view name) {
  for (const FormName& form : forms)
    if (form.name == name) return form.form;
  return fail(cat("there is no form \"", name, "\""),
              "object, static-lib, shared-lib, c, wasi, oci, component");
}

Result<package::Files> make_library(std::span<const std::byte> model,
                                    const compiler::Options& compile, const Options& options,
                                    compiler::Report* report, Interface* interface) {
  GS_TRY(check_form(compile, options));
  compiler::Options given = compile;
  const bool is_c = options.form == Form::c;
  given.code = is_c ? compiler::CodeForm::c : compiler::CodeForm::bitcode;
  given.shard_bytes = uint64_t{1} << 62;
  given.share_weights = false;
  given.pieces = false;  // no manifest goes out that would list them
  GS_ASSIGN(const package::Files package, compiler::compile(model, given, report));
  const std::span<const std::byte> text = file_of(package, "manifest.json");
  Made made;
  made.code = file_of(package, is_c ? "kernels.c" : "kernels.bc");
  GS_ASSIGN(runtime::Manifest manifest,
            runtime::parse_manifest({reinterpret_cast<const char*>(text.data()), text.size()}));
  std::vector<std::string> shaders;
  if (compile.target == "webgpu") {
    GS_ASSIGN(shaders, shaders_of(file_of(package, "kernels.json"), manifest));
  }
  made.module = std::move(manifest.module);
  GS_ASSIGN(made.encoded, encode(made.module, file_of(package, "weights.safetensors"),
                                 options.weights_beside, shaders));
  if (interface) *interface = {made.module, made.encoded.dims};
  const std::string name = identifier_of(compile.name);
  if (options.form == Form::oci) {
    GS_ASSIGN(const package::Files program,
              finish_linked(name, made, compile, {Form::wasi, false, options.threads}));
    return oci_image(name, program.front().bytes);
  }
  if (!is_c) return finish_linked(name, made, compile, options);
  package::Files files;
  const HeaderOptions header{name, "any machine with a C11 compiler", options.weights_beside};
  files.push_back({name + ".h", bytes_of(header_of(made.module, made.encoded, header))});
  files.push_back({name + ".c", bytes_of(c_source_of(made, header))});
  if (options.weights_beside) files.push_back({name + ".weights", std::move(made.encoded.weights)});
  return files;
}

}  // namespace gossamer::library
