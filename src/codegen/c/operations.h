// The functions of C that kernels call: arithmetic as src/ir/nodes.def defines it, on numbers and
// on vectors, which are structs of so many numbers.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "ir/nodes.h"

namespace gossamer::codegen::c {

// "float", "gs_word"; of a boolean "unsigned char".
std::string_view scalar_name(ir::DType dtype);
// What memory holds: of an index 32 bits.
std::string_view memory_name(ir::DType dtype);

// Each gives the name of a function (or type), which text() then defines.
class Operations {
 public:
  std::string type(ir::Type type);

  std::string unary(ir::UnaryOp op, ir::Type type);    // (a)
  std::string binary(ir::BinaryOp op, ir::Type type);  // (a, b)
  std::string fma(ir::Type type);                      // (a, b, c)
  std::string select(ir::Type type);                   // (condition by lane, a, b): vectors only
  std::string cast(ir::Type from, ir::Type to);        // (a)
  std::string bitcast(ir::Type from, ir::Type to);     // (a)
  std::string splat(ir::Type type);                    // (number)
  std::string ramp(ir::Type type);                     // (base, stride)
  std::string make(ir::Type type);                     // (number, number, ...)
  // Vectors, at consecutive places and at those that a vector tells.
  std::string load(ir::DType storage, int lanes);     // (pointer)
  std::string gather(ir::DType storage, int lanes);   // (pointer, indices)
  std::string store(ir::DType storage, int lanes);    // (pointer, value)
  std::string scatter(ir::DType storage, int lanes);  // (pointer, indices, value)

  const std::string& text() const { return text_; }

 private:
  bool fresh(const std::string& name) { return defined_.insert(name).second; }
  void define(const std::string& result, const std::string& name, const std::string& parameters,
              const std::string& body);
  std::string by_lane(const std::string& scalar, const std::string& base, ir::Type result,
                      std::initializer_list<ir::Type> operands);

  std::set<std::string> defined_;
  std::string text_;
};

}  // namespace gossamer::codegen::c
