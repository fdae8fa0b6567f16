#include "codegen/c/operations.h"

#include <array>

namespace gossamer::codegen::c {

using ir::BinaryOp;
using ir::DType;
using ir::Type;
using ir::UnaryOp;

std::string_view scalar_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::i8:
      return "int8_t";
    case DType::u8:
      return "uint8_t";
    case DType::i16:
      return "int16_t";
    case DType::u16:
      return "uint16_t";
    case DType::i32:
      return "int32_t";
    case DType::u32:
      return "uint32_t";
    case DType::i64:
      return "int64_t";
    case DType::u64:
      return "uint64_t";
    case DType::boolean:
      return "unsigned char";
    case DType::index:
      return "gs_word";
    default:
      GS_CHECK(false, "C has no type for ", ir::name_of(dtype));
  }
}

std::string_view memory_name(DType dtype) {
  return dtype == DType::index ? "int32_t" : scalar_name(dtype);
}

namespace {

std::string tag(Type type) {
  return cat(ir::name_of(type.dtype), type.is_scalar() ? "" : cat("x", type.lanes));
}

// Of the type's bits, at least those of an int, so that nothing is promoted to a signed type.
std::string_view wrapping(DType dtype) {
  if (dtype == DType::index) return "uintptr_t";
  return ir::byte_size(dtype) == 8 ? "uint64_t" : "uint32_t";
}

std::string wrapped(DType dtype, std::string_view op) {
  const std::string_view word = wrapping(dtype);
  return cat("(", scalar_name(dtype), ")((", word, ")a ", op, " (", word, ")b)");
}

std::string negated(DType dtype) {
  return cat("(", scalar_name(dtype), ")(0u - (", wrapping(dtype), ")a)");
}

// "floorf" for f32, "floor" for f64
std::string real(std::string_view function, DType dtype) {
  return cat(function, dtype == DType::f32 ? "f" : "", "(a)");
}

// What a function of one number returns.
std::string unary_result(UnaryOp op, DType dtype) {
  const bool floats = ir::is_float(dtype);
  switch (op) {
    case UnaryOp::neg:
      return floats ? "-a" : negated(dtype);
    case UnaryOp::logical_not:
      return "!a";
    case UnaryOp::bit_not:
      return dtype == DType::boolean ? "!a" : cat("(", scalar_name(dtype), ")~a");
    case UnaryOp::abs:
      if (floats) return real("fabs", dtype);
      return ir::is_signed_int(dtype) ? cat("a < 0 ? ", negated(dtype), " : a") : "a";
    case UnaryOp::floor:
      return floats ? real("floor", dtype) : "a";
    case UnaryOp::ceil:
      return floats ? real("ceil", dtype) : "a";
    case UnaryOp::round:
      return floats ? real("rint", dtype) : "a";
    case UnaryOp::trunc:
      return floats ? real("trunc", dtype) : "a";
    case UnaryOp::sqrt:
      return real("sqrt", dtype);
    case UnaryOp::is_nan:
      return "a != a";
    case UnaryOp::is_inf:
      return "a == INFINITY || a == -INFINITY";
    default:
      GS_CHECK(false, ir::name_of(op), " should have been lowered to arithmetic");
  }
}

// Division by zero gives 0, and the smallest number by -1 itself.
std::string quotient(BinaryOp op, DType dtype) {
  const bool whole = op == BinaryOp::div || op == BinaryOp::floordiv;
  const std::string_view type = scalar_name(dtype);
  if (!ir::is_signed_int(dtype))
    return cat("b == 0 ? 0 : (", type, ")(a ", whole ? "/" : "%", " b)");
  const std::string guarded = cat("b == 0 ? 0 : b == -1 ? ", whole ? negated(dtype) : "0", " : ");
  const std::string down = "(a % b != 0 && (a % b < 0) != (b < 0))";
  switch (op) {
    case BinaryOp::div:
      return cat(guarded, "(", type, ")(a / b)");
    case BinaryOp::rem:
      return cat(guarded, "(", type, ")(a % b)");
    case BinaryOp::floordiv:
      return cat(guarded, "(", type, ")(a / b - ", down, ")");
    default:
      return cat(guarded, "(", type, ")(a % b + (", down, " ? b : 0))");
  }
}

// Right shifts of negative numbers are the compiler's business in C, so they are none here.
std::string shifted(BinaryOp op, DType dtype) {
  const std::string_view type = scalar_name(dtype), word = wrapping(dtype);
  const int last = 8 * ir::byte_size(dtype) - 1;
  const std::string beyond = cat("(", word, ")b > ", last, "u");
  if (op == BinaryOp::shl) return cat(beyond, " ? 0 : (", type, ")((", word, ")a << b)");
  if (!ir::is_signed_int(dtype)) return cat(beyond, " ? 0 : (", type, ")(a >> b)");
  const std::string amount = cat("(", beyond, " ? ", last, " : b)");
  return cat("a < 0 ? (", type, ")~(~a >> ", amount, ") : (", type, ")(a >> ", amount, ")");
}

std::string_view sign_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::eq:
      return "==";
    case BinaryOp::ne:
      return "!=";
    case BinaryOp::lt:
      return "<";
    case BinaryOp::le:
      return "<=";
    case BinaryOp::gt:
      return ">";
    default:
      return ">=";
  }
}

