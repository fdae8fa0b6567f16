// Comparisons, logic and bits.
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/shape_checks.h"
#include "ops/text/string_match.h"

namespace gossamer::ops {
namespace {

using Function = Expr (*)(Expr, Expr);

OpDef two_inputs(std::string name, Doc doc, int since, TypeSet types, Function function,
                 bool gives_boolean, DType dtype, double low, double high) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = since,
          .inputs = {{"A", types}, {"B", types}},
          .outputs = {"C"},
          .define = [function, gives_boolean](Builder& b) -> Result<> {
            GS_TRY(same_types(b));
            return elementwise(b, gives_boolean ? DType::boolean : b.input(0).dtype(),
                               [&](std::span<const Expr> x) { return function(x[0], x[1]); });
          },
          .cases = [=] -> Cases {
            return {
                {.name = "same",
                 .shapes = {{3, 4, 5}, {3, 4, 5}},
                 .dtype = dtype,
                 .low = low,
                 .high = high},
                {.name = "broadcast",
                 .shapes = {{3, 1, 5}, {4, 1}},
                 .dtype = dtype,
                 .low = low,
                 .high = high},
                {.name = "scalar", .shapes = {{7}, {}}, .dtype = dtype, .low = low, .high = high}};
          }};
}

OpDef comparison(std::string name, Doc doc, int since, TypeSet types, Function function) {
  OpDef def =
      two_inputs(std::move(name), std::move(doc), since, types, function, true, DType::f32, -1, 1);
  def.cases = [others = def.cases] {
    Cases cases = others();
    cases.push_back(
        {.name = "integers", .shapes = {{3, 7}, {7}}, .dtype = DType::i32, .low = -2, .high = 2});
    return cases;
  };
  return def;
}
OpDef logic(std::string name, Doc doc, Function function) {
  return two_inputs(std::move(name), std::move(doc), 7, boolean_only, function, true,
                    DType::boolean, 0, 1);
}
OpDef bits(std::string name, Doc doc, ir::BinaryOp op) {
  Function function = op == ir::BinaryOp::bit_and
                          ? [](Expr a, Expr b) { return ir::binary(ir::BinaryOp::bit_and, a, b); }
                      : op == ir::BinaryOp::bit_or
                          ? [](Expr a, Expr b) { return ir::binary(ir::BinaryOp::bit_or, a, b); }
                          : [](Expr a, Expr b) { return ir::binary(ir::BinaryOp::bit_xor, a, b); };
  return two_inputs(std::move(name), std::move(doc), 18, any_int, function, false, DType::i32, -100,
                    100);
}

Result<> bit_shift(Builder& b) {
  GS_TRY(same_types(b));
  std::string direction = b.text("direction");
  if (direction != "LEFT" && direction != "RIGHT") {
    return b.error(cat("`direction` is \"", direction, "\", not LEFT or RIGHT"));
  }
  auto op = direction == "LEFT" ? ir::BinaryOp::shl : ir::BinaryOp::shr;
  DType dtype = b.input(0).dtype();
  if (ir::is_unsigned_int(dtype)) {
    return elementwise(b, dtype,
                       [&](std::span<const Expr> x) { return ir::binary(op, x[0], x[1]); });
  }
  // Shifted out entirely, only the sign's extension is left. Small types shift in 32 bits.
  DType wide = dtype == DType::i64 ? dtype : DType::i32;
  return elementwise(b, dtype, [&](std::span<const Expr> x) {
    Expr zero = ir::zero(wide), value = ir::cast(wide, x[0]);
    Expr out = x[1] < 0.0 || x[1] >= static_cast<double>(ir::bit_width(dtype));
    Expr count = ir::select(out, zero, ir::cast(wide, x[1]));
    Expr rest =
        op == ir::BinaryOp::shl ? zero : ir::select(value < 0.0, ir::constant_int(wide, -1), zero);
    return ir::cast(dtype, ir::select(out, rest, ir::binary(op, value, count)));
  });
}

Result<> equal(Builder& b) {
  GS_TRY(same_types(b));
  if (b.input(0).dtype() == DType::string) {
    GS_ASSIGN(Shape shape, b.broadcast(b.input(0).shape(), b.input(1).shape()));
    const StringAt left{b.input(0)}, right{b.input(1)};
    b.output(0, equal_strings(b, "equal", shape, left, right));
    return {};
  }
  return elementwise(b, DType::boolean,
                     [](std::span<const Expr> x) -> Expr { return x[0] == x[1]; });
}

Result<> where(Builder& b) {
  GS_TRY(same_types(b, 1));
  return elementwise(b, b.input(1).dtype(),
                     [](std::span<const Expr> x) { return ir::select(x[0], x[1], x[2]); });
}

