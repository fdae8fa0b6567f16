#include "ops/sequence/packed.h"

#include <algorithm>
#include <numeric>

#include "ops/axes.h"
#include "ops/reshape_index.h"

namespace gossamer::ops {
namespace {

// The place of a point in row-major order.
Expr place_of(Point point, const Shape& extents) {
  Expr place = index(0);
  for (size_t d = 0; d < extents.size(); ++d) place = place * extents[d] + point[d];
  return place;
}

// The point at a place in row-major order.
std::vector<Expr> point_at(Expr place, const Shape& extents) {
  std::vector<Expr> point(extents.size());
  for (size_t d = extents.size(); d-- > 0;) {
    point[d] = d == 0 ? place : ir::floormod(place, extents[d]);
    place = ir::floordiv(place, extents[d]);
  }
  return point;
}

// The shape of element `row`, with loads where it is not known.
Shape shape_at(const Packed& sequence, const Expr& row) {
  Shape shape = sequence.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!shape[d].get()) shape[d] = as_index(sequence.sizes({row, index(static_cast<int64_t>(d))}));
  }
  return shape;
}

SequenceForm form_of(const Packed& sequence) { return {sequence.data.dtype(), sequence.shape}; }

Tensor flat(Builder& b, const Tensor& tensor) {
  return b.reshape("sequence.flat", tensor, {b.simplify(product(tensor.shape()))});
}

// i32 [count, rank] of `count` elements, of the shape that `shape(row)` gives.
Tensor sizes_of(Builder& b, const Expr& count, size_t rank,
                const std::function<Shape(const Expr& row)>& shape) {
  return b.compute("sequence.sizes", DType::i32, {count, index(static_cast<int64_t>(rank))},
                   [&](Point point) {
                     const Shape extents = shape(point[0]);
                     Expr size = int32(0);
                     for (size_t d = extents.size(); d-- > 0;)
                       size = ir::select(point[1] == static_cast<double>(d),
                                         ir::cast(DType::i32, extents[d]), size);
                     return size;
                   });
}

Result<Tensor> joined(Builder& b, std::vector<Tensor> parts, int axis = 0) {
  if (parts.size() == 1) return parts[0];
  return b.call1("Concat", std::move(parts), {{"axis", int64_t{axis}}});
}

Tensor nothing(Builder& b, DType dtype, Shape shape) {
  return b.compute("sequence.none", dtype, std::move(shape),
                   [&](Point) { return ir::zero(dtype); });
}

Result<Packed> pack(Builder& b, const std::vector<Tensor>& elements, const SequenceForm& form) {
  Packed made;
  made.shape = form.shape;
  std::vector<Tensor> parts;
  for (const Tensor& element : elements) {
    Shape row = form.shape;
    row.insert(row.begin(), index(1));
    parts.push_back(form.uniform() ? b.reshape("sequence.element", element, std::move(row))
                                   : flat(b, element));
  }
  const size_t rank = form.shape.size();
  if (elements.empty()) {
    Shape none = form.uniform() ? form.shape : Shape();
    none.insert(none.begin(), index(0));
    made.data = nothing(b, form.dtype, std::move(none));
  } else {
    GS_ASSIGN(made.data, joined(b, std::move(parts)));
  }
  if (form.uniform()) return made;
  std::vector<Expr> sizes;
  for (const Tensor& element : elements)
    sizes.insert(sizes.end(), element.shape().begin(), element.shape().end());
  const Expr count = index(static_cast<int64_t>(elements.size()));
  made.sizes =
      b.host_tensor(DType::i32, {count, index(static_cast<int64_t>(rank))}, std::move(sizes));
  return made;
}

// An element's place among all, and its shape: what a step reads of them.
struct Place {
  Expr start, length;
  Shape shape;
};

// `row` may be computed in the run; it is within the sequence, or one behind its end.
Result<Place> read_place(Builder& b, const Packed& sequence, const Expr& row) {
  const auto rank = static_cast<int64_t>(sequence.shape.size());
  const Tensor read = b.reduce(
      "sequence.place", Builder::Join::sum, DType::i32, {index(rank + 1)}, {sequence.count()},
      [&](Point point, Point at) {
        const Shape shape = shape_at(sequence, at[0]);
        Expr term = ir::select(at[0] < row, ir::cast(DType::i32, product(shape)), int32(0));
        for (size_t d = 0; d < shape.size(); ++d) {
          const Expr own = ir::select(at[0] == row, ir::cast(DType::i32, shape[d]), int32(0));
          term = ir::select(point[0] == static_cast<double>(d + 1), own, term);
        }
        return term;
      });
  GS_ASSIGN(const std::vector<Expr> values, b.read(read));
  Place place{values[0], {}, sequence.shape};
  for (size_t d = 0; d < place.shape.size(); ++d) {
    if (!place.shape[d].get()) place.shape[d] = ir::max(values[d + 1], index(0));
  }
  place.length = b.simplify(product(place.shape));
  return place;
}

