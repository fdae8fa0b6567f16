// The public element types and the compiler's.
#pragma once

#include <optional>

#include "gossamer/gossamer.h"
#include "gossamer/gossamer.hpp"
#include "ir/type.h"

namespace gossamer::runtime {

// One list makes the three enumerations; a number means the same in each.
#define GOSSAMER_TYPE(NAME, name, text, kind, bits, onnx)                                   \
  static_assert(                                                                            \
      static_cast<unsigned>(GOSSAMER_##NAME) == static_cast<unsigned>(ElementType::name) && \
      static_cast<unsigned>(ir::DType::name) == static_cast<unsigned>(ElementType::name));
GOSSAMER_ELEMENT_TYPES(GOSSAMER_TYPE)
#undef GOSSAMER_TYPE

// None where a caller made a number up.
constexpr std::optional<ir::DType> dtype_of(ElementType type) {
  if (type > ElementType::string) return std::nullopt;
  return static_cast<ir::DType>(type);
}
constexpr std::optional<ir::DType> dtype_of(gossamer_type type) {
  if (type > GOSSAMER_STRING) return std::nullopt;
  return static_cast<ir::DType>(type);
}

// Of the type of a port, which is never `index`.
constexpr ElementType public_type(ir::DType dtype) { return static_cast<ElementType>(dtype); }
constexpr gossamer_type c_type(ir::DType dtype) { return static_cast<gossamer_type>(dtype); }

}  // namespace gossamer::runtime
