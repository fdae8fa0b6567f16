// TensorScatter: what an autoregressive model keeps, with what a step adds.
#include "ops/builder.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

Result<> tensor_scatter(Builder& b) {
  const Tensor &past = b.input(0), &update = b.input(1), &places = b.input(2);
  if (past.dtype() != update.dtype() || past.rank() != update.rank())
    return b.error("past_cache and update differ in type or rank");
  GS_ASSIGN(int axis, b.axis("axis", past.rank()));
  if (axis == 0) return b.error("`axis` is 0", "that is the axis of batches");
  std::string mode = b.text("mode");
  if (mode != "linear" && mode != "circular")
    return b.error(cat("`mode` is \"", mode, "\""), "it must be linear or circular");
  size_t at_axis = static_cast<size_t>(axis);
  for (int i = 0; i < past.rank(); ++i) {
    GS_TRY(b.require(i == axis ? update.dim(i) <= past.dim(i) : update.dim(i) == past.dim(i),
                     cat("update does not fit past_cache along axis ", i)));
  }
  b.output(0, b.compute("tensor_scatter", past.dtype(), past.shape(), [&](Point p) {
    std::vector<Expr> at(p.begin(), p.end());
    Expr from = p[at_axis];
    if (places) from = from - as_index(places({p[0]}));
    if (mode == "circular") from = ir::floormod(from, past.dim(axis));
    at[at_axis] = b.simplify(from);
    Expr written = from >= 0 && from < update.dim(axis);
    return ir::select(written, update.at(at), past.at(p));
  }));
  return {};
}

}  // namespace

std::vector<OpDef> tensor_scatter_family() {
  auto optional = InputDef::optional;
  return {
      {.name = "TensorScatter",
       .doc = "past_cache with update written along an axis, at an index a batch.",
       .since = 24,
       .inputs = {{"past_cache", any_element},
                  {"update", any_element},
                  {"write_indices", only(DType::i64), optional}},
       .outputs = {"present_cache"},
       .attributes = {{"axis", -2}, {"mode", "linear"}},
       .define = tensor_scatter,
       .cases = [] -> Cases {
         return {{.name = "prefill", .shapes = {{2, 4, 3}, {2, 2, 3}}},
                 {.name = "strings", .shapes = {{2, 4, 3}, {2, 2, 3}}, .dtype = DType::string},
                 {.name = "decode",
                  .shapes = {{2, 2, 4, 3}, {2, 2, 1, 3}},
                  .inputs = {{}, {}, int64s({2}, {3, 1})}},
                 {.name = "circular",
                  .shapes = {{2, 4, 3}, {2, 2, 3}},
                  .attributes = {{"mode", "circular"}},
                  .inputs = {{}, {}, int64s({2}, {3, 6})}}};
       }},
  };
}

}  // namespace gossamer::ops
