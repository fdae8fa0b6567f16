// NonZero and Compress.
#include "ops/tensor/nonzero.h"

#include "ops/families.h"
#include "ops/reshape_index.h"

namespace gossamer::ops {
namespace {

Tensor flat(Builder& b, const std::string& name, const Tensor& x) {
  return b.reshape(name + ".flat", x, {b.simplify(product(x.shape()))});
}

Result<> non_zero(Builder& b) {
  const Tensor& x = b.input(0);
  Tensor all = flat(b, "non_zero", x);
  GS_ASSIGN(Chosen found, chosen(b, "non_zero", all.dim(0), [&](Expr i) {
              if (x.dtype() == DType::string) return Expr(all.all_lengths()({i}) != 0);
              Expr value = all({i});
              return x.dtype() == DType::boolean ? value : Expr(value != 0);
            }));
  Expr rank = ir::index(x.rank());
  b.output(0, b.compute("non_zero", DType::i64, {rank, found.count}, [&](Point p) {
    // Row k holds coordinate k of each place.
    Expr place = as_index(found.places({p[1]})), value = ir::index(0), size = ir::index(1);
    for (int k = x.rank(); k-- > 0;) {
      Expr coordinate = ir::floormod(ir::floordiv(place, size), x.dim(k));
      value = ir::select(p[0] == static_cast<double>(k), b.simplify(coordinate), value);
      size = b.simplify(size * x.dim(k));
    }
    return ir::cast(DType::i64, value);
  }));
  return {};
}

Result<> compress(Builder& b) {
  const Tensor& condition = b.input(1);
  Tensor x = b.input(0);
  int axis = 0;
  if (b.has_attribute("axis")) {
    GS_ASSIGN(axis, b.axis("axis", x.rank()));
  } else {
    x = flat(b, "compress", x);
  }
  if (condition.rank() != 1) return b.error(cat("condition has rank ", condition.rank()));
  GS_TRY(b.require(condition.dim(0) <= x.dim(axis), "condition is longer than the axis"));
  GS_ASSIGN(Chosen found,
            chosen(b, "compress", condition.dim(0), [&](Expr i) { return condition({i}); }));
  Shape shape = x.shape();
  size_t at_axis = static_cast<size_t>(axis);
  shape[at_axis] = found.count;
  b.output(0, b.compute("compress", x.dtype(), shape, [&](Point p) {
    std::vector<Expr> at(p.begin(), p.end());
    at[at_axis] = as_index(found.places({p[at_axis]}));
    return x.at(at);
  }));
  return {};
}

}  // namespace

Result<Chosen> chosen(Builder& b, const std::string& name, const Expr& size,
                      const std::function<Expr(Expr)>& flag) {
  const Tensor upto = b.scan(name + ".upto", Builder::Join::sum, DType::i32, {size}, 0,
                             [&](Point p) { return ir::cast(DType::i32, flag(p[0])); });
  const Expr last = b.simplify(size - ir::index(1));
  const Tensor total = b.compute(name + ".count", DType::i32, {}, [&](Point) {
    return ir::select(size > ir::index(0), upto({last}), ir::zero(DType::i32));
  });
  GS_ASSIGN(std::vector<Expr> count, b.read(total));
  const Tensor none =
      b.compute(name + ".none", DType::i32, {count[0]}, [](Point) { return ir::zero(DType::i32); });
  const Tensor places = b.scatter(
      name + ".places", none, {size}, {},
      [&](Point p) { return std::vector<Expr>{as_index(upto({p[0]})) - ir::index(1)}; },
      [&](Point p) { return ir::cast(DType::i32, p[0]); }, [&](Point p) { return flag(p[0]); },
      /*increasing=*/true);
  return Chosen{places, count[0]};
}

std::vector<OpDef> nonzero_family() {
  return {
      {.name = "NonZero",
       .doc = "The coordinates of all elements that are not 0.",
       .since = 13,
       .inputs = {{"X", any_element}},
       .define = non_zero,
       .cases = [] -> Cases {
         return {
             {.name = "booleans", .shapes = {{3, 5}}, .dtype = DType::boolean},
             {.name = "integers", .shapes = {{2, 3, 7}}, .dtype = DType::i32, .low = -1, .high = 1},
             {.name = "strings", .shapes = {{2, 5}}, .dtype = DType::string},
             {.name = "none", .shapes = {{9}}, .low = 0, .high = 0}};
       }},
      {.name = "Compress",
       .doc = "The elements or slices whose condition holds.",
       .since = 28,
       .inputs = {{"input", any_element}, {"condition", boolean_only}},
       .outputs = {"output"},
       .attributes = {{"axis", {}}},
       .define = compress,
       .cases = [] -> Cases {
         return {{.name = "columns", .shapes = {{3, 9}, {7}}, .attributes = {{"axis", -1}}},
                 {.name = "elements", .shapes = {{3, 4}, {12}}},
                 {.name = "rows",
                  .shapes = {{3, 2}},
                  .attributes = {{"axis", 0}},
                  .inputs = {{}, booleans({3}, {0, 1, 1})}}};
       }},
  };
}

}  // namespace gossamer::ops
