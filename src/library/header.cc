#include "library/header.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace gossamer::library {
namespace {

constexpr std::array<std::string_view, 100> words_of_c{
    "alignas", "alignof",   "and",       "asm",      "auto",     "bool",     "break",    "case",
    "catch",   "char",      "class",     "const",    "continue", "concept",  "default",  "delete",
    "do",      "double",    "else",      "enum",     "explicit", "export",   "extern",   "false",
    "float",   "for",       "friend",    "goto",     "if",       "inline",   "int",      "long",
    "main",    "mutable",   "namespace", "new",      "not",      "nullptr",  "operator", "or",
    "private", "protected", "public",    "register", "requires", "restrict", "return",   "short",
    "signed",  "sizeof",    "static",    "struct",   "switch",   "template", "this",     "throw",
    "true",    "try",       "typedef",   "typename", "union",    "unsigned", "using",    "virtual",
    "void",    "volatile",  "while",     "xor",      "linux",    "unix"};

std::string upper(std::string text) {
  for (char& letter : text)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return text;
}

std::string_view c_type(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::f32:
      return "float";
    case ir::DType::f64:
      return "double";
    case ir::DType::i64:
      return "int64_t";
    case ir::DType::u64:
      return "uint64_t";
    case ir::DType::i32:
      return "int32_t";
    case ir::DType::u32:
      return "uint32_t";
    case ir::DType::i16:
      return "int16_t";
    case ir::DType::u16:
    case ir::DType::f16:
    case ir::DType::bf16:
      return "uint16_t";
    default:
      return ir::carrier_of(dtype) == ir::DType::i8 ? "int8_t" : "uint8_t";
  }
}

std::string_view what_bits(ir::DType dtype) {
  if (dtype == ir::DType::f16 || dtype == ir::DType::bf16) return ", as its 16 bits";
  if (dtype == ir::DType::boolean) return ", 0 or 1";
  return ir::carrier_of(dtype) != dtype ? ", as its code" : "";
}

// What stands in a comment must not end it.
std::string comment(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    const bool ends = letter == '/' && !safe.empty() && safe.back() == '*';
    safe += ends || letter == '\n' || letter == '\\' ? ' ' : letter;
  }
  return safe;
}

class Writer {
 public:
  Writer(const package::Module& module, const Encoded& encoded, const HeaderOptions& options)
      : module_(module), encoded_(encoded), options_(options), big_(upper(options.name)) {}

  std::string write() {
    const std::string& name = options_.name;
    line("/* ", comment(module_.name), ", compiled by Gossamer " GOSSAMER_VERSION " for ",
         options_.machine, ".");
    line(
        "   Every function answers wrong use with a code and a message, and touches no memory but");
    line("   what it is given. One thread at a time may use a model; several models, as many. */");
    line("#ifndef ", big_, "_H");
    line("#define ", big_, "_H");
    line("");
    line("#include <stddef.h>");
    line("#include <stdint.h>");
    line("");
    line("#ifdef __cplusplus");
    line("extern \"C\" {");
    line("#endif");
    line("");
    line("#define ", big_, "_GOSSAMER_VERSION \"" GOSSAMER_VERSION "\"");
    line("");
    codes();
    values();
    functions(name);
    line("#ifdef __cplusplus");
    line("}");
    line("#endif");
    line("#endif");
    return std::move(text_);
  }

 private:
  template <class... Parts>
  void line(const Parts&... parts) {
    text_ += cat(parts...);
    text_ += '\n';
  }

  void codes() {
    constexpr std::array names{"OK",        "NULL",      "NOT_READY", "SIZE",
                               "ROOM",      "DIMENSION", "MEMORY",    "CONDITION",
                               "PROCESSOR", "WEIGHTS",   "ALIGNMENT"};
    constexpr std::array means{"",
                               "a pointer is NULL",
                               "run before init, or after an init that failed",
                               "an input has another number of bytes than its shape takes",
                               "an output has too little room: its _bytes then tells what it takes",
                               "a dimension is negative, too large or gives a tensor no size",
                               "out of memory",
                               "a condition of the model does not hold",
                               "this processor lacks instructions that the model was compiled for",
                               "these are not the model's weights",
                               "the weights do not lie at a multiple of 64 bytes"};
    line("/* What functions return. */");
    line("enum ", options_.name, "_code {");
    for (size_t at = 0; at < names.size(); ++at)
      line("  ", big_, "_", names[at], " = ", at, at + 1 < names.size() ? "," : "",
           *means[at] ? cat(" /* ", means[at], " */") : "");
    line("};");
    line("");
  }

  // A field's name, with which NAME_bytes and NAME_shape are not taken either.
  std::string field_of(const std::string& given) {
    const std::string base = identifier_of(given);
    std::string name = base;
    const auto taken = [&] {
      return fields_.contains(name) || fields_.contains(name + "_bytes") ||
             fields_.contains(name + "_shape");
    };
    for (int number = 2; taken(); ++number) name = cat(base, "_", number);
    fields_.insert({name, name + "_bytes", name + "_shape"});
    return name;
  }

