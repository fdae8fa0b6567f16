// Conversions between element types.
#include "ops/define.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

Result<> cast_to(Builder& b, DType to) {
  const Tensor& x = b.input(0);
  if (x.dtype() == to) {
    b.output(0, x);
    return {};
  }
  b.output(
      0, b.compute("cast", to, x.shape(), [&](Point point) { return ir::cast(to, x.at(point)); }));
  return {};
}

Result<> cast_define(Builder& b) {
  auto to = dtype_of_onnx(b.integer("to"));
  if (!to || *to == DType::string) {
    return b.error(cat("conversion to type code ", b.integer("to"), " is not supported"));
  }
  return cast_to(b, *to);
}

}  // namespace

std::vector<OpDef> cast_family() {
  return {
      {.name = "Cast",
       .doc = "Converts to the type with ONNX's code `to`.",
       .since = 25,
       .inputs = {{"input", any_type}},
       .outputs = {"output"},
       .attributes = {{"to", {}, true}, {"saturate", 1}, {"round_mode", "up"}},
       .define = cast_define,
       .cases = {{.name = "to integer",
                  .shapes = {{3, 5}},
                  .attributes = {{"to", 6}},
                  .low = -9,
                  .high = 9},
                 {.name = "to float",
                  .shapes = {{7}},
                  .attributes = {{"to", 1}},
                  .dtype = DType::i64,
                  .low = -9,
                  .high = 9},
                 {.name = "to boolean",
                  .attributes = {{"to", 9}},
                  .inputs = {floats({4}, {0, 1, -0.5f, 2})}},
                 {.name = "from boolean",
                  .shapes = {{6}},
                  .attributes = {{"to", 1}},
                  .dtype = DType::boolean,
                  .low = 0,
                  .high = 1}}},
      {.name = "CastLike",
       .doc = "Converts to the type of the second input.",
       .since = 25,
       .inputs = {{"input", any_type}, {"target_type", any_type}},
       .outputs = {"output"},
       .attributes = {{"saturate", 1}, {"round_mode", "up"}},
       .define = [](Builder& b) { return cast_to(b, b.input(1).dtype()); },
       .cases = {{.name = "to integer",
                  .inputs = {floats({3}, {1.5f, -2.5f, 7}), int32s({1}, {0})}},
                 {.name = "same", .shapes = {{3}, {1}}}}},
  };
}

}  // namespace gossamer::ops
