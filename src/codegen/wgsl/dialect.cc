#include "codegen/wgsl/dialect.h"

namespace gossamer::codegen::wgsl {
namespace {

using namespace text;
using ir::BinaryOp;
using ir::UnaryOp;

// sin, tanh, ... are missing on purpose: WGSL allows errors of 2^-11 in them, or overflows inside.
constexpr UnaryRow unary[] = {
    {UnaryOp::neg, F | I, both, "(-$0)"},     {UnaryOp::logical_not, B, both, "(!$0)"},
    {UnaryOp::bit_not, I | U, both, "(~$0)"}, {UnaryOp::abs, F | I, both, "abs($0)"},
    {UnaryOp::floor, F, both, "floor($0)"},   {UnaryOp::ceil, F, both, "ceil($0)"},
    {UnaryOp::round, F, both, "round($0)"},   {UnaryOp::trunc, F, both, "trunc($0)"},
    {UnaryOp::sqrt, F, both, "sqrt($0)"},     {UnaryOp::exp, F, both, "exp($0)"},
    {UnaryOp::log, F, both, "log($0)"},
};

constexpr BinaryRow binary[] = {
    {BinaryOp::add, F | I | U, both, "($0 + $1)"},
    {BinaryOp::sub, F | I | U, both, "($0 - $1)"},
    {BinaryOp::mul, F | I | U, both, "($0 * $1)"},
    {BinaryOp::div, F | I | U, both, "($0 / $1)"},
    {BinaryOp::rem, I | U, both, "($0 % $1)"},
    {BinaryOp::min, I | U, both, "min($0, $1)"},
    {BinaryOp::max, I | U, both, "max($0, $1)"},
    {BinaryOp::eq, F | I | U | B, both, "($0 == $1)"},
    // Compilers make an ordered comparison of != between floats: false for NaN.
    {BinaryOp::ne, F, both, "(!($0 == $1))"},
    {BinaryOp::ne, I | U | B, both, "($0 != $1)"},
    {BinaryOp::lt, F | I | U, both, "($0 < $1)"},
    {BinaryOp::le, F | I | U, both, "($0 <= $1)"},
    {BinaryOp::gt, F | I | U, both, "($0 > $1)"},
    {BinaryOp::ge, F | I | U, both, "($0 >= $1)"},
    // && and || would make branches.
    {BinaryOp::logical_and, B, both, "($0 & $1)"},
    {BinaryOp::logical_or, B, both, "($0 | $1)"},
    {BinaryOp::logical_xor, B, both, "($0 != $1)"},
    {BinaryOp::bit_and, I | U, both, "($0 & $1)"},
    {BinaryOp::bit_or, I | U, both, "($0 | $1)"},
    {BinaryOp::bit_xor, I | U, both, "($0 ^ $1)"},
    {BinaryOp::shl, I | U, scalar, "($0 << u32($1))"},
    {BinaryOp::shr, I | U, scalar, "($0 >> u32($1))"},
    {BinaryOp::shl, I | U, vector, "($0 << vec4u($1))"},
    {BinaryOp::shr, I | U, vector, "($0 >> vec4u($1))"},
};

constexpr BitcastRow bitcasts[] = {{F | I | U, F | I | U, "bitcast<$t>($0)"}};

}  // namespace

const Dialect dialect = {
    .types = {{{"f32", "vec2f", "vec3f", "vec4f"},
               {"i32", "vec2i", "vec3i", "vec4i"},
               {"u32", "vec2u", "vec3u", "vec4u"},
               {"bool", "vec2<bool>", "vec3<bool>", "vec4<bool>"}}},
    .unary = unary,
    .binary = binary,
    .bitcasts = bitcasts,
    .fma = "fma($0, $1, $2)",
    .dot = "(dot4I8Packed(bitcast<u32>($0), bitcast<u32>($1)) + $2)",
    .select_scalar = "select($2, $1, $0)",
    .select_vector = "select($2, $1, $0)",
    .select_whole = "select($2, $1, $0)",
    // A constant expression may not be infinite; a variable's value is not constant.
    .infinity = "bitcast<f32>(inf_bits)",
    .nan = "bitcast<f32>(inf_bits | 0x400000u)",
    .negative_zero = "bitcast<f32>(inf_bits << 8u)",
    .let = "let $n = $e;",
    .variable = "var $n: $t;",
    .array = "var $n: array<$t, $c>;",
    .loop = "for (var $n = 0; $n < $e; $n++)",
    .function = "fn $n($p) -> $t",
    .parameter = "$n: $t",
    .barrier = "workgroupBarrier();",
    .fetch = {},
    .fetch_layer = {},
    .write_layer = {},
};

}  // namespace gossamer::codegen::wgsl
