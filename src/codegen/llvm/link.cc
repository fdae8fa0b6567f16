// Objects to libraries, programs and components, by installed linkers.
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "codegen/llvm/emit.h"

extern char** environ;

namespace gossamer::codegen::llvm_ {
namespace {

// Files beside each other in a fresh folder, removed at the end.
struct Workplace {
  std::string folder;
  std::string object() const { return folder + "/kernels.o"; }
  std::string other() const { return folder + "/other"; }
  std::string library() const { return folder + "/kernels.so"; }
  std::string messages() const { return folder + "/messages"; }
  ~Workplace() {
    for (const std::string& file : {object(), other(), library(), messages()}) unlink(file.c_str());
    rmdir(folder.c_str());
  }
};

bool write_bytes(const std::string& path, std::span<const std::byte> bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return false;
  const bool whole = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return std::fclose(file) == 0 && whole;
}

std::vector<std::byte> read_bytes(const std::string& path) {
  std::vector<std::byte> bytes;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return bytes;
  std::byte block[65536];
  size_t count = 0;
  while ((count = std::fread(block, 1, sizeof block, file)) > 0)
    bytes.insert(bytes.end(), block, block + count);
  std::fclose(file);
  return bytes;
}

// The exit status, or -1 where the program is not there.
int run(const std::vector<std::string>& command, const std::string& messages) {
  std::vector<char*> arguments;
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t process = -1;
  const int failure =
      posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return -1;
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) return 1;
  return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

using Flags = std::vector<std::string>;

Result<std::string> make_folder() {
  const char* base = getenv("TMPDIR");
  std::string pattern = cat(base && *base ? base : "/tmp", "/gossamer-link.XXXXXX");
  if (!mkdtemp(pattern.data())) return fail_at(pattern, cat("cannot be made: ", strerror(errno)));
  return pattern;
}

Result<> put(const std::string& file, std::span<const std::byte> bytes) {
  if (!write_bytes(file, bytes)) return fail_at(file, cat("cannot be written: ", strerror(errno)));
  return {};
}

std::string first_line(const std::string& messages) {
  const std::vector<std::byte> said = read_bytes(messages);
  const std::string_view text(reinterpret_cast<const char*>(said.data()), said.size());
  return std::string(text.substr(0, text.find('\n')));
}

// By the first of the linkers that is installed.
Result<std::vector<std::byte>> link(std::span<const std::byte> object,
                                    std::span<const char* const> linkers, const Flags& flags,
                                    const std::string& hint,
                                    std::span<const std::byte> other = {}) {
  GS_ASSIGN(std::string folder, make_folder());
  const Workplace place{std::move(folder)};
  GS_TRY(put(place.object(), object));
  if (!other.empty()) GS_TRY(put(place.other(), other));
  for (const char* linker : linkers) {
    Flags command{linker};
    if (std::strcmp(linker, "cc") == 0) {
      command.insert(command.end(), {"-shared", "-nostdlib", "-s"});
      if (flags[1] == "--no-undefined") command.emplace_back("-Wl,--no-undefined");
    } else {
      command.insert(command.end(), flags.begin(), flags.end());
    }
    command.insert(command.end(), {"-o", place.library(), place.object()});
    if (!other.empty()) command.push_back(place.other());
    const int status = run(command, place.messages());
    if (status < 0) continue;
    if (status != 0) return fail_at(linker, first_line(place.messages()));
    return read_bytes(place.library());
  }
  return fail(cat("no linker is installed, which this needs"), hint);
}

constexpr const char* elf_linkers[] = {"ld.lld-19", "ld.lld", "ld", "cc"};
constexpr const char* wasm_linkers[] = {"wasm-ld-19", "wasm-ld"};
const char* const elf_hint = "install lld-19 (or any ld or cc)";
const char* const wasm_hint = "install lld-19";

}  // namespace

// --no-undefined: a call that code generation introduced must not wait for the loader to fail.
Result<std::vector<std::byte>> link_shared_library(std::span<const std::byte> object) {
  return link(
      object, elf_linkers,
      {"-shared", "--no-undefined", "--build-id=none", "-znoexecstack", "-s", "-soname=kernels.so"},
      elf_hint);
}

Result<std::vector<std::byte>> link_shared_library(std::span<const std::byte> object,
                                                   const std::string& name) {
  return link(object, elf_linkers,
              {"-shared", "-znoexecstack", "--build-id=none", "-s", cat("-soname=", name)},
              elf_hint);
}

// What kernels keep for themselves lies on the stack, below the data: an overflow traps.
Result<std::vector<std::byte>> link_wasm_program(std::span<const std::byte> object, bool threads) {
  Flags flags{"--export=_start",      "--export-memory", "--stack-first",
              "-zstack-size=1048576", "--gc-sections",   "--strip-debug"};
  // A memory that threads share says how far it may grow: to all that 32 bits reach.
  if (threads)
    flags.insert(flags.end(), {"--export=wasi_thread_start", "--shared-memory", "--import-memory",
                               "--max-memory=4294967296"});
  return link(object, wasm_linkers, flags, wasm_hint);
}

Result<std::vector<std::byte>> link_wasm_component(std::span<const std::byte> model,
                                                   std::span<const std::byte> service,
                                                   const ComponentTools& tools) {
  GS_ASSIGN(const auto core,
            link(model, wasm_linkers,
                 {"--no-entry", "--export=_initialize", "--export=cabi_realloc",
                  "--export=wasi:http/incoming-handler@0.2.0#handle", "--export-memory",
                  "--stack-first", "-zstack-size=1048576", "--gc-sections", "--strip-debug"},
                 wasm_hint, service));
  // The world's types become a section of the module, and that a component around it.
  GS_ASSIGN(std::string folder, make_folder());
  const Workplace place{std::move(folder)};
  const std::string wit = place.other(), module = place.object(), made = place.library();
  GS_TRY(put(wit, tools.wit));
  GS_TRY(put(module, core));
  int status =
      run({"wasm-tools", "component", "embed", "--world", "service", wit, module, "-o", made},
          place.messages());
  if (status == 0)
    status = run({"wasm-tools", "component", "new", made, "-o", made}, place.messages());
  if (status < 0)
    status = run({"node",
                  "--input-type=module",
                  "-e",
                  {reinterpret_cast<const char*>(tools.encode.data()), tools.encode.size()},
                  module,
                  wit,
                  made},
                 place.messages());
  if (status < 0)
    return fail("no tool that makes components is installed",
                "cargo install wasm-tools, or npm install -g @bytecodealliance/jco");
  if (status > 0) return fail_at("component", first_line(place.messages()));
  return read_bytes(made);
}

Result<std::vector<std::byte>> link_wasm_library(std::span<const std::byte> object,
                                                 std::span<const std::string> exported) {
  Flags flags{"-shared", "--experimental-pic", "--unresolved-symbols=import-dynamic",
              "--strip-debug"};
  for (const std::string& name : exported) flags.push_back(cat("--export=", name));
  return link(object, wasm_linkers, flags, wasm_hint);
}

}  // namespace gossamer::codegen::llvm_
