#include "codegen/opencl/dialect.h"

namespace gossamer::codegen::opencl {
namespace {

using namespace text;
using ir::BinaryOp;
using ir::UnaryOp;

// A boolean is an int: 0 or not, as a lane of a vector 0 or -1, which is what comparisons give.
constexpr UnaryRow unary[] = {
    {UnaryOp::neg, F | I, both, "(-$0)"},      {UnaryOp::logical_not, B, both, "(!$0)"},
    {UnaryOp::bit_not, I | U, both, "(~$0)"},  {UnaryOp::abs, F, both, "fabs($0)"},
    {UnaryOp::abs, I, both, "as_$t(abs($0))"}, {UnaryOp::floor, F, both, "floor($0)"},
    {UnaryOp::ceil, F, both, "ceil($0)"},      {UnaryOp::round, F, both, "rint($0)"},
    {UnaryOp::trunc, F, both, "trunc($0)"},    {UnaryOp::sqrt, F, both, "sqrt($0)"},
    {UnaryOp::exp, F, both, "exp($0)"},        {UnaryOp::log, F, both, "log($0)"},
};

constexpr BinaryRow binary[] = {
    {BinaryOp::add, F | I | U, both, "($0 + $1)"},
    {BinaryOp::sub, F | I | U, both, "($0 - $1)"},
    {BinaryOp::mul, F | I | U, both, "($0 * $1)"},
    {BinaryOp::div, F | I | U, both, "($0 / $1)"},
    {BinaryOp::rem, I | U, both, "($0 % $1)"},
    {BinaryOp::min, I | U, both, "min($0, $1)"},
    {BinaryOp::max, I | U, both, "max($0, $1)"},
    {BinaryOp::eq, B, scalar, "(!$0 == !$1)"},
    {BinaryOp::ne, B, scalar, "(!$0 != !$1)"},
    {BinaryOp::eq, F | I | U | B, both, "($0 == $1)"},
    {BinaryOp::ne, F | I | U | B, both, "($0 != $1)"},
    {BinaryOp::lt, F | I | U, both, "($0 < $1)"},
    {BinaryOp::le, F | I | U, both, "($0 <= $1)"},
    {BinaryOp::gt, F | I | U, both, "($0 > $1)"},
    {BinaryOp::ge, F | I | U, both, "($0 >= $1)"},
    // && and || would make branches.
    {BinaryOp::logical_and, B, scalar, "(!!$0 & !!$1)"},
    {BinaryOp::logical_and, B, vector, "($0 & $1)"},
    {BinaryOp::logical_or, B, both, "($0 | $1)"},
    {BinaryOp::logical_xor, B, scalar, "(!$0 != !$1)"},
    {BinaryOp::logical_xor, B, vector, "($0 ^ $1)"},
    {BinaryOp::bit_and, I | U, both, "($0 & $1)"},
    {BinaryOp::bit_or, I | U, both, "($0 | $1)"},
    {BinaryOp::bit_xor, I | U, both, "($0 ^ $1)"},
    {BinaryOp::shl, I | U, both, "($0 << $1)"},
    {BinaryOp::shr, I | U, both, "($0 >> $1)"},
    {BinaryOp::pow, F, both, "pow($0, $1)"},
};

constexpr BitcastRow bitcasts[] = {{F | I | U, F | I | U, "as_$t($0)"}};

constexpr CastRow casts[] = {
    {B, F | I | U, scalar, "(($t)($0 != 0))"},
    {B, F | I | U, vector, "convert_$t(-$0)"},
    {F | I | U, B, both, "($0 != 0)"},
    {F | I | U, F | I | U, both, "convert_$t($0)"},
};

}  // namespace

const Dialect dialect = {
    .types = {{{"float", "float2", "float3", "float4"},
               {"int", "int2", "int3", "int4"},
               {"uint", "uint2", "uint3", "uint4"},
               {"int", "int2", "int3", "int4"}}},
    .unary = unary,
    .binary = binary,
    .bitcasts = bitcasts,
    .casts = casts,
    .construct = "($t)($0)",
    .construct_boolean = "(($t)($0) != 0)",
    .lane = "lane_of_$t($0, $1)",
    .lane_written = "((__private $t*)&$0)[$1]",
    .fma = "fma($0, $1, $2)",
    .select_scalar = "($0 ? $1 : $2)",
    .select_vector = "select($2, $1, $0)",
    .select_whole = "($0 ? $1 : $2)",
    .infinity = "INFINITY",
    .nan = "as_float(0x7fc00000u)",
    .negative_zero = "as_float(0x80000000u)",
    .let = "const $t $n = $e;",
    .variable = "$t $n;",
    .array = "$t $n[$c];",
    .loop = "for (int $n = 0; $n < $e; $n++)",
    .function = "static $t $n($p)",
    .parameter = "const $t $n",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
    .fetch = {},
    .fetch_layer = {},
    .write_layer = {},
};

}  // namespace gossamer::codegen::opencl