std::string binary_result(BinaryOp op, DType dtype) {
  if (ir::is_comparison(op)) return cat("a ", sign_of(op), " b");
  const bool floats = ir::is_float(dtype);
  const std::string nan_first = floats ? "a != a ? a : " : "";
  const auto bits = [&](std::string_view sign) {
    return cat("(", scalar_name(dtype), ")(a ", sign, " b)");
  };
  switch (op) {
    case BinaryOp::add:
      return floats ? "a + b" : wrapped(dtype, "+");
    case BinaryOp::sub:
      return floats ? "a - b" : wrapped(dtype, "-");
    case BinaryOp::mul:
      return floats ? "a * b" : wrapped(dtype, "*");
    case BinaryOp::div:
      return floats ? "a / b" : quotient(op, dtype);
    case BinaryOp::rem:
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
      GS_CHECK(!floats, ir::name_of(op), " of floats should have been lowered to arithmetic");
      return quotient(op, dtype);
    case BinaryOp::min:
      return cat(nan_first, "a < b ? a : b");
    case BinaryOp::max:
      return cat(nan_first, "a > b ? a : b");
    case BinaryOp::logical_and:
    case BinaryOp::bit_and:
      return bits("&");
    case BinaryOp::logical_or:
    case BinaryOp::bit_or:
      return bits("|");
    case BinaryOp::logical_xor:
    case BinaryOp::bit_xor:
      return bits("^");
    case BinaryOp::shl:
    case BinaryOp::shr:
      return shifted(op, dtype);
    default:
      GS_CHECK(false, ir::name_of(op), " should have been lowered to arithmetic");
  }
}

struct Limits {
  std::string_view least, most;  // as C names them
  std::string_view beyond;       // the first number above, which every float type has
};

Limits limits_of(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return {"INT8_MIN", "INT8_MAX", "0x1p7"};
    case DType::u8:
      return {"0", "UINT8_MAX", "0x1p8"};
    case DType::i16:
      return {"INT16_MIN", "INT16_MAX", "0x1p15"};
    case DType::u16:
      return {"0", "UINT16_MAX", "0x1p16"};
    case DType::i32:
      return {"INT32_MIN", "INT32_MAX", "0x1p31"};
    case DType::u32:
      return {"0", "UINT32_MAX", "0x1p32"};
    case DType::u64:
      return {"0", "UINT64_MAX", "0x1p64"};
    default:
      return {"INT64_MIN", "INT64_MAX", "0x1p63"};
  }
}

std::string cast_result(DType from, DType to) {
  const std::string plain = cat("(", scalar_name(to), ")a");
  if (to == DType::boolean) return "a != 0";
  if (!ir::is_float(from) || ir::is_float(to)) return plain;
  const Limits limits = limits_of(to);
  const bool is_signed = ir::is_signed_int(to);
  const std::string suffix = from == DType::f32 ? "f" : "";
  const std::string low = is_signed ? cat("-", limits.beyond, suffix) : cat("0.0", suffix);
  const std::string inside = cat("a >= ", limits.beyond, suffix, " ? ", limits.most, " : ");
  const std::string saturated = cat("a != a ? 0 : a <= ", low, " ? ", limits.least, " : ", inside);
  // An index has as many bits as a pointer, and numbers that it does not hold are none.
  return to == DType::index ? cat("(gs_word)(", saturated, "(int64_t)a)") : cat(saturated, plain);
}

}  // namespace

void Operations::define(const std::string& result, const std::string& name,
                        const std::string& parameters, const std::string& body) {
  text_ += cat("GS_INLINE ", result, " ", name, "(", parameters, ") {\n  ", body, "\n}\n");
}

