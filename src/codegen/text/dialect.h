// A C-like shading language as tables of spellings.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "ir/nodes.h"

namespace gossamer::codegen::text {

enum class Kind : uint8_t { f32, i32, u32, boolean };  // of legal types; `index` is i32
Kind kind_of(ir::DType dtype);

// Bits of Kinds and of lanes that a row speaks of.
constexpr uint8_t F = 1, I = 2, U = 4, B = 8;
constexpr uint8_t scalar = 1, vector = 2, both = 3;

// In patterns, $0, $1, $2 are operands, in parentheses where they need them, and $t the type's
// name. An infix pattern stands in parentheses itself.
struct UnaryRow {
  ir::UnaryOp op;
  uint8_t kinds, lanes;
  std::string_view pattern;
};
struct BinaryRow {
  ir::BinaryOp op;
  uint8_t kinds, lanes;  // of the operands
  std::string_view pattern;
};
struct BitcastRow {
  uint8_t from, to;
  std::string_view pattern;
};

struct CastRow {
  uint8_t from, to, lanes;
  std::string_view pattern;
};

struct Dialect {
  std::array<std::array<std::string_view, 4>, 4> types;  // [Kind][lanes - 1]
  // The first row that matches; an operation without one is a function (functions.h).
  std::span<const UnaryRow> unary;
  std::span<const BinaryRow> binary;
  std::span<const BitcastRow> bitcasts;
  std::span<const CastRow> casts = {};  // without a row: construct
  // A value of type $t from $0, lane by lane or one for all.
  std::string_view construct = "$t($0)", construct_boolean = "$t($0)";
  // Lane $1, a number that is not constant, of the value $0; the same to write to. $t: its type.
  std::string_view lane = "$0[$1]", lane_written = "$0[$1]";
  std::string_view fma;                           // of floats
  std::string_view dot = {};                      // of four signed bytes in two i32, plus an i32
  std::string_view select_scalar, select_vector;  // $0 ? $1 : $2, lane by lane
  std::string_view select_whole;  // of vectors, by one boolean; empty: lane by lane, too
  std::string_view infinity, nan, negative_zero;  // spelled so that no constant appears
  // Statements: $n a name, $t a type's, $e an expression, $c a count.
  std::string_view let, variable, array, loop;
  std::string_view function, parameter;  // $n, $p the parameters, $t the result's type
  std::string_view barrier;
  // Textures: $n the sampler; $0, $1, $2 the coordinates; $e the value, $0 the layer.
  std::string_view fetch, fetch_layer, write_layer;
};

}  // namespace gossamer::codegen::text
