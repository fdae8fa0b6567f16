#include "lower/unpack.h"

#include "ir/build.h"

namespace gossamer::lower {

using ir::Expr;

stages::Stage unpack_stage(const ir::Buffer& packed, const ir::Buffer& unpacked, int elements) {
  stages::Stage stage;
  stage.name = stage.origin = unpacked->name;
  stage.output = unpacked;
  stage.extents = unpacked->shape;
  Expr at = ir::index(0);
  for (size_t axis = 0; axis < unpacked->shape.size(); ++axis) {
    stage.axes.push_back(ir::var(cat("i", axis)));
    at = at * unpacked->shape[axis] + stage.axes.back();
  }
  const Expr word = ir::cast(ir::DType::u32, ir::load(packed, {ir::floordiv(at, elements)}));
  const Expr place = ir::cast(ir::DType::u32, ir::floormod(at, elements) * (8.0 / elements));
  const Expr code = ir::cast(ir::DType::u8, ir::binary(ir::BinaryOp::shr, word, place));
  const ir::DType dtype = unpacked->dtype;
  const ir::DType bits = ir::bit_width(dtype) == 4 ? ir::DType::u4 : ir::DType::u2;
  stage.result = ir::bitcast(dtype, ir::cast(bits, code));
  return stage;
}

}  // namespace gossamer::lower