std::string Operations::type(Type type) {
  if (type.is_scalar()) return std::string(scalar_name(type.dtype));
  const std::string name = "gs_" + tag(type);
  if (fresh(name))
    text_ +=
        cat("typedef struct { ", scalar_name(type.dtype), " v[", type.lanes, "]; } ", name, ";\n");
  return name;
}

// NAME of vectors, which calls `scalar` for every lane.
std::string Operations::by_lane(const std::string& scalar, const std::string& base, Type result,
                                std::initializer_list<Type> operands) {
  const std::string name = cat(base, "x", result.lanes);
  if (!fresh(name)) return name;
  const std::string made = type(result);
  std::string parameters, lanes;
  for (int lane = 0; lane < result.lanes; ++lane) {
    std::string arguments;
    for (size_t at = 0; at < operands.size(); ++at)
      arguments +=
          cat(at > 0 ? ", " : "", std::string(1, static_cast<char>('a' + at)), ".v[", lane, "]");
    lanes += cat(lane > 0 ? ", " : "", scalar, "(", arguments, ")");
  }
  char letter = 'a';
  for (const Type& operand : operands)
    parameters += cat(letter > 'a' ? ", " : "", type(operand), " ", std::string(1, letter)),
        ++letter;
  define(made, name, parameters, cat("return (", made, "){{", lanes, "}};"));
  return name;
}

std::string Operations::unary(UnaryOp op, Type type) {
  const Type result = ir::gives_boolean(op) ? type.with_dtype(DType::boolean) : type;
  const std::string name = cat("gs_", ir::name_of(op), "_", ir::name_of(type.dtype));
  if (!type.is_scalar()) return by_lane(unary(op, {type.dtype, 1}), name, result, {type});
  if (fresh(name))
    define(this->type(result), name, cat(this->type(type), " a"),
           cat("return ", unary_result(op, type.dtype), ";"));
  return name;
}

std::string Operations::binary(BinaryOp op, Type type) {
  const Type result = ir::is_comparison(op) ? type.with_dtype(DType::boolean) : type;
  const std::string name = cat("gs_", ir::name_of(op), "_", ir::name_of(type.dtype));
  if (!type.is_scalar()) return by_lane(binary(op, {type.dtype, 1}), name, result, {type, type});
  if (fresh(name)) {
    const std::string number = this->type(type);
    define(this->type(result), name, cat(number, " a, ", number, " b"),
           cat("return ", binary_result(op, type.dtype), ";"));
  }
  return name;
}

std::string Operations::fma(Type type) {
  const std::string name = cat("gs_fma_", ir::name_of(type.dtype));
  if (!type.is_scalar()) return by_lane(fma({type.dtype, 1}), name, type, {type, type, type});
  if (!fresh(name)) return name;
  const std::string number = this->type(type);
  std::string sum = "a * b + c";
  if (!ir::is_float(type.dtype)) {
    const std::string_view word = wrapping(type.dtype);
    sum = cat("(", number, ")((", word, ")a * (", word, ")b + (", word, ")c)");
  }
  define(number, name, cat(number, " a, ", number, " b, ", number, " c"), cat("return ", sum, ";"));
  return name;
}

std::string Operations::select(Type type) {
  const std::string name = cat("gs_select_", ir::name_of(type.dtype));
  if (!type.is_scalar())
    return by_lane(select({type.dtype, 1}), name, type,
                   {type.with_dtype(DType::boolean), type, type});
  if (fresh(name)) {
    const std::string number = this->type(type);
    define(number, name, cat("unsigned char a, ", number, " b, ", number, " c"),
           "return a ? b : c;");
  }
  return name;
}

std::string Operations::cast(Type from, Type to) {
  const std::string name = cat("gs_", ir::name_of(to.dtype), "_of_", ir::name_of(from.dtype));
  if (!to.is_scalar()) return by_lane(cast({from.dtype, 1}, {to.dtype, 1}), name, to, {from});
  if (fresh(name))
    define(type(to), name, cat(type(from), " a"),
           cat("return ", cast_result(from.dtype, to.dtype), ";"));
  return name;
}

