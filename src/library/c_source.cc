#include "library/c_source.h"

#include <cmath>

#include "codegen/c/literals.h"
#include "codegen/plan_function.h"
#include "ir/scalar.h"
#include "library/run_time.h"

namespace gossamer::library {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// One of the run time's files, without what it includes of the others.
void add_file(std::string& text, std::span<const std::byte> file) {
  std::string_view rest = text_of(file);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    if (!rest.starts_with("#include \"")) text += rest.substr(0, end);
    rest.remove_prefix(end);
  }
}

// "name[] = {a, b, ...};", several a line.
class Array {
 public:
  explicit Array(std::string& text) : text_(text) { text_ += "{"; }
  void add(std::string_view number) {
    if (count_ > 0) text_ += ',';
    if (column_ + number.size() > 110) {
      text_ += '\n';
      column_ = 0;
    }
    text_ += number;
    column_ += number.size() + 1;
    ++count_;
  }
  void end() { text_ += count_ > 0 ? "}" : "0}"; }

 private:
  std::string& text_;
  size_t column_ = 0, count_ = 0;
};

// The type that memory has, and how many bytes an element takes.
ir::DType element_of(ir::DType dtype) {
  if (dtype == ir::DType::f16 || dtype == ir::DType::bf16) return ir::DType::u16;
  return ir::carrier_of(dtype);
}

std::string_view c_name(ir::DType dtype) {
  return dtype == ir::DType::f32 ? "float" : dtype == ir::DType::f64 ? "double" : "";
}

std::string type_name(ir::DType dtype) {
  if (const std::string_view known = c_name(dtype); !known.empty()) return std::string(known);
  if (dtype == ir::DType::boolean) return "unsigned char";
  const bool is_signed = ir::is_signed_int(dtype);
  return cat(is_signed ? "int" : "uint", 8 * ir::byte_size(dtype), "_t");
}

void add_elements(std::string& text, ir::DType dtype, std::span<const std::byte> bytes) {
  Array array(text);
  const auto size = static_cast<size_t>(ir::byte_size(dtype));
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    const ir::Scalar value = ir::read_scalar(dtype, &bytes[at]);
    if (ir::is_float(dtype))
      array.add(value.f == 0 && !std::signbit(value.f) ? "0"
                                                       : codegen::c::float_literal(dtype, value.f));
    else
      array.add(codegen::c::int_literal(dtype, value.i));
  }
  array.end();
}

// Members with names, and gaps between them, so that every weight has the type that kernels read
// and lies where the tables say, in whatever order this machine's bytes are.
void add_weights(std::string& text, const Encoded& encoded) {
  std::string members, values;
  int64_t at = 0;
  int number = 0;
  const auto gap = [&](int64_t to) {
    if (to == at) return;
    members += cat("  unsigned char gap", number, "[", to - at, "];\n");
    values += cat(values.empty() ? "" : ",\n", "{0}");
    at = to;
  };
  for (const PlacedWeight& weight : encoded.placed) {
    if (weight.bytes.empty()) continue;
    gap(weight.offset);
    const ir::DType dtype = element_of(weight.dtype);
    const size_t count = weight.bytes.size() / static_cast<size_t>(ir::byte_size(dtype));
    members += cat("  ", type_name(dtype), " w", number, "[", count, "];\n");
    values += values.empty() ? "" : ",\n";
    add_elements(values, dtype, weight.bytes);
    at = weight.offset + static_cast<int64_t>(weight.bytes.size());
    ++number;
  }
  gap(static_cast<int64_t>(encoded.weights.size()));
  text += cat("static const _Alignas(64) struct {\n", members, "} gs_weight_data = {\n", values,
              "};\n_Static_assert(sizeof gs_weight_data == ", encoded.weights.size(),
              ", \"weights do not lie as the tables say\");\n");
  text +=
      "static const unsigned char* const gossamer_weights = (const unsigned "
      "char*)&gs_weight_data;\n";
}

