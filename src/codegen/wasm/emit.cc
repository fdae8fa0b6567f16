#include "codegen/wasm/emit.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "codegen/wasm/lower.h"
#include "codegen/wasm/print.h"

namespace gossamer::codegen::wasm {
namespace {

enum Section : uint8_t {
  type_section = 1,
  import_section = 2,
  function_section = 3,
  global_section = 6,
  export_section = 7,
  code_section = 10
};
enum ExportKind : uint8_t { exported_function = 0, exported_global = 3 };

void append_name(Bytes& bytes, std::string_view name) {
  append_unsigned(bytes, name.size());
  bytes.insert(bytes.end(), name.begin(), name.end());
}

void append_all(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void append_section(Bytes& module, Section section, const Bytes& content) {
  module.push_back(section);
  append_unsigned(module, content.size());
  append_all(module, content);
}

Bytes global(bool is_mutable, int64_t value) {
  Bytes bytes = {static_cast<uint8_t>(ValType::i32), static_cast<uint8_t>(is_mutable),
                 static_cast<uint8_t>(Op::i32_const)};
  append_signed(bytes, value);
  bytes.push_back(0x0b);
  return bytes;
}

}  // namespace

std::vector<std::byte> emit_module(std::span<const ir::Kernel> kernels, const PlanFunction* plan,
                                   const WasmOptions& options) {
  const Relaxed relaxed{options.relaxed_simd, options.relaxed_dots};
  std::vector<Bytes> bodies;
  std::vector<size_t> body_of;
  int64_t scratch_bytes = 0;
  for (const ir::Kernel& kernel : kernels) {
    Function function;
    Lowering lowering(function, relaxed);
    lowering.kernel(kernel);
    scratch_bytes = std::max(scratch_bytes, lowering.scratch_bytes());
    Bytes body = print(function, 3);
    const auto same = std::find(bodies.begin(), bodies.end(), body);
    body_of.push_back(static_cast<size_t>(same - bodies.begin()));
    if (same == bodies.end()) bodies.push_back(std::move(body));
  }
  const size_t kernel_bodies = bodies.size();
  const PlanFunction numbers = plan ? in_doubles(*plan) : PlanFunction();
  for (int segment = 0; plan && segment < plan->segment_count(); ++segment) {
    Function function;
    Lowering lowering(function, relaxed);
    lowering.plan(numbers, segment);
    body_of.push_back(bodies.size());
    bodies.push_back(print(function, 2));
  }

  Bytes module = {0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00};
  // (begin, end, args) and plan(dims, values), plan_1(dims, values), ...
  append_section(module, type_section, {2, 0x60, 3, 0x7f, 0x7f, 0x7f, 0, 0x60, 2, 0x7f, 0x7f, 0});

  Bytes imports = {1};
  append_name(imports, "env");
  append_name(imports, "memory");
  imports.push_back(2);     // a memory
  imports.push_back(0x00);  // not shared, no maximum
  append_unsigned(imports, static_cast<uint64_t>(options.memory_pages));
  append_section(module, import_section, imports);

  Bytes functions;
  append_unsigned(functions, bodies.size());
  for (size_t k = 0; k < bodies.size(); ++k) functions.push_back(k < kernel_bodies ? 0 : 1);
  append_section(module, function_section, functions);

  if (scratch_bytes > 0) {
    Bytes globals = {2};
    append_all(globals, global(true, 0));
    append_all(globals, global(false, scratch_bytes));
    append_section(module, global_section, globals);
  }

  Bytes exports;
  append_unsigned(exports, body_of.size() + (scratch_bytes > 0 ? 2 : 0));
  for (size_t k = 0; k < body_of.size(); ++k) {
    append_name(exports, k < kernels.size()
                             ? "k" + std::to_string(options.numbers.empty() ? static_cast<int>(k)
                                                                            : options.numbers[k])
                             : segment_name(static_cast<int>(k - kernels.size())));
    exports.push_back(exported_function);
    append_unsigned(exports, body_of[k]);
  }
  if (scratch_bytes > 0) {
    append_name(exports, "scratch");
    exports.push_back(exported_global);
    exports.push_back(0);
    append_name(exports, "scratch_bytes");
    exports.push_back(exported_global);
    exports.push_back(1);
  }
  append_section(module, export_section, exports);

  Bytes code;
  append_unsigned(code, bodies.size());
  for (const Bytes& body : bodies) {
    append_unsigned(code, body.size());
    append_all(code, body);
  }
  append_section(module, code_section, code);

  std::vector<std::byte> bytes(module.size());
  std::transform(module.begin(), module.end(), bytes.begin(),
                 [](uint8_t b) { return static_cast<std::byte>(b); });
  return bytes;
}

}  // namespace gossamer::codegen::wasm