// A position of a sequence of `count` elements as an index; `last`: the greatest that there is.
Result<Expr> row_of(Builder& b, const Tensor& position, const Expr& count, const Expr& last) {
  for (const Expr& extent : position.shape()) {
    GS_TRY(b.require(extent == 1, "`position` is not a single number"));
  }
  std::vector<Expr> values;
  if (position.host) {
    values = *position.host;
  } else {
    // As one element, also where only a run tells the extents.
    const std::vector<Expr> first(position.shape().size(), index(0));
    const Tensor one =
        b.compute("position", position.dtype(), {}, [&](Point) { return position.at(first); });
    GS_ASSIGN(values, b.read(position.shape().empty() ? position : one));
  }
  const Expr row = b.simplify(wrapped(values[0], count));
  GS_TRY(b.require(row >= 0.0 && row <= last, "`position` is outside of the sequence"));
  return row;
}

// What all elements have in extents that must be equal, and the sum of the others.
Result<Shape> read_common(Builder& b, const Packed& sequence, int summed) {
  const auto rank = static_cast<int64_t>(sequence.shape.size());
  const auto over_rows = [&](const char* name, Builder::Join join) {
    return b.reduce(name, join, DType::i32, {index(rank)}, {sequence.count()},
                    [&](Point point, Point at) { return sequence.sizes({at[0], point[0]}); });
  };
  const Tensor sums = over_rows("sequence.sum", Builder::Join::sum);
  const Tensor most = over_rows("sequence.most", Builder::Join::max);
  const Tensor least = over_rows("sequence.least", Builder::Join::min);
  const Tensor all =
      b.compute("sequence.extents", DType::i32, {index(3), index(rank)}, [&](Point point) {
        const Expr row = point[0];
        return ir::select(row == 0.0, sums({point[1]}),
                          ir::select(row == 1.0, most({point[1]}), least({point[1]})));
      });
  GS_ASSIGN(const std::vector<Expr> values, b.read(all));
  Shape shape = sequence.shape;
  const Expr& count = sequence.count();
  for (size_t d = 0; d < shape.size(); ++d) {
    const size_t size = shape.size();
    if (static_cast<int>(d) == summed) {
      shape[d] = shape[d].get() ? b.simplify(shape[d] * count) : ir::max(values[d], index(0));
    } else if (!shape[d].get()) {
      GS_TRY(b.require(count == 0.0 || values[size + d] == values[2 * size + d],
                       cat("elements of the sequence differ in axis ", d)));
      shape[d] = ir::max(values[size + d], index(0));
    }
  }
  return shape;
}

// Running sums of `size(row)`: where each element ends.
Tensor ends_of(Builder& b, const char* name, const Expr& count,
               const std::function<Expr(const Expr& row)>& size) {
  return b.scan(name, Builder::Join::sum, DType::i32, {count}, 0,
                [&](Point point) { return ir::cast(DType::i32, size(point[0])); });
}

// i32 [length]: the element that each place of `length` is in.
Tensor rows_at(Builder& b, const Tensor& ends, const Expr& length) {
  return b.search("sequence.rows", {length}, ends.dim(0),
                  [&](Point point, const Expr& row) { return as_index(ends({row})) > point[0]; });
}

// The row that `rows` gives, never outside of `count`.
Expr row_in(const Tensor& rows, const Expr& at, const Expr& count) {
  return ir::max(ir::min(as_index(rows({at})), count - index(1)), index(0));
}

// Elements of one shape along a new axis, or side by side.
Result<Tensor> concat_uniform(Builder& b, const Packed& sequence, int axis, bool fresh) {
  Tensor all = sequence.data;
  if (axis > 0) {
    std::vector<int64_t> order(static_cast<size_t>(all.rank()));
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin(), order.begin() + 1, order.begin() + axis + 1);
    GS_ASSIGN(all, b.call1("Transpose", {all}, {{"perm", order}}));
  }
  if (fresh) return all;
  Shape shape = sequence.shape;
  Expr& extent = shape[static_cast<size_t>(axis)];
  extent = b.simplify(sequence.count() * extent);
  return b.reshape("sequence.joined", all, std::move(shape));
}