void add_tables(std::string& text, const Made& made, bool beside) {
  text +=
      "\n/* Tables: see GS_DIMS and what follows it. */\nstatic const int64_t gossamer_program[] "
      "= ";
  Array words(text);
  for (const int64_t word : made.encoded.words)
    words.add(word == INT64_MIN ? "INT64_MIN"
              : word > INT32_MAX || word < -INT32_MAX
                  ? codegen::c::int_literal(ir::DType::i64, word)
                  : cat(word));
  words.end();
  text += ";\nstatic const char gossamer_texts[] = ";
  Array texts(text);
  for (const char letter : made.encoded.texts)
    texts.add(cat(static_cast<int>(static_cast<signed char>(letter))));
  texts.end();
  text += ";\nstatic gs_kernel* const gossamer_kernels[] = ";
  Array kernels(text);
  for (const package::KernelInfo& kernel : made.module.kernels) kernels.add(kernel.entry);
  kernels.end();
  text += ";\nstatic gs_plan* const gossamer_plans[] = ";
  Array plans(text);
  for (int segment = 0; made.module.plan_values > 0 && segment < made.module.plan_segments;
       ++segment)
    plans.add(codegen::segment_name(segment));
  plans.end();
  text += ";\n";
  if (beside)
    text += "static const unsigned char* const gossamer_weights = NULL;\n";
  else
    add_weights(text, made.encoded);
}

constexpr std::string_view start = R"(
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
#if defined(__FAST_MATH__)
#error "compile without -ffast-math: kernels count on NaN, infinity and the order of operations"
#endif
#if FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2
#error "this compiler computes floats with more bits than they have: on x86 use -msse2 -mfpmath=sse"
#endif
_Static_assert(sizeof(float) == 4 && sizeof(double) == 8, "float and double must be IEEE's");
_Static_assert(sizeof(void*) == sizeof(size_t) && sizeof(void*) >= 4, "pointers of 32 or 64 bits");

/* A vector's functions are a few instructions each, and calls cost more. */
#ifdef __GNUC__
#define GS_INLINE static inline __attribute__((always_inline))
#else
#define GS_INLINE static inline
#endif
#define GS_ONE_FILE
#define GS_LINKAGE static
)";

// The functions of the header.
std::string functions_of(const HeaderOptions& header, bool dynamic) {
  const std::string& name = header.name;
  const std::string given = header.beside ? ", const void* weights, size_t weight_bytes" : "";
  const std::string passed = header.beside ? ", weights, weight_bytes" : ", NULL, 0";
  std::string text = "\n#ifndef GOSSAMER_NO_MALLOC\n";
  text += cat("int ", name, "_init(", name, "** model, int threads", given, ") {\n");
  text += cat("  return gossamer_model_init((gossamer_model**)model, threads", passed,
              ");\n}\n#endif\n");
  if (!dynamic) {
    text +=
        cat("int ", name, "_init_in(", name, "** model, void* memory, size_t memory_bytes", given,
            ") {\n  return gossamer_model_init_in((gossamer_model**)model, memory, memory_bytes",
            passed, ");\n}\n");
  }
  text +=
      cat("int ", name, "_run(", name, "* model, ", name,
          "_values* values) {\n  return gossamer_model_run((gossamer_model*)model, values);\n}\n");
  text += cat("void ", name, "_free(", name,
              "* model) { gossamer_model_free((gossamer_model*)model); }\n");
  text += cat("const char* ", name, "_error(const ", name,
              "* model) {\n  return gossamer_model_error((const gossamer_model*)model);\n}\n");
  text +=
      cat("const char* ", name, "_message(int code) { return gossamer_model_message(code); }\n");
  return text;
}

}  // namespace

std::string c_source_of(const Made& made, const HeaderOptions& header) {
  std::string text =
      cat("/* ", header.name, ".c: ", header.name,
          ".h tells what is here. Written by Gossamer " GOSSAMER_VERSION
          ". C11, to be linked with the\n   library of mathematics (-lm). */\n#include \"",
          header.name,
          ".h\"\n\n#include <float.h>\n#include <math.h>\n#include <stdlib.h>\n"
          "#include <string.h>\n");
  text += start;
  text += made.encoded.has_dynamic_memory ? "#define GS_ALLOCATES\n\n" : "\n";
  add_file(text, run_time::text_program_h);
  text += "\n/* Kernels */\n\n";
  text += text_of(made.code);
  add_tables(text, made, header.beside);
  text += '\n';
  add_file(text, run_time::text_model_h);
  add_file(text, run_time::text_model_c);
  add_file(text, run_time::text_host_c);
  add_file(text, run_time::text_one_thread_c);
  text += functions_of(header, made.encoded.has_dynamic_memory);
  return text;
}

}  // namespace gossamer::library
