// The public element types and the compiler's.
#pragma once

#include "gossamer/gossamer.hpp"
#include "ir/type.h"

namespace gossamer::runtime {

ir::DType dtype_of(ElementType type);
ElementType public_type(ir::DType dtype);  // of anything but index

}  // namespace gossamer::runtime
