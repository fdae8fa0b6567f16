// StringNormalizer: the case of strings, and strings left out.
#include "ops/families.h"
#include "ops/tensor/nonzero.h"
#include "ops/text/string_case.h"
#include "ops/text/string_match.h"

namespace gossamer::ops {
namespace {

using Texts = std::vector<std::string>;

// The strings that are no stop word; one empty string where there are none.
Result<Tensor> without(Builder& b, const Tensor& x, Texts words) {
  const std::string name = "string_normalizer";
  Tensor key = x;
  if (b.integer("is_case_sensitive") == 0) {
    key = in_case(b, name + ".key", x, LetterCase::lower);
    for (std::string& word : words) word = in_case(LetterCase::lower, std::string_view(word));
  }
  const auto count = static_cast<int64_t>(words.size());
  const Tensor place = place_among(b, name, key, strings({count}, std::move(words)));
  GS_ASSIGN(Chosen kept, chosen(b, name, x.dim(0), [&](Expr i) -> Expr {
              return place({i}) == static_cast<double>(count);
            }));
  const Expr size = ir::max(kept.count, 1.0);
  const auto from = [&](Point p) { return as_index(kept.places({p[0]})); };
  const auto some = [&](Expr value) {
    const Expr none = ir::zero(value->type);
    return ir::select(kept.count > 0, std::move(value), none);
  };
  const Tensor bytes = b.compute(name + ".kept", DType::u8, {size, x.width()},
                                 [&](Point p) { return some(x.all_bytes()({from(p), p[1]})); });
  const Tensor lengths = b.compute(name + ".kept_lengths", DType::i32, {size},
                                   [&](Point p) { return some(x.all_lengths()({from(p)})); });
  return b.strings(bytes, lengths);
}

Result<> string_normalizer(Builder& b) {
  Tensor x = b.input(0);
  const std::string action = b.text("case_change_action");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    return b.error(cat("`case_change_action` is \"", action, "\""),
                   "it must be NONE, LOWER or UPPER");
  const bool row = x.rank() == 2;
  if (x.rank() != 1 && !row)
    return b.error(cat("X has rank ", x.rank()), "it is [strings] or [1, strings]");
  if (row) {
    GS_TRY(b.require(x.dim(0) == 1, "X has more than one row"));
    x = b.reshape("string_normalizer.row", x, {x.dim(1)});
  }
  if (const Texts words = b.texts("stopwords"); !words.empty()) {
    GS_ASSIGN(x, without(b, x, words));
  }
  if (action != "NONE")
    x = in_case(b, "string_normalizer", x,
                action == "LOWER" ? LetterCase::lower : LetterCase::upper);
  if (row) x = b.reshape("string_normalizer.column", x, {ir::index(1), x.dim(0)});
  b.output(0, x);
  return {};
}

}  // namespace

std::vector<OpDef> string_normalizer_family() {
  const TensorData days =
      strings({4}, {"Monday", "tuesday", "Monday", "m\xc3\xa4rz \xce\xb1\xd0\xb6"});
  return {
      {.name = "StringNormalizer",
       .doc = "Strings without stop words, in upper or lower case by Unicode's simple mapping.",
       .since = 10,
       .inputs = {{"X", strings_only}},
       .attributes = {{"case_change_action", "NONE"},
                      {"is_case_sensitive", 0},
                      {"locale", ""},
                      {"stopwords", Texts{}}},
       .define = string_normalizer,
       .cases = [=] -> Cases {
         return {
             {.name = "upper",
              .attributes = {{"case_change_action", "UPPER"}, {"stopwords", Texts{"MONDAY"}}},
              .inputs = {days}},
             {.name = "case sensitive",
              .attributes = {{"is_case_sensitive", 1}, {"stopwords", Texts{"monday", "Monday"}}},
              .inputs = {days}},
             {.name = "lower",
              .attributes = {{"case_change_action", "LOWER"}},
              .inputs = {strings({1, 2}, {"\xc3\x84\xc8\xba", "ABC"})}},
             {.name = "none left",
              .attributes = {{"stopwords", Texts{"a"}}},
              .inputs = {strings({1, 2}, {"a", "A"})}}};
       }},
  };
}

}  // namespace gossamer::ops
