// The compiler writes one module for every engine; whether its memory is shared must be said in it
// and equal the memory's (WebAssembly core specification 5.5.5).
#include <optional>

#include "runtime/wasm/memory.h"

namespace gossamer::runtime::wasm {
namespace {

constexpr uint64_t import_section = 2, memory_import = 2;
constexpr size_t first_section = 8;
// Shared, from 0 to 65536 pages.
constexpr uint8_t limits[] = {3, 0, 128, 128, 4};

struct Cursor {
  std::span<const std::byte> bytes;
  size_t at = first_section;
  // Whole numbers of LEB128; nothing at the end, or where one has more than 32 bits.
  std::optional<uint64_t> number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 35 && at < bytes.size(); shift += 7) {
      const auto byte = std::to_integer<uint64_t>(bytes[at++]);
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    return std::nullopt;
  }
  bool skip(std::optional<uint64_t> count) {
    if (!count || *count > bytes.size() - at) return false;
    at += *count;
    return true;
  }
};

void append_number(std::vector<std::byte>& to, uint64_t value) {
  for (; value > 127; value >>= 7) to.push_back(static_cast<std::byte>(value | 128));
  to.push_back(static_cast<std::byte>(value));
}

}  // namespace

Result<Importing> with_shared_memory(std::span<const std::byte> module) {
  const auto early = [] { return fail("the wasm module ends too early"); };
  Importing made;
  // Whether it is a module at all is told by who compiles it.
  Cursor read{module};
  while (read.at < module.size()) {
    const size_t section = read.at;
    const auto id = read.number(), size = read.number();
    if (!id || !size) return early();
    const size_t start = read.at;
    if (*id != import_section) {
      if (!read.skip(size)) return early();
      continue;
    }
    const auto count = read.number();
    if (!read.skip(read.number()) || !read.skip(read.number())) return early();
    const auto kind = read.number();
    if (!count || !kind) return early();
    if (*count != 1 || *kind != memory_import) return fail("kernels import one memory");
    const size_t from = read.at;
    const auto flags = read.number();
    if (!flags || !read.number() || ((*flags & 1) && !read.number())) return early();
    const auto append = [&](std::span<const std::byte> bytes) {
      made.module.insert(made.module.end(), bytes.begin(), bytes.end());
    };
    append(module.first(section));
    append_number(made.module, *id);
    append_number(made.module, *size + sizeof limits - (read.at - from));
    append(module.subspan(start, from - start));
    append(std::as_bytes(std::span(limits)));
    append(module.subspan(read.at));
    made.imports = true;
    return made;
  }
  made.module.assign(module.begin(), module.end());
  return made;
}

}  // namespace gossamer::runtime::wasm
