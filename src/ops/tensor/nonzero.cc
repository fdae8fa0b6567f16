// NonZero and Compress.
#include "ops/tensor/nonzero.h"

#include "ops/families.h"
#include "ops/linearize.h"

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
  // Blocks of about the root of the size: sums of blocks, then places within them.
  int64_t block = 256;
  if (auto known = ir::as_int(b.simplify(size))) {
    for (block = 4; block * block < *known && block < 1024;) block *= 2;
  }
  Expr width = ir::index(block);
  Expr blocks = b.simplify(ir::floordiv(size + static_cast<double>(block - 1), block));
  auto one = [&](Expr i) {
    Expr set = ir::select(i < size, flag(i), ir::boolean(false));
    return ir::cast(DType::i32, b.simplify(set));
  };
  // [blocks, width]: how many are set up to each one of its block.
  Tensor upto = b.reduce(name + ".upto", Builder::Join::sum, DType::i32, {blocks, width}, {width},
                         [&](Point p, Point r) {
                           Expr value = one(b.simplify(p[0] * static_cast<double>(block) + r[0]));
                           return ir::select(r[0] <= p[1], value, ir::zero(DType::i32));
                         });
  Expr last = ir::index(block - 1);
  Tensor ends = b.reduce(
      name + ".ends", Builder::Join::sum, DType::i32, {blocks}, {blocks}, [&](Point p, Point r) {
        return ir::select(r[0] <= p[0], upto({r[0], last}), ir::zero(DType::i32));
      });
  Tensor total = b.reduce(name + ".count", Builder::Join::sum, DType::i32, {}, {blocks},
                          [&](Point, Point r) { return upto({r[0], last}); });
  GS_ASSIGN(std::vector<Expr> count, b.read(total));
  // The block of the k-th one, then its place there: as many lie before it as have smaller counts.
  Tensor home = b.reduce(
      name + ".block", Builder::Join::sum, DType::i32, {count[0]}, {blocks},
      [&](Point p, Point r) { return ir::cast(DType::i32, as_index(ends({r[0]})) <= p[0]); });
  Tensor places = b.reduce(
      name + ".places", Builder::Join::sum, DType::i32, {count[0]}, {width},
      [&](Point p, Point r) {
        Expr at = as_index(home({p[0]}));
        Expr start = as_index(ends({at})) - as_index(upto({at, last}));
        Expr below = as_index(upto({at, r[0]})) <= p[0] - start;
        return ir::cast(DType::i32, below);
      },
      [&](Point p, Expr below) {
        return ir::cast(DType::i32, as_index(home({p[0]})) * static_cast<double>(block)) + below;
      });
  return Chosen{places, count[0]};
}

std::vector<OpDef> nonzero_family() {
  return {
      {.name = "NonZero",
       .doc = "The coordinates of all elements that are not 0.",
       .since = 13,
       .inputs = {{"X", any_element}},
       .define = non_zero,
       .cases =
           {{.name = "booleans", .shapes = {{3, 5}}, .dtype = DType::boolean},
            {.name = "integers", .shapes = {{2, 3, 7}}, .dtype = DType::i32, .low = -1, .high = 1},
            {.name = "strings", .shapes = {{2, 5}}, .dtype = DType::string},
            {.name = "none", .shapes = {{9}}, .low = 0, .high = 0}}},
      {.name = "Compress",
       .doc = "The elements or slices whose condition holds.",
       .since = 28,
       .inputs = {{"input", any_element}, {"condition", boolean_only}},
       .outputs = {"output"},
       .attributes = {{"axis", {}}},
       .define = compress,
       .cases = {{.name = "columns", .shapes = {{3, 9}, {7}}, .attributes = {{"axis", -1}}},
                 {.name = "elements", .shapes = {{3, 4}, {12}}},
                 {.name = "rows",
                  .shapes = {{3, 2}},
                  .attributes = {{"axis", 0}},
                  .inputs = {{}, booleans({3}, {0, 1, 1})}}}},
  };
}

}  // namespace gossamer::ops