  std::string shape_of(const package::Port& port) const {
    std::string text = "[";
    for (size_t axis = 0; axis < port.shape.size(); ++axis) {
      const bool named = axis < port.symbols.size() && !port.symbols[axis].empty();
      text += axis > 0 ? ", " : "";
      text += named                      ? port.symbols[axis]
              : port.shape[axis].planned ? std::string("?")
                                         : cat(port.shape[axis].value);
    }
    return comment(text + "]");
  }

  // How many elements, where that is known; else -1.
  static int64_t elements_of(const package::Port& port) {
    int64_t count = 1;
    for (size_t axis = 0; axis < port.shape.size(); ++axis) {
      const bool named = axis < port.symbols.size() && !port.symbols[axis].empty();
      if (named || port.shape[axis].planned) return -1;
      count *= port.shape[axis].value;
    }
    return count;
  }

  void values() {
    std::string body, shapes;
    for (const std::string& dim : encoded_.dims)
      body += cat("  int64_t ", field_of(dim), "; /* the dimension ", comment(dim), " */\n");
    for (const auto* ports : {&module_.inputs, &module_.outputs}) {
      const bool output = ports == &module_.outputs;
      for (const package::Port& port : *ports) {
        const std::string field = field_of(port.name);
        const int64_t elements = elements_of(port);
        body += cat("  ", output ? "" : "const ", c_type(port.dtype), "* ", field, "; /* ",
                    output ? "output" : "input", " \"", comment(port.name),
                    "\": ", ir::name_of(port.dtype), " ", shape_of(port), what_bits(port.dtype),
                    " */\n");
        body += cat("  size_t ", field, "_bytes;",
                    output ? " /* room; after a run what it takes */" : "", "\n");
        if (elements >= 0) line("#define ", big_, "_", upper(field), "_ELEMENTS ", elements);
        if (output && elements < 0)
          shapes += cat("  int64_t ", field, "_shape[", std::max<size_t>(1, port.shape.size()),
                        "]; /* told after a run, as far as it is computed */\n");
      }
    }
    line("");
    line("/* What a run reads and writes, all of it the caller's. Elements are row-major. */");
    line("typedef struct ", options_.name, "_values {");
    text_ += body + shapes;
    if (body.empty()) line("  char nothing;");
    line("} ", options_.name, "_values;");
    line("");
    line("typedef struct ", options_.name, " ", options_.name, ";");
    line("");
  }

  void functions(const std::string& name) {
    const std::string weights = options_.beside ? ", const void* weights, size_t weight_bytes" : "";
    if (options_.beside) {
      line("/* The weights are those of ", name,
           ".weights, in memory at a multiple of 64 bytes, and "
           "stay there");
      line("   as long as the model. */");
      line("#define ", big_, "_WEIGHT_BYTES ", encoded_.weights.size());
    }
    if (options_.allocates) {
      line("/* Makes a model. threads: how many a run uses; 0 is one a core. */");
      line("int ", name, "_init(", name, "** model, int threads", weights, ");");
    }
    if (!encoded_.has_dynamic_memory) {
      line(
          "/* The same in the caller's memory, of which nothing is allocated then or later: one "
          "thread. */");
      line("#define ", big_, "_MEMORY_BYTES ", encoded_.memory_bytes);
      line("int ", name, "_init_in(", name, "** model, void* memory, size_t memory_bytes", weights,
           ");");
    }
    line("int ", name, "_run(", name, "* model, ", name, "_values* values);");
    line("void ", name, "_free(", name, "* model);");
    line("/* Why the model's last run failed, in one line, and what a code means. */");
    line("const char* ", name, "_error(const ", name, "* model);");
    line("const char* ", name, "_message(int code);");
    line("");
  }

  const package::Module& module_;
  const Encoded& encoded_;
  const HeaderOptions& options_;
  std::string big_, text_;
  std::set<std::string> fields_;
};

}  // namespace

std::string identifier_of(const std::string& name) {
  std::string made;
  for (const char letter : name) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9');
    // No two underscores in a row, which C++ keeps for itself.
    if (plain || (!made.empty() && made.back() != '_')) made += plain ? letter : '_';
  }
  while (!made.empty() && made.back() == '_') made.pop_back();
  if (made.empty() || (made[0] >= '0' && made[0] <= '9')) made.insert(0, "model_");
  if (made.back() == '_') made.pop_back();
  if (std::ranges::find(words_of_c, made) != words_of_c.end()) made += "_model";
  return made;
}

std::string header_of(const package::Module& module, const Encoded& encoded,
                      const HeaderOptions& options) {
  return Writer(module, encoded, options).write();
}

}  // namespace gossamer::library
