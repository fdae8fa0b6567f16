#include "runtime/api/element_type.h"

#include <iterator>

#include "base/result.h"

namespace gossamer::runtime {

namespace {
constexpr ir::DType dtypes[] = {
    ir::DType::f32,        ir::DType::f16,      ir::DType::bf16,       ir::DType::f64,
    ir::DType::i8,         ir::DType::i16,      ir::DType::i32,        ir::DType::i64,
    ir::DType::u8,         ir::DType::u16,      ir::DType::u32,        ir::DType::u64,
    ir::DType::boolean,    ir::DType::f8e4m3fn, ir::DType::f8e4m3fnuz, ir::DType::f8e5m2,
    ir::DType::f8e5m2fnuz, ir::DType::f8e8m0,   ir::DType::f4e2m1,     ir::DType::f6e2m3,
    ir::DType::f6e3m2,     ir::DType::i4,       ir::DType::u4,         ir::DType::i2,
    ir::DType::u2,         ir::DType::string};
}  // namespace

ir::DType dtype_of(ElementType type) {
  GS_CHECK(static_cast<size_t>(type) < std::size(dtypes), "element type out of range");
  return dtypes[static_cast<size_t>(type)];
}

ElementType public_type(ir::DType dtype) {
  for (size_t at = 0; at < std::size(dtypes); ++at)
    if (dtypes[at] == dtype) return static_cast<ElementType>(at);
  GS_CHECK(false, "a port of type ", ir::name_of(dtype));
}

}  // namespace gossamer::runtime