// Elements that differ along `axis`.
Result<Tensor> concat_ragged(Builder& b, const Packed& sequence, int axis) {
  GS_ASSIGN(Shape shape, read_common(b, sequence, axis));
  if (axis == 0) return b.reshape("sequence.joined", sequence.data, std::move(shape));
  const auto along = static_cast<size_t>(axis);
  const Expr& count = sequence.count();
  const Tensor ends = ends_of(b, "sequence.ends", count,
                              [&](const Expr& row) { return shape_at(sequence, row)[along]; });
  const Tensor rows = rows_at(b, ends, shape[along]);
  // The other extents are common, so an element begins after all of its predecessors' slices.
  Shape others = shape;
  others[along] = index(1);
  return b.compute("sequence.joined", sequence.data.dtype(), shape, [&](Point point) {
    const Expr row = row_in(rows, point[along], count);
    const Expr length = shape_at(sequence, row)[along];
    const Expr start = as_index(ends({row})) - length;
    Shape own = shape;
    own[along] = length;
    std::vector<Expr> at(point.begin(), point.end());
    at[along] = point[along] - start;
    return sequence.data({start * product(others) + place_of(at, own)});
  });
}

// Where `length` more are put before `start` of what was `total`: the place that each comes from,
// where the additional ones follow all others.
Expr moved(const Expr& at, const Expr& start, const Expr& length, const Expr& total) {
  return ir::select(at < start, at,
                    ir::select(at < start + length, total + at - start, at - length));
}

// [a..., new] along the first axis, with the new part moved to `start`.
Result<Tensor> insert_rows(Builder& b, const Tensor& all, const Tensor& part, const Expr& start) {
  GS_ASSIGN(Tensor longer, joined(b, {all, part}));
  if (!start.get()) return longer;
  return b.compute("sequence.inserted", longer.dtype(), longer.shape(), [&](Point point) {
    std::vector<Expr> at(point.begin(), point.end());
    at[0] = moved(point[0], start, part.dim(0), all.dim(0));
    return longer.at(at);
  });
}

Tensor erase_rows(Builder& b, const Tensor& all, const Expr& start, const Expr& length) {
  Shape shape = all.shape();
  shape[0] = b.simplify(ir::max(shape[0] - length, index(0)));
  return b.compute("sequence.erased", all.dtype(), shape, [&](Point point) {
    std::vector<Expr> at(point.begin(), point.end());
    at[0] = ir::select(point[0] < start, point[0], point[0] + length);
    return all.at(at);
  });
}

}  // namespace

bool SequenceForm::uniform() const {
  return std::ranges::all_of(shape, [](const Expr& extent) { return extent.get() != nullptr; });
}

Result<SequenceForm> common_form(const SequenceForm& a, const SequenceForm& b,
                                 const ir::Bounds& bounds) {
  if (a.dtype != b.dtype) {
    return fail(
        cat("a sequence has elements of ", ir::name_of(a.dtype), " and of ", ir::name_of(b.dtype)));
  }
  if (a.shape.size() != b.shape.size()) {
    return fail(cat("a sequence has elements of rank ", a.shape.size(), " and of rank ",
                    b.shape.size(), ", so its length must be known when compiling"),
                "give all elements one rank, or make the length known when compiling");
  }
  SequenceForm common = a;
  for (size_t d = 0; d < a.shape.size(); ++d) {
    const Expr &x = a.shape[d], &y = b.shape[d];
    if (!x.get() || !y.get() || !ir::prove_equal(x, y, bounds)) common.shape[d] = {};
  }
  return common;
}

Result<std::optional<SequenceForm>> form_of(const Item& sequence, const ir::Bounds& bounds) {
  if (sequence.packed) return form_of(*sequence.packed);
  if (sequence.elements.empty()) return std::nullopt;
  SequenceForm form{sequence.elements[0].dtype(), sequence.elements[0].shape()};
  for (const Tensor& element : sequence.elements) {
    GS_ASSIGN(form, common_form(form, {element.dtype(), element.shape()}, bounds));
  }
  return form;
}

Result<Packed> packed_as(Builder& b, const Item& sequence, const SequenceForm& form) {
  if (!sequence.packed) return pack(b, sequence.elements, form);
  Packed made = *sequence.packed;
  made.shape = form.shape;
  if (form.uniform() || made.sizes) return made;
  const Shape shape = sequence.packed->shape;
  made.sizes = sizes_of(b, made.count(), shape.size(), [&](const Expr&) { return shape; });
  made.data = flat(b, made.data);
  return made;
}

Expr packed_length(const Packed& sequence) { return sequence.count(); }