OpDef equality() {
  OpDef def = comparison("Equal", "A == B.", 19, any_element,
                         [](Expr a, Expr b) -> Expr { return a == b; });
  def.define = equal;
  def.cases = [others = def.cases] {
    Cases cases = others();
    cases.push_back({.name = "strings",
                     .inputs = {strings({2, 3}, {"a", "bc", "", "ab", "bc", "long enough for 2"}),
                                strings({3}, {"ab", "bc", ""})}});
    return cases;
  };
  return def;
}

}  // namespace

std::vector<OpDef> logic_family() {
  return {
      equality(),
      comparison("Greater", "A > B.", 13, any_number, [](Expr a, Expr b) -> Expr { return a > b; }),
      comparison("GreaterOrEqual", "A >= B.", 16, any_number,
                 [](Expr a, Expr b) -> Expr { return a >= b; }),
      comparison("Less", "A < B.", 13, any_number, [](Expr a, Expr b) -> Expr { return a < b; }),
      comparison("LessOrEqual", "A <= B.", 16, any_number,
                 [](Expr a, Expr b) -> Expr { return a <= b; }),
      logic("And", "A and B.", [](Expr a, Expr b) -> Expr { return a && b; }),
      logic("Or", "A or B.", [](Expr a, Expr b) -> Expr { return a || b; }),
      logic("Xor", "A or B, not both.",
            [](Expr a, Expr b) { return ir::binary(ir::BinaryOp::logical_xor, a, b); }),
      bits("BitwiseAnd", "A & B.", ir::BinaryOp::bit_and),
      bits("BitwiseOr", "A | B.", ir::BinaryOp::bit_or),
      bits("BitwiseXor", "A ^ B.", ir::BinaryOp::bit_xor),
      {.name = "BitShift",
       .doc =
           "X shifted by Y bits; by as many as it has or more leaves 0, or a right shift's sign.",
       .since = 28,
       .inputs = {{"X", any_int}, {"Y", any_int}},
       .outputs = {"Z"},
       .attributes = {{"direction", {}, true}},
       .define = bit_shift,
       .cases = [] -> Cases {
         return {
             {.name = "left",
              .attributes = {{"direction", "LEFT"}},
              .inputs = {uint8s({3}, {16, 4, 255}), uint8s({3}, {1, 2, 3})}},
             {.name = "right",
              .attributes = {{"direction", "RIGHT"}},
              .inputs = {uint8s({2, 2}, {16, 4, 1, 255}), uint8s({2}, {1, 2})}},
             {.name = "signed left",
              .attributes = {{"direction", "LEFT"}},
              .inputs = {int8s({6}, {16, -4, 127, -128, 1, -3}), int8s({6}, {1, 2, 3, 1, 8, -1})}},
             {.name = "signed right",
              .attributes = {{"direction", "RIGHT"}},
              .inputs = {int32s({5}, {-16, 1000, -1, -7, 7}), int32s({5}, {2, 3, 31, 32, -1})}}};
       }},
      {.name = "Not",
       .doc = "Negates.",
       .since = 1,
       .inputs = {{"X", boolean_only}},
       .define =
           [](Builder& b) {
             return elementwise(b, DType::boolean, [](std::span<const Expr> x) { return !x[0]; });
           },
       .cases = [] -> Cases {
         return {{.name = "matrix", .shapes = {{3, 5}}, .low = 0, .high = 1}};
       }},
      {.name = "BitwiseNot",
       .doc = "Flips every bit.",
       .since = 18,
       .inputs = {{"X", any_int}},
       .define =
           [](Builder& b) {
             return elementwise(b, b.input(0).dtype(),
                                [](std::span<const Expr> x) { return ir::bit_not(x[0]); });
           },
       .cases = [] -> Cases {
         return {
             {.name = "signed", .shapes = {{3, 5}}, .dtype = DType::i32, .low = -99, .high = 99},
             {.name = "unsigned", .shapes = {{9}}, .dtype = DType::u8, .low = 0, .high = 255}};
       }},
      {.name = "Where",
       .doc = "X where the condition holds, Y elsewhere.",
       .since = 16,
       .inputs = {{"condition", boolean_only}, {"X", any_element}, {"Y", any_element}},
       .outputs = {"output"},
       .define = where,
       .cases = [] -> Cases {
         return {{.name = "same", .shapes = {{3, 4}, {3, 4}, {3, 4}}},
                 {.name = "broadcast", .shapes = {{3, 1}, {1, 5}, {}}},
                 {.name = "integers",
                  .shapes = {{7}, {7}, {1}},
                  .dtype = DType::i64,
                  .low = -9,
                  .high = 9}};
       }},
  };
}

}  // namespace gossamer::ops