std::string Operations::bitcast(Type from, Type to) {
  const std::string name = cat("gs_", ir::name_of(to.dtype), "_bits_of_", ir::name_of(from.dtype));
  if (!to.is_scalar()) return by_lane(bitcast({from.dtype, 1}, {to.dtype, 1}), name, to, {from});
  if (!fresh(name)) return name;
  const std::string made = type(to);
  define(made, name, cat(type(from), " a"),
         to.dtype == DType::boolean
             ? "return a != 0;"
             : cat(made, " bits;\n  memcpy(&bits, &a, sizeof bits);\n  return bits;"));
  return name;
}

namespace {

// "{{F(0), F(1), ...}}"
template <class F>
std::string lanes_of(int lanes, F&& lane) {
  std::string text;
  for (int at = 0; at < lanes; ++at) text += cat(at > 0 ? ", " : "", lane(at));
  return cat("{{", text, "}}");
}

}  // namespace

std::string Operations::splat(Type type) {
  const std::string name = "gs_splat_" + tag(type);
  if (fresh(name)) {
    const std::string made = this->type(type);
    define(made, name, cat(scalar_name(type.dtype), " a"),
           cat("return (", made, ")", lanes_of(type.lanes, [](int) { return "a"; }), ";"));
  }
  return name;
}

std::string Operations::ramp(Type type) {
  const std::string name = "gs_ramp_" + tag(type);
  if (fresh(name)) {
    const std::string made = this->type(type);
    const std::string_view number = scalar_name(type.dtype), word = wrapping(type.dtype);
    const auto lane = [&](int at) {
      return cat("(", number, ")((", word, ")a + ", at, "u * (", word, ")stride)");
    };
    define(made, name, cat(number, " a, ", number, " stride"),
           cat("return (", made, ")", lanes_of(type.lanes, lane), ";"));
  }
  return name;
}

std::string Operations::make(Type type) {
  const std::string name = "gs_make_" + tag(type);
  if (!fresh(name)) return name;
  const std::string made = this->type(type);
  std::string parameters;
  for (int lane = 0; lane < type.lanes; ++lane)
    parameters += cat(lane > 0 ? ", " : "", scalar_name(type.dtype), " a", lane);
  define(
      made, name, parameters,
      cat("return (", made, ")", lanes_of(type.lanes, [](int at) { return cat("a", at); }), ";"));
  return name;
}

namespace {

std::string read(DType storage, const std::string& place) {
  return storage == DType::boolean ? cat("p[", place, "] != 0") : cat("p[", place, "]");
}

}  // namespace

std::string Operations::load(DType storage, int lanes) {
  const Type vector(storage, lanes);
  const std::string name = "gs_load_" + tag(vector);
  if (fresh(name)) {
    const std::string made = type(vector);
    define(made, name, cat("const ", memory_name(storage), "* p"),
           cat("return (", made, ")",
               lanes_of(lanes, [&](int at) { return read(storage, cat(at)); }), ";"));
  }
  return name;
}

std::string Operations::gather(DType storage, int lanes) {
  const Type vector(storage, lanes);
  const std::string name = "gs_gather_" + tag(vector);
  if (fresh(name)) {
    const std::string made = type(vector), indices = type({DType::index, lanes});
    define(made, name, cat("const ", memory_name(storage), "* p, ", indices, " at"),
           cat("return (", made, ")",
               lanes_of(lanes, [&](int at) { return read(storage, cat("at.v[", at, "]")); }), ";"));
  }
  return name;
}

std::string Operations::store(DType storage, int lanes) {
  const Type vector(storage, lanes);
  const std::string name = "gs_store_" + tag(vector);
  if (fresh(name)) {
    std::string body;
    for (int at = 0; at < lanes; ++at)
      body += cat(at > 0 ? "\n  " : "", "p[", at, "] = (", memory_name(storage), ")a.v[", at, "];");
    const std::string value = type(vector);
    define("void", name, cat(memory_name(storage), "* p, ", value, " a"), body);
  }
  return name;
}

std::string Operations::scatter(DType storage, int lanes) {
  const Type vector(storage, lanes);
  const std::string name = "gs_scatter_" + tag(vector);
  if (fresh(name)) {
    std::string body;
    for (int at = 0; at < lanes; ++at)
      body += cat(at > 0 ? "\n  " : "", "p[at.v[", at, "]] = (", memory_name(storage), ")a.v[", at,
                  "];");
    const std::string value = type(vector), indices = type({DType::index, lanes});
    define("void", name, cat(memory_name(storage), "* p, ", indices, " at, ", value, " a"), body);
  }
  return name;
}

}  // namespace gossamer::codegen::c
