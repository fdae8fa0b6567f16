// What the printer and the parser of IR text agree on.
#pragma once

#include <string>
#include <string_view>

#include "ir/nodes.h"

namespace gossamer::ir::text {

// Binding strength of infix operators, 0 for operations written as calls.
int precedence(BinaryOp op);
constexpr int unary_precedence = 11;

// Words that begin a statement or are values, so no name may be one of them.
bool is_reserved(std::string_view word);

// The shortest decimal that reads back as `value` in the type; f32 without a suffix, others with
// their type's name.
std::string number(DType dtype, double value);
std::string number(DType dtype, int64_t value);

}  // namespace gossamer::ir::text
