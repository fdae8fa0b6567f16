// Conversions between element types.
#include <cmath>
#include <limits>

#include "ops/conversion.h"
#include "ops/families.h"
#include "ops/text/text_of_numbers.h"

namespace gossamer::ops {
namespace {

Result<> cast_to(Builder& b, DType to) {
  const Tensor& x = b.input(0);
  if (x.dtype() == to) {
    b.output(0, x);
    return {};
  }
  GS_ASSIGN(const Conversion conversion, conversion_of(b));
  if (to == DType::string) {
    b.output(0, text_of_numbers(b, x));
    return {};
  }
  Tensor numbers = x;
  if (x.dtype() == DType::string) {
    const DType wide = ir::is_float(to) ? DType::f64 : DType::i32;
    numbers = numbers_of_text(b, x, ir::is_small(to) ? wide : to);
  }
  if (numbers.dtype() == to) {
    b.output(0, numbers);
    return {};
  }
  b.output(0, b.compute("cast", to, x.shape(),
                        [&](Point point) { return converted(numbers.at(point), to, conversion); }));
  return {};
}

Result<> cast_define(Builder& b) {
  auto to = dtype_of_onnx(b.integer("to"));
  if (!to) {
    return b.error(cat("conversion to type code ", b.integer("to"), " is not supported"));
  }
  return cast_to(b, *to);
}

Result<> bit_cast(Builder& b) {
  const Tensor& x = b.input(0);
  auto to = dtype_of_onnx(b.integer("to"));
  if (!to || ir::bit_width(*to) != ir::bit_width(x.dtype())) {
    return b.error(cat("`to` is type code ", b.integer("to")),
                   "it must be a type of the same size");
  }
  // A boolean is a byte of 0 or 1, whatever a target computes with.
  b.output(0, b.compute("bit_cast", *to, x.shape(), [&](Point point) {
    Expr value = x.at(point);
    if (x.dtype() == DType::boolean) value = ir::cast(DType::u8, value);
    if (*to == DType::boolean) return ir::cast(*to, ir::bitcast(DType::u8, value));
    return ir::bitcast(*to, value);
  }));
  return {};
}

constexpr DType small_types[] = {DType::f8e4m3fn,   DType::f8e4m3fnuz, DType::f8e5m2,
                                 DType::f8e5m2fnuz, DType::f8e8m0,     DType::f4e2m1,
                                 DType::f6e2m3,     DType::f6e3m2,     DType::i4,
                                 DType::u4,         DType::i2,         DType::u2};
// ONNX's codes, in this order.
constexpr int64_t small_codes[] = {17, 18, 19, 20, 24, 23, 27, 28, 22, 21, 26, 25};

// Every code of a type, wrapped to its own bits.
TensorData all_codes(DType dtype) {
  TensorData data{dtype, {256}, {}, {}};
  for (int code = 0; code < 256; ++code) data.bytes.push_back(static_cast<std::byte>(code));
  return data;
}

// Numbers of all sizes a small float has, halfway points, and what it cannot hold.
TensorData telling_floats() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {0.0f,     -0.0f,     infinity, -infinity, std::nanf(""), 464.0f,
                               464.001f, 248.0f,    61440.0f, 61439.9f,  -61440.0f,     1e30f,
                               -1e30f,   0x1p-127f, 0x1p-17f, 0x1p-18f,  1e-40f};
  for (int exponent = -20; exponent <= 17; ++exponent) {
    for (int sixteenth = 16; sixteenth < 32; ++sixteenth) {
      const float value = std::ldexp(static_cast<float>(sixteenth), exponent - 4);
      values.push_back(sixteenth % 3 ? value : -value);
      values.push_back(std::nextafter(value, infinity));
    }
  }
  return floats({static_cast<int64_t>(values.size())}, values);
}

// Conversions from and to every small type, and those that do not saturate or round up.
Cases small_cases() {
  Cases cases;
  for (size_t i = 0; i < std::size(small_types); ++i) {
    const std::string name(ir::name_of(small_types[i]));
    for (int64_t to : {1, 10, 6, 9}) {
      cases.push_back({.name = cat("from ", name, " to ", ir::name_of(*dtype_of_onnx(to))),
                       .attributes = {{"to", to}},
                       .inputs = {all_codes(small_types[i])}});
    }
    const int64_t to = small_codes[i];
    cases.push_back(
        {.name = "to " + name, .attributes = {{"to", to}}, .inputs = {telling_floats()}});
    for (DType from : {DType::f16, DType::bf16, DType::f64, DType::i32, DType::u8}) {
      cases.push_back({.name = cat("from ", ir::name_of(from), " to ", name),
                       .shapes = {{37}},
                       .attributes = {{"to", to}},
                       .dtype = from,
                       .low = ir::is_unsigned_int(from) ? 0.0 : -500,
                       .high = ir::is_unsigned_int(from) ? 255.0 : 500});
    }
    if (small_types[i] < DType::f8e8m0) {
      cases.push_back({.name = cat("to ", name, " without saturation"),
                       .attributes = {{"to", to}, {"saturate", 0}},
                       .inputs = {telling_floats()}});
    }
  }
  for (int64_t saturate : {0, 1}) {
    for (const char* mode : {"up", "down", "nearest"}) {
      cases.push_back({.name = cat("to f8e8m0 ", mode, saturate ? ", saturating" : ""),
                       .attributes = {{"to", 24}, {"saturate", saturate}, {"round_mode", mode}},
                       .inputs = {telling_floats()}});
    }
  }
  cases.push_back(
      {.name = "from i4 to f8e5m2", .attributes = {{"to", 19}}, .inputs = {all_codes(DType::i4)}});
  cases.push_back({.name = "from f8e5m2 to f8e4m3fn",
                   .attributes = {{"to", 17}},
                   .inputs = {all_codes(DType::f8e5m2)}});
  cases.push_back({.name = "from f8e4m3fn to u2",
                   .attributes = {{"to", 25}},
                   .inputs = {all_codes(DType::f8e4m3fn)}});
  return cases;
}

// Numbers that print in every way there is, and texts of every form.
Cases text_cases() {
  const TensorData numbers = floats(
      {13}, {0.0f, -0.0f, 1.0f, -0.1f, 1e-4f, 1.5e-5f, 16777216.0f, 1e16f, -3.4028235e38f,
             9.999999e15f, 0.33333334f, std::numeric_limits<float>::infinity(), std::nanf("")});
  const TensorData texts =
      strings({9}, {"1e-5", "+2.5E3", " -.5 ", "nan", "-INF", "16777217", "0", "1e400", "7."});
  Cases cases = {
      {.name = "text of floats", .attributes = {{"to", 8}}, .inputs = {numbers}},
      {.name = "text of booleans",
       .shapes = {{2, 3}},
       .attributes = {{"to", 8}},
       .dtype = DType::boolean},
      {.name = "text to f32", .attributes = {{"to", 1}}, .inputs = {texts}},
      {.name = "text to f64", .attributes = {{"to", 11}}, .inputs = {texts}},
      {.name = "text to boolean",
       .attributes = {{"to", 9}},
       .inputs = {strings({4}, {"True", "false", "0", "-2"})}},
      {.name = "text to i4", .attributes = {{"to", 22}}, .inputs = {strings({2}, {"-8", "7"})}}};
  for (DType type :
       {DType::f16, DType::bf16, DType::f64, DType::f8e4m3fn, DType::i8, DType::i64, DType::u32}) {
    cases.push_back({.name = cat("text of ", ir::name_of(type)),
                     .shapes = {{17}},
                     .attributes = {{"to", 8}},
                     .dtype = type,
                     .low = ir::is_unsigned_int(type) ? 0.0 : -120,
                     .high = 120});
  }
  for (int64_t to : {6, 7, 2}) {
    cases.push_back({.name = cat("text to ", ir::name_of(*dtype_of_onnx(to))),
                     .attributes = {{"to", to}},
                     .inputs = {strings({4}, {"0", "17", "+99", "250.9"})}});
  }
  return cases;
}

Cases joined(Cases cases, const Cases& more) {
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

}  // namespace

std::vector<OpDef> cast_family() {
  return {
      {.name = "Cast",
       .doc = "Converts to the type with ONNX's code `to`, strings too.",
       .since = 28,
       .inputs = {{"input", any_element}},
       .outputs = {"output"},
       .attributes = {{"to", {}, true}, {"saturate", 1}, {"round_mode", "up"}},
       .define = cast_define,
       .cases =
           [] {
             return joined({{.name = "to integer",
                             .shapes = {{3, 5}},
                             .attributes = {{"to", 6}},
                             .low = -9,
                             .high = 9},
                            {.name = "to float",
                             .shapes = {{7}},
                             .attributes = {{"to", 1}},
                             .dtype = DType::i64,
                             .low = -9,
                             .high = 9},
                            {.name = "to half", .shapes = {{5, 3}}, .attributes = {{"to", 10}}},
                            {.name = "to boolean",
                             .attributes = {{"to", 9}},
                             .inputs = {floats({4}, {0, 1, -0.5f, 2})}},
                            {.name = "from boolean",
                             .shapes = {{6}},
                             .attributes = {{"to", 1}},
                             .dtype = DType::boolean,
                             .low = 0,
                             .high = 1}},
                           joined(text_cases(), small_cases()));
           }},
      {.name = "BitCast",
       .doc = "The same bits as another type of the same size.",
       .since = 26,
       .inputs = {{"input", any_type}},
       .outputs = {"output"},
       .attributes = {{"to", {}, true}},
       .define = bit_cast,
       .cases = [] -> Cases {
         return {{.name = "float to integer", .shapes = {{3, 5}}, .attributes = {{"to", 6}}},
                 {.name = "signed to unsigned",
                  .shapes = {{7}},
                  .attributes = {{"to", 2}},
                  .dtype = DType::i8,
                  .low = -128,
                  .high = 127},
                 {.name = "boolean to byte",
                  .shapes = {{37}},
                  .attributes = {{"to", 2}},
                  .dtype = DType::boolean},
                 {.name = "small float to bits",
                  .attributes = {{"to", 2}},
                  .inputs = {all_codes(DType::f8e4m3fnuz)}},
                 {.name = "of four bits",
                  .attributes = {{"to", 22}},
                  .inputs = {all_codes(DType::u4)}}};
       }},
      {.name = "CastLike",
       .doc = "Converts to the type of the second input, strings too.",
       .since = 25,
       .inputs = {{"input", any_element}, {"target_type", any_element}},
       .outputs = {"output"},
       .attributes = {{"saturate", 1}, {"round_mode", "up"}},
       .define = [](Builder& b) { return cast_to(b, b.input(1).dtype()); },
       .cases = [] -> Cases {
         return {
             {.name = "to integer", .inputs = {floats({3}, {1.5f, -2.5f, 7}), int32s({1}, {0})}},
             {.name = "same", .shapes = {{3}, {1}}},
             {.name = "to text", .inputs = {int32s({3}, {4, -5, 60}), strings({1}, {"a"})}}};
       }},
  };
}

}  // namespace gossamer::ops
