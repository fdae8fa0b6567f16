// RegexFullMatch: an automaton made when compiling walks over the bytes, one a round.
#include "ops/families.h"
#include "ops/text/regex.h"
#include "ops/text/string_match.h"

namespace gossamer::ops {
namespace {

Result<> regex_full_match(Builder& b) {
  const Tensor& x = b.input(0);
  auto made = compile_regex(b.text("pattern"));
  if (!made) return b.error(made.error().message, "`pattern` has RE2's syntax");
  const RegexAutomaton& automaton = *made;
  const auto states = static_cast<int64_t>(automaton.accepts.size());
  const Tensor classes = b.constant(int32s({256}, automaton.classes));
  const Tensor table = b.constant(int32s({states, automaton.class_count}, automaton.next));
  const Tensor accepts = b.constant(booleans({states}, automaton.accepts));
  const Tensor start =
      b.compute("regex.start", DType::i32, x.shape(), [](Point) { return ir::zero(DType::i32); });
  const auto body = [&](const Expr& round, std::span<const Tensor> now) -> Result<Builder::Round> {
    const Tensor next = b.compute("regex.next", DType::i32, x.shape(), [&](Point p) {
      std::vector<Expr> at(p.begin(), p.end());
      at.push_back(round);
      const Expr kind = classes({as_index(x.all_bytes().at(at))});
      const Expr state = now[0].at(p);
      return ir::select(round < as_index(x.all_lengths().at(p)),
                        table({as_index(state), as_index(kind)}), state);
    });
    return Builder::Round{{next}, {}};
  };
  GS_ASSIGN(const Builder::Round last, b.loop("regex", x.width(), std::span(&start, 1), body));
  const Tensor state = last.states[0];
  b.output(0, b.compute("regex_full_match", DType::boolean, x.shape(),
                        [&](Point p) { return accepts({as_index(state.at(p))}); }));
  return {};
}

}  // namespace

std::vector<OpDef> regex_match_family() {
  const TensorData texts =
      strings({2, 3}, {"www.onnx.ai", "ab12", "", "AB12", "www.onnx-ai", "\xc3\xa9t\xc3\xa9"});
  const auto with = [=](std::string name, std::string pattern) {
    return Case{.name = std::move(name),
                .attributes = {{"pattern", std::move(pattern)}},
                .inputs = {texts}};
  };
  return {
      {.name = "RegexFullMatch",
       .doc = "Whether each string as a whole matches a pattern of RE2's syntax.",
       .since = 20,
       .inputs = {{"X", strings_only}},
       .attributes = {{"pattern", {}, true}},
       .define = regex_full_match,
       .cases = [=] -> Cases {
         return {with("names", R"(www\.[\w.-]+\.\bai\b)"), with("any case", "(?i)[a-b]+\\d{1,3}"),
                 with("letters", "\xc3\xa9.[^a-z]|")};
       }},
  };
}

}  // namespace gossamer::ops
