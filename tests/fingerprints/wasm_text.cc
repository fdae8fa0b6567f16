#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "fingerprints/module_text.h"

namespace gossamer::fingerprints {
namespace {

constexpr uint8_t import_section = 2, export_section = 7, code_section = 10;
constexpr uint8_t function_kind = 0, table_kind = 1, memory_kind = 2, global_kind = 3;

// Reads bytes in order. After a read past the end, good() is false and reads return 0.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  bool good() const { return good_; }
  bool done() const { return !good_ || rest_.empty(); }

  uint8_t byte() {
    const auto one = take(1);
    return one.empty() ? 0 : static_cast<uint8_t>(one[0]);
  }
  uint64_t number() {  // LEB128
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t next = byte();
      value |= static_cast<uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) break;
    }
    return value;
  }
  std::string name() {
    const auto text = take(number());
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  std::span<const std::byte> take(uint64_t count) {
    if (count > rest_.size()) good_ = false;
    if (!good_) return {};
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
  bool good_ = true;
};

void skip_limits(Reader& reader) {
  if (reader.byte() & 1) reader.number();
  reader.number();
}

uint64_t count_imported_functions(Reader section) {
  uint64_t functions = 0;
  for (uint64_t left = section.number(); left > 0 && section.good(); --left) {
    section.name();
    section.name();
    switch (section.byte()) {
      case function_kind:
        section.number();
        ++functions;
        break;
      case table_kind:
        section.byte();
        skip_limits(section);
        break;
      case memory_kind:
        skip_limits(section);
        break;
      case global_kind:
        section.take(2);
        break;
      default:
        section.take(UINT64_MAX);  // unknown: the module is malformed
    }
  }
  return functions;
}

class Disassembler {
 public:
  Disassembler() {
    LLVMInitializeWebAssemblyTargetInfo();
    LLVMInitializeWebAssemblyTarget();
    LLVMInitializeWebAssemblyTargetMC();
    LLVMInitializeWebAssemblyDisassembler();
    const char* features = "+simd128,+relaxed-simd,+bulk-memory,+sign-ext,+nontrapping-fptoint";
    context_ = LLVMCreateDisasmCPUFeatures("wasm32", "", features, nullptr, 0, nullptr, nullptr);
  }
  ~Disassembler() { LLVMDisasmDispose(context_); }
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  // Prints the body of a function: local declarations, then one instruction per line.
  std::string print(std::span<const std::byte> body) {
    Reader reader(body);
    std::string text;
    for (uint64_t left = reader.number(); left > 0 && reader.good(); --left) {
      const uint64_t count = reader.number();
      char line[64];
      std::snprintf(line, sizeof line, "locals %llu x type 0x%02x\n",
                    static_cast<unsigned long long>(count), unsigned{reader.byte()});
      text += line;
    }
    const auto code = reader.rest();
    std::vector<uint8_t> bytes(code.size());
    for (size_t at = 0; at < code.size(); ++at) bytes[at] = static_cast<uint8_t>(code[at]);
    size_t depth = 1;
    for (size_t at = 0; at + 1 < bytes.size();) {  // the last byte ends the function
      char instruction[256];
      const size_t size = LLVMDisasmInstruction(context_, &bytes[at], bytes.size() - at, at,
                                                instruction, sizeof instruction);
      append(text, instruction, size == 0 ? bytes[at] : -1, depth);
      at += size == 0 ? 1 : size;
    }
    return text;
  }

 private:
  // `raw` is a byte that is not an instruction, or -1.
  static void append(std::string& text, std::string_view instruction, int raw, size_t& depth) {
    const size_t begin = instruction.find_first_not_of(" \t");
    std::string line(begin == std::string_view::npos ? "" : instruction.substr(begin));
    if (raw >= 0) line = cat("byte ", raw);
    for (char& letter : line)
      if (letter == '\t' || letter == '\n') letter = ' ';
    line.resize(line.find_last_not_of(' ') + 1);
    const std::string word = line.substr(0, line.find_first_of(" #"));
    if ((word == "else" || word.starts_with("end")) && depth > 0) --depth;
    text += cat(std::string(2 * depth, ' '), line, "\n");
    if (word == "block" || word == "loop" || word == "if" || word == "else") ++depth;
  }

  LLVMDisasmContextRef context_ = nullptr;
};

}  // namespace

Result<Functions> wasm_functions(std::span<const std::byte> module) {
  Reader reader(module);
  reader.take(8);  // magic number and version
  uint64_t imported = 0;
  std::map<std::string, uint64_t> exported;
  std::vector<std::span<const std::byte>> bodies;
  while (!reader.done()) {
    const uint8_t section = reader.byte();
    Reader content(reader.take(reader.number()));
    if (section == import_section) imported = count_imported_functions(content);
    if (section == export_section) {
      for (uint64_t left = content.number(); left > 0 && content.good(); --left) {
        std::string name = content.name();
        const uint8_t kind = content.byte();
        const uint64_t index = content.number();
        if (kind == function_kind) exported.emplace(std::move(name), index);
      }
    }
    if (section == code_section) {
      for (uint64_t left = content.number(); left > 0 && content.good(); --left)
        bodies.push_back(content.take(content.number()));
    }
  }
  Functions functions;
  Disassembler disassembler;
  for (const auto& [name, index] : exported) {
    if (index < imported || index - imported >= bodies.size())
      return fail(cat("the WebAssembly module exports function ", index, ", which it lacks"));
    functions[name] = disassembler.print(bodies[index - imported]);
  }
  if (!reader.good()) return fail("the WebAssembly module is malformed");
  return functions;
}

}  // namespace gossamer::fingerprints
