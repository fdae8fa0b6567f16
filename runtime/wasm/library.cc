#include "runtime/wasm/library.h"

#include <charconv>
#include <cstdlib>

#include "runtime/system_library.h"
#include "runtime/wasm/relaxed.h"

namespace gossamer::runtime::wasm {
namespace {

constexpr const char* install =
    "install wasmtime 36 or newer (the Python package wasmtime has it, as "
    "wasmtime/linux-x86_64/_libwasmtime.so); GOSSAMER_WASMTIME_LIBRARY names the file";

constexpr int least_version = 36;

// What ends a message is the reason; before it come frames of the module's stack, and behind it,
// in some releases, those of the engine's.
std::string one_line(const ByteVector& message) {
  std::string_view text(message.data, message.size);
  text = text.substr(0, text.find("\nStack backtrace:"));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0' || text.back() == ' '))
    text.remove_suffix(1);
  if (const size_t at = text.rfind('\n'); at != text.npos) text.remove_prefix(at + 1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  // One of several reasons is numbered.
  if (const size_t at = text.find(": ");
      at != text.npos && text.substr(0, at).find_first_not_of("0123456789") == text.npos)
    text.remove_prefix(at + 2);
  return std::string(text);
}

// Compiled modules begin with an ELF header, behind which stands who made them: 0, the length of
// its version, the version. 0: it says nothing.
int version_of(const Library& api) {
  constexpr uint8_t empty[] = {0, 'a', 's', 'm', 1, 0, 0, 0};
  constexpr size_t header = 64;
  const auto module = api.compile(std::as_bytes(std::span(empty)));
  if (!module) return 0;
  ByteVector bytes;
  int version = 0;
  if (api.check(api.wasmtime_module_serialize(*module, &bytes))) {
    const std::string_view text(bytes.data, bytes.size);
    if (text.size() > header + 2 && text[header] == 0) {
      const std::string_view said =
          text.substr(header + 2, static_cast<unsigned char>(text[header + 1]));
      std::from_chars(said.data(), said.data() + said.size(), version);
    }
    api.wasm_byte_vec_delete(&bytes);
  }
  api.wasmtime_module_delete(*module);
  return version;
}

Result<Library> load() {
  const char* const named = std::getenv("GOSSAMER_WASMTIME_LIBRARY");
  const bool given = named && *named;
  GS_ASSIGN(const SystemLibrary file, given ? SystemLibrary::open({named}, install)
                                            : SystemLibrary::open({"libwasmtime.so"}, install));
  const std::string name = given ? named : "libwasmtime.so";
  if (!file.find("wasmtime_module_new"))
    return fail_at(name, "is no library of wasmtime: it has no wasmtime_module_new", install);
  Library all;
#define GS_FIND(function, ...) \
  all.function = reinterpret_cast<decltype(all.function)>(file.find(#function));
  GS_NEWER_WASMTIME_FUNCTIONS(GS_FIND)
#undef GS_FIND
#define GS_FIND(function, ...)                                                   \
  all.function = reinterpret_cast<decltype(all.function)>(file.find(#function)); \
  if (!all.function) return fail_at(name, "has no " #function, install);
  GS_WASMTIME_FUNCTIONS(GS_FIND)
#undef GS_FIND
  Config* const config = all.wasm_config_new();
  all.wasmtime_config_cranelift_opt_level_set(config, optimize_for_speed);
  all.wasmtime_config_wasm_threads_set(config, true);
  all.wasmtime_config_wasm_relaxed_simd_set(config, true);
  if (all.wasmtime_config_shared_memory_set) all.wasmtime_config_shared_memory_set(config, true);
  all.engine = all.wasm_engine_new_with_config(config);
  if (!all.engine) return fail_at(name, "makes no engine on this machine", install);
  const int version = version_of(all);
  all.about = version > 0 ? cat("wasmtime ", version) : "wasmtime";
  if (version > 0 && version < least_version) return fail_at(name, cat("is ", all.about), install);
  all.relaxed = has_relaxed_simd(all);
  all.exact_dots = all.relaxed && has_relaxed_dots(all);
  return all;
}

}  // namespace

Result<> Library::check(Error* error) const {
  if (!error) return {};
  ByteVector message;
  wasmtime_error_message(error, &message);
  std::string text = one_line(message);
  wasm_byte_vec_delete(&message);
  wasmtime_error_delete(error);
  return fail(std::move(text));
}

Result<> Library::check(Error* error, Trap* trap) const {
  if (!trap) return check(error);
  ByteVector message;
  wasm_trap_message(trap, &message);
  std::string text = one_line(message);
  wasm_byte_vec_delete(&message);
  wasm_trap_delete(trap);
  if (error) wasmtime_error_delete(error);
  return fail(std::move(text));
}

Result<Module*> Library::compile(std::span<const std::byte> module) const {
  Module* compiled = nullptr;
  GS_TRY(check(wasmtime_module_new(engine, reinterpret_cast<const uint8_t*>(module.data()),
                                   module.size(), &compiled)));
  return compiled;
}

Result<const Library*> library() {
  static const Result<Library> loaded = load();
  if (!loaded) return std::unexpected(loaded.error());
  return &*loaded;
}

}  // namespace gossamer::runtime::wasm
