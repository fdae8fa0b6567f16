#include "codegen/glsl/dialect.h"

namespace gossamer::codegen::glsl {
namespace {

using namespace text;
using ir::BinaryOp;
using ir::UnaryOp;

constexpr UnaryRow unary[] = {
    {UnaryOp::neg, F | I, both, "(-$0)"},         {UnaryOp::logical_not, B, scalar, "(!$0)"},
    {UnaryOp::logical_not, B, vector, "not($0)"}, {UnaryOp::bit_not, I | U, both, "(~$0)"},
    {UnaryOp::abs, F | I, both, "abs($0)"},       {UnaryOp::floor, F, both, "floor($0)"},
    {UnaryOp::ceil, F, both, "ceil($0)"},         {UnaryOp::round, F, both, "roundEven($0)"},
    {UnaryOp::trunc, F, both, "trunc($0)"},       {UnaryOp::sqrt, F, both, "sqrt($0)"},
    {UnaryOp::exp, F, both, "exp($0)"},           {UnaryOp::log, F, both, "log($0)"},
};

constexpr BinaryRow binary[] = {
    {BinaryOp::add, F | I | U, both, "($0 + $1)"},
    {BinaryOp::sub, F | I | U, both, "($0 - $1)"},
    {BinaryOp::mul, F | I | U, both, "($0 * $1)"},
    {BinaryOp::div, F | I | U, both, "($0 / $1)"},
    {BinaryOp::rem, I | U, both, "($0 % $1)"},
    {BinaryOp::min, I | U, both, "min($0, $1)"},
    {BinaryOp::max, I | U, both, "max($0, $1)"},
    {BinaryOp::eq, F | I | U | B, scalar, "($0 == $1)"},
    {BinaryOp::ne, F | I | U | B, scalar, "($0 != $1)"},
    {BinaryOp::lt, F | I | U, scalar, "($0 < $1)"},
    {BinaryOp::le, F | I | U, scalar, "($0 <= $1)"},
    {BinaryOp::gt, F | I | U, scalar, "($0 > $1)"},
    {BinaryOp::ge, F | I | U, scalar, "($0 >= $1)"},
    {BinaryOp::eq, F | I | U | B, vector, "equal($0, $1)"},
    {BinaryOp::ne, F | I | U | B, vector, "notEqual($0, $1)"},
    {BinaryOp::lt, F | I | U, vector, "lessThan($0, $1)"},
    {BinaryOp::le, F | I | U, vector, "lessThanEqual($0, $1)"},
    {BinaryOp::gt, F | I | U, vector, "greaterThan($0, $1)"},
    {BinaryOp::ge, F | I | U, vector, "greaterThanEqual($0, $1)"},
    {BinaryOp::logical_and, B, scalar, "($0 && $1)"},
    {BinaryOp::logical_or, B, scalar, "($0 || $1)"},
    {BinaryOp::logical_xor, B, scalar, "($0 != $1)"},
    {BinaryOp::logical_and, B, vector, "both_of($0, $1)"},
    {BinaryOp::logical_or, B, vector, "one_of($0, $1)"},
    {BinaryOp::logical_xor, B, vector, "notEqual($0, $1)"},
    {BinaryOp::bit_and, I | U, both, "($0 & $1)"},
    {BinaryOp::bit_or, I | U, both, "($0 | $1)"},
    {BinaryOp::bit_xor, I | U, both, "($0 ^ $1)"},
    {BinaryOp::shl, I | U, both, "($0 << $1)"},
    {BinaryOp::shr, I | U, both, "($0 >> $1)"},
};

constexpr BitcastRow bitcasts[] = {
    {F, I, "floatBitsToInt($0)"},  {F, U, "floatBitsToUint($0)"}, {I, F, "intBitsToFloat($0)"},
    {U, F, "uintBitsToFloat($0)"}, {I | U, I | U, "$t($0)"},
};

// GLSL's comparisons of vectors are functions, and its choice between them takes no integers; these
// are missing.
struct Support {
  std::string_view call, code;
};
constexpr Support support[] = {
    {"both_of(",
     "bvec4 both_of(bvec4 a, bvec4 b) { return bvec4(a.x && b.x, a.y && b.y, a.z && b.z, a.w && "
     "b.w); }\n"},
    {"one_of(",
     "bvec4 one_of(bvec4 a, bvec4 b) { return bvec4(a.x || b.x, a.y || b.y, a.z || b.z, a.w || "
     "b.w); }\n"},
    {"choose_float(", "float choose_float(bool c, float a, float b) { return mix(b, a, c); }\n"},
    {"choose_int(", "int choose_int(bool c, int a, int b) { return c ? a : b; }\n"},
    {"choose_uint(", "uint choose_uint(bool c, uint a, uint b) { return c ? a : b; }\n"},
    {"choose_bool(", "bool choose_bool(bool c, bool a, bool b) { return c ? a : b; }\n"},
    // Not mix(b, a, c): NVIDIA's OpenGL driver (580) takes b for lanes of c that it knows to be
    // true.
    {"choose_vec4(",
     "vec4 choose_vec4(bvec4 c, vec4 a, vec4 b) {\n"
     "  return vec4(c.x ? a.x : b.x, c.y ? a.y : b.y, c.z ? a.z : b.z, c.w ? a.w : b.w);\n}\n"},
    {"choose_ivec4(",
     "ivec4 choose_ivec4(bvec4 c, ivec4 a, ivec4 b) {\n"
     "  return ivec4(c.x ? a.x : b.x, c.y ? a.y : b.y, c.z ? a.z : b.z, c.w ? a.w : b.w);\n}\n"},
    {"choose_uvec4(",
     "uvec4 choose_uvec4(bvec4 c, uvec4 a, uvec4 b) {\n"
     "  return uvec4(c.x ? a.x : b.x, c.y ? a.y : b.y, c.z ? a.z : b.z, c.w ? a.w : b.w);\n}\n"},
    {"choose_bvec4(",
     "bvec4 choose_bvec4(bvec4 c, bvec4 a, bvec4 b) {\n"
     "  return bvec4(c.x ? a.x : b.x, c.y ? a.y : b.y, c.z ? a.z : b.z, c.w ? a.w : b.w);\n}\n"},
    {"inf_bits", "uint inf_bits = 0x7f800000u;\n"},
};

constexpr Dialect fragments = {
    .types = {{{"float", "vec2", "vec3", "vec4"},
               {"int", "ivec2", "ivec3", "ivec4"},
               {"uint", "uvec2", "uvec3", "uvec4"},
               {"bool", "bvec2", "bvec3", "bvec4"}}},
    .unary = unary,
    .binary = binary,
    .bitcasts = bitcasts,
    .fma = "($0 * $1 + $2)",
    // Compilers make branches of a ternary operator, and take minutes for a hundred of them.
    .select_scalar = "choose_$t($0, $1, $2)",
    .select_vector = "choose_$t($0, $1, $2)",
    .select_whole = {},
    // Not a constant, as some compilers reject an infinite one.
    .infinity = "uintBitsToFloat(inf_bits)",
    .nan = "uintBitsToFloat(inf_bits | 0x400000u)",
    .negative_zero = "uintBitsToFloat(inf_bits << 8)",
    .let = "$t $n = $e;",
    .variable = "$t $n;",
    .array = "$t $n[$c];",
    .loop = "for (int $n = 0; $n < $e; $n++)",
    .function = "$t $n($p)",
    .parameter = "$t $n",
    .barrier = {},
    .fetch = "texelFetch($n, ivec2($0, $1), 0)",
    .fetch_layer = "texelFetch($n, ivec3($0, $1, $2), 0)",
    .write_layer = "o$0 = $e;",
};

constexpr Dialect with_barrier(Dialect all) {
  all.barrier = "memoryBarrierShared(); barrier();";
  return all;
}

}  // namespace

const Dialect dialect = fragments;
const Dialect compute_dialect = with_barrier(fragments);

std::string support_functions(std::string_view code) {
  std::string functions;
  for (const Support& part : support) {
    if (code.contains(part.call)) functions += part.code;
  }
  return functions;
}

}  // namespace gossamer::codegen::glsl
