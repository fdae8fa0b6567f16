// Conversions between element types.
#include "ir/scalar.h"
#include "ops/conversion.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

Result<> cast_to(Builder& b, DType to) {
  const Tensor& x = b.input(0);
  if (x.dtype() == to) {
    b.output(0, x);
    return {};
  }
  GS_ASSIGN(const Conversion conversion, conversion_of(b));
  b.output(0, b.compute("cast", to, x.shape(),
                        [&](Point point) { return converted(x.at(point), to, conversion); }));
  return {};
}

Result<> cast_define(Builder& b) {
  auto to = dtype_of_onnx(b.integer("to"));
  if (!to || *to == DType::string) {
    return b.error(cat("conversion to type code ", b.integer("to"), " is not supported"));
  }
  return cast_to(b, *to);
}

Result<> bit_cast(Builder& b) {
  const Tensor& x = b.input(0);
  auto to = dtype_of_onnx(b.integer("to"));
  if (!to || ir::bit_width(*to) != ir::bit_width(x.dtype())) {
    return b.error(cat("`to` is type code ", b.integer("to")),
                   "it must be a type of the same size");
  }
  b.output(0, b.compute("bit_cast", *to, x.shape(),
                        [&](Point point) { return ir::bitcast(*to, x.at(point)); }));
  return {};
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
      {.name = "BitCast",
       .doc = "The same bits as another type of the same size.",
       .since = 26,
       .inputs = {{"input", any_type}},
       .outputs = {"output"},
       .attributes = {{"to", {}, true}},
       .define = bit_cast,
       .cases = {{.name = "float to integer", .shapes = {{3, 5}}, .attributes = {{"to", 6}}},
                 {.name = "signed to unsigned",
                  .shapes = {{7}},
                  .attributes = {{"to", 2}},
                  .dtype = DType::i8,
                  .low = -128,
                  .high = 127}}},
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
