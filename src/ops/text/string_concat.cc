// Operators on strings.
#include "ops/families.h"
#include "ops/text/string_match.h"

namespace gossamer::ops {
namespace {

Result<> string_concat(Builder& b) {
  GS_ASSIGN(Shape shape, b.broadcast(b.input(0).shape(), b.input(1).shape()));
  const StringAt left{b.input(0)}, right{b.input(1)};
  Shape wide = shape;
  wide.push_back(left.text.width() + right.text.width());
  const Tensor bytes = b.compute("string_concat", DType::u8, wide, [&](Point p) {
    const Point outer(p.begin(), p.end() - 1);
    const Expr& at = p.back();
    const Expr from = as_index(left.length(b, outer)), behind = at - from;
    const Expr second = ir::select(behind < as_index(right.length(b, outer)),
                                   right.byte(b, outer, behind), ir::zero(DType::u8));
    return ir::select(at < from, left.byte(b, outer, at), second);
  });
  const Tensor lengths = b.compute("string_concat.lengths", DType::i32, shape,
                                   [&](Point p) { return left.length(b, p) + right.length(b, p); });
  b.output(0, b.strings(bytes, lengths));
  return {};
}

}  // namespace

std::vector<OpDef> string_concat_family() {
  return {
      {.name = "StringConcat",
       .doc = "The strings of X, each followed by that of Y.",
       .since = 20,
       .inputs = {{"X", strings_only}, {"Y", strings_only}},
       .outputs = {"Z"},
       .define = string_concat,
       .cases = [] -> Cases {
         return {{.name = "same",
                  .inputs = {strings({3}, {"abc", "", "\xe4\xb8\xad"}),
                             strings({3}, {".com", "abc", "\xe7\x9a\x84"})}},
                 {.name = "broadcast",
                  .inputs = {strings({2, 1}, {"left", "a long left side"}),
                             strings({3}, {"", "-right", "-a long right side"})}}};
       }},
  };
}

}  // namespace gossamer::ops
