#include "ops/select_k.h"

#include <limits>

#include "ops/builder.h"

namespace gossamer::ops {
namespace {

Expr whole(int64_t value) { return ir::constant_int(DType::i32, value); }

constexpr int32_t top = std::numeric_limits<int32_t>::min();

// The key at a point of its row.
Expr at(const Tensor& keys, Point row, const Expr& place) {
  std::vector<Expr> point(row.begin(), row.end());
  point.push_back(place);
  return keys.at(point);
}

Expr as_i32(const Expr& condition) { return ir::cast(DType::i32, condition); }

}  // namespace

bool has_order_key(DType dtype) { return dtype == DType::f32 || dtype == DType::i32; }

Expr order_key(const Expr& x, bool largest) {
  GS_CHECK(has_order_key(x->type.dtype), "a key of 32 bits");
  Expr key = x;
  if (ir::is_float(x->type.dtype)) {
    const Expr bits = ir::bitcast(DType::i32, ir::select(x == 0.0, ir::zero(x->type), x));
    const Expr rising =
        ir::select(bits < 0.0, ir::binary(ir::BinaryOp::bit_xor, bits, whole(0x7fffffff)), bits);
    key = ir::select(ir::is_nan(x), whole(0x7fffffff), rising);
  }
  return largest ? ir::bit_not(key) : key;
}

Expr Least::among(Point point) const {
  std::vector<Expr> before(point.begin(), point.end());
  before.back() = ir::max(point.back() - ir::index(1), ir::index(0));
  const Expr already = ir::select(point.back() > ir::index(0), upto.at(before), whole(0));
  return upto.at(point) > already;
}

Least least_of(Builder& b, const std::string& name, const Tensor& keys, const Expr& count) {
  const Shape &all = keys.shape(), rows(all.begin(), all.end() - 1);
  const Expr& length = all.back();
  const Expr wanted = ir::cast(DType::i32, count);
  // The greatest bound below which fewer keys lie, from its highest bit down. The lowest bit that
  // is set is the one to be decided, so that all steps are one kernel; as unsigned numbers.
  const auto as_signed = [](const Expr& bits) {
    return ir::binary(ir::BinaryOp::bit_xor, bits, whole(top));
  };
  Tensor bits = b.compute(name + ".bits", DType::i32, rows, [](Point) { return whole(top); });
  for (int step = 0; step < 32; ++step) {
    const Tensor before = bits;
    bits = b.reduce(
        name + ".bits", Builder::Join::sum, DType::i32, rows, {length},
        [&](Point row, Point over) {
          return as_i32(at(keys, row, over[0]) < as_signed(before.at(row)));
        },
        [&](Point row, const Expr& below) {
          const Expr tried = before.at(row), bit = ir::binary(ir::BinaryOp::bit_and, tried, -tried);
          const Expr next = ir::binary(ir::BinaryOp::bit_and,
                                       ir::binary(ir::BinaryOp::shr, bit, whole(1)), whole(~top));
          const Expr kept =
              ir::select(below < wanted, tried, ir::binary(ir::BinaryOp::bit_xor, tried, bit));
          return ir::binary(ir::BinaryOp::bit_or, kept, next);
        });
  }
  const Tensor bound = b.compute(name + ".bound", DType::i32, rows,
                                 [&](Point row) { return as_signed(bits.at(row)); });
  const Tensor below = b.reduce(
      name + ".below", Builder::Join::sum, DType::i32, rows, {length},
      [&](Point row, Point over) { return as_i32(at(keys, row, over[0]) < bound.at(row)); });
  const int along = keys.rank() - 1;
  const auto row_of = [](Point p) { return p.first(p.size() - 1); };
  const Tensor equals = b.scan(name + ".equals", Builder::Join::sum, DType::i32, all, along,
                               [&](Point p) { return as_i32(keys.at(p) == bound.at(row_of(p))); });
  Least least;
  least.upto = b.scan(name + ".upto", Builder::Join::sum, DType::i32, all, along, [&](Point p) {
    const Point row = row_of(p);
    const Expr key = keys.at(p), edge = bound.at(row);
    return as_i32(key < edge || (key == edge && equals.at(p) <= wanted - below.at(row)));
  });
  Shape few = rows;
  few.push_back(count);
  least.places = b.search(name + ".places", few, length, [&](Point p, const Expr& place) {
    return as_index(at(least.upto, row_of(p), place)) > p.back();
  });
  return least;
}

}  // namespace gossamer::ops