Result<Tensor> packed_at(Builder& b, const Packed& sequence, const Tensor& position) {
  if (!sequence.sizes) {
    Tensor at = position.rank() == 0 ? position : b.reshape("sequence.position", position, {});
    return b.call1("Gather", {sequence.data, std::move(at)}, {{"axis", 0}});
  }
  GS_ASSIGN(const Expr row, row_of(b, position, sequence.count(), sequence.count() - index(1)));
  GS_ASSIGN(const Place place, read_place(b, sequence, row));
  return b.compute("sequence.element", sequence.data.dtype(), place.shape, [&](Point point) {
    return sequence.data({place.start + place_of(point, place.shape)});
  });
}

Result<Packed> packed_insert(Builder& b, const Item& sequence, const Tensor& element,
                             const Tensor& position) {
  GS_ASSIGN(const std::optional<SequenceForm> before, form_of(sequence, b.bounds));
  SequenceForm form{element.dtype(), element.shape()};
  if (before) {
    GS_ASSIGN(form, common_form(*before, form, b.bounds));
  }
  GS_ASSIGN(Packed all, packed_as(b, sequence, form));
  GS_ASSIGN(const Packed one, pack(b, {element}, form));
  Expr row, start;
  if (position) {
    GS_ASSIGN(row, row_of(b, position, all.count(), all.count()));
    start = row;
    if (all.sizes) {
      GS_ASSIGN(const Place place, read_place(b, all, row));
      start = place.start;
    }
  }
  GS_ASSIGN(all.data, insert_rows(b, all.data, one.data, start));
  if (all.sizes) {
    GS_ASSIGN(all.sizes, insert_rows(b, all.sizes, one.sizes, row));
  }
  return all;
}

Result<Packed> packed_erase(Builder& b, const Packed& sequence, const Tensor& position) {
  const Expr last = sequence.count() - index(1);
  Expr row = last;
  if (position) {
    GS_ASSIGN(row, row_of(b, position, sequence.count(), last));
  } else {
    GS_TRY(b.require(last >= 0.0, "the sequence is empty"));
  }
  Packed made = sequence;
  if (!made.sizes) {
    made.data = erase_rows(b, made.data, row, index(1));
    return made;
  }
  GS_ASSIGN(const Place place, read_place(b, sequence, row));
  made.data = erase_rows(b, made.data, place.start, place.length);
  made.sizes = erase_rows(b, made.sizes, row, index(1));
  return made;
}

Result<Tensor> packed_concat(Builder& b, const Packed& sequence, int axis, bool fresh) {
  if (!sequence.sizes) return concat_uniform(b, sequence, axis, fresh);
  if (!fresh) return concat_ragged(b, sequence, axis);
  Packed same = sequence;
  GS_ASSIGN(same.shape, read_common(b, sequence, -1));
  Shape shape = same.shape;
  shape.insert(shape.begin(), sequence.count());
  same.data = b.reshape("sequence.stacked", sequence.data, std::move(shape));
  same.sizes = {};
  return concat_uniform(b, same, axis, true);
}

Result<Packed> packed_split(Builder& b, const Tensor& x, int axis, const Tensor& sizes) {
  const auto along = static_cast<size_t>(axis);
  const Expr count = sizes.dim(0);
  Packed made;
  made.shape = x.shape();
  made.shape[along] = {};
  made.sizes = sizes_of(b, count, made.shape.size(), [&](const Expr& row) {
    Shape shape = x.shape();
    shape[along] = as_index(sizes({row}));
    return shape;
  });
  if (axis == 0) {
    made.data = flat(b, x);
    return made;
  }
  const Tensor ends =
      ends_of(b, "sequence.ends", count, [&](const Expr& row) { return sizes({row}); });
  Shape others = x.shape();
  others[along] = index(1);
  const Expr slice = b.simplify(product(others));
  const Expr total = b.simplify(product(x.shape()));
  const Tensor rows = b.search("sequence.rows", {total}, count, [&](Point point, const Expr& row) {
    return as_index(ends({row})) * slice > point[0];
  });
  made.data = b.compute("sequence.data", x.dtype(), {total}, [&](Point point) {
    const Expr row = row_in(rows, point[0], count);
    const Expr start = as_index(ends({row})) - as_index(sizes({row}));
    Shape own = x.shape();
    own[along] = ir::max(as_index(sizes({row})), index(1));
    std::vector<Expr> at = point_at(point[0] - start * slice, own);
    at[along] = ir::max(ir::min(start + at[along], x.dim(axis) - index(1)), index(0));
    return x.at(at);
  });
  return made;
}

}  // namespace gossamer::ops
