// ONNX Runtime's operators on quantised tensors, and products with packed weights.
#include "ir/print.h"
#include "ops/axes.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

// [rows, columns], or the same elements in one axis.
Result<Tensor> as_rows(Builder& b, int input, const Expr& rows, const Expr& columns) {
  const Tensor& x = b.input(input);
  if (x.rank() != 1) {
    GS_TRY(has_shape(b, input, {rows, columns}));
    return x;
  }
  GS_TRY(has_shape(b, input, {b.simplify(rows * columns)}));
  return b.reshape("rows", x, {rows, columns});
}

// A [..., K] times the transpose of B [N, K], whose rows are blocks of packed numbers with a scale
// (and zero point) each: B [N, blocks, bytes], scales, zero points, block of each k, bias.
Result<> matmul_bits(Builder& b) {
  const Tensor &a = b.input(0), &packed = b.input(1), &bias = b.input(5);
  // The builder of onnxruntime-genai writes f16 scales for a head that computes in f32.
  GS_TRY(one_type(b, {0, 5}));
  int64_t k = b.integer("K"), n = b.integer("N"), bits = b.integer("bits"),
          block = b.integer("block_size");
  if (bits < 1 || (bits > 4 && bits != 8))
    return b.error(cat("`bits` is ", bits, "; 1, 2, 3, 4 and 8 are supported"));
  if (b.integer("weight_prepacked") != 0)
    return b.error("weights in the layout of a certain device are not supported");
  if (k < 1 || n < 1 || block < 16 || (block & (block - 1)) != 0)
    return b.error("K and N are positive, `block_size` is a power of two from 16 up");
  int64_t blocks = (k + block - 1) / block;
  if (a.rank() < 1) return b.error("A is a scalar");
  GS_TRY(b.require(a.dim(-1) == ir::index(k),
                   cat("A has ", ir::print(a.dim(-1)), " columns, K is ", k)));
  GS_TRY(has_shape(b, 1, {ir::index(n), ir::index(blocks), ir::index(block * bits / 8)}));
  GS_TRY(has_shape(b, 5, {ir::index(n)}));
  GS_ASSIGN(Tensor scales, as_rows(b, 2, ir::index(n), ir::index(blocks)));
  Tensor zeros;
  bool packed_zeros = b.has(3) && b.input(3).dtype() == DType::u8;
  if (b.has(3)) {
    if (!packed_zeros) GS_TRY(one_type(b, {0, 3}));
    GS_ASSIGN(zeros, as_rows(b, 3, ir::index(n),
                             ir::index(packed_zeros ? (blocks * bits + 7) / 8 : blocks)));
  }
  if (b.has(4)) {
    const Tensor& groups = b.input(4);
    if (groups.rank() != 1 ||
        !(b.same(groups.dim(0), ir::index(k)) || b.same(groups.dim(0), ir::index(blocks * block))))
      return b.error(cat("g_idx has one element for each of ", k, " rows"));
  }
  DType wide = accumulator(a.dtype());
  Tensor w = b.compute("matmul_bits.weights", wide, {ir::index(n), ir::index(k)}, [&](Point p) {
    Expr at = ir::floordiv(p[1], block), within = ir::floormod(p[1], block);
    Expr value = ir::cast(wide, packed_number(packed, {p[0], at}, within, bits));
    Expr group = b.has(4) ? as_index(b.input(4)({p[1]})) : at;
    Expr zero = !zeros         ? ir::constant(wide, 1 << (bits - 1))
                : packed_zeros ? ir::cast(wide, packed_number(zeros, {p[0]}, group, bits))
                               : ir::cast(wide, zeros({p[0], group}));
    return (value - zero) * ir::cast(wide, scales({p[0], group}));
  });
  Shape shape = a.shape();
  shape.back() = ir::index(n);
  b.output(0, b.reduce(
                  "matmul_bits", Builder::Join::sum, a.dtype(), shape, {ir::index(k)},
                  [&](Point p, Point r) {
                    std::vector<Expr> at(p.begin(), p.end());
                    at.back() = r[0];
                    return ir::cast(wide, a.at(at)) * w({p.back(), r[0]});
                  },
                  [&](Point p, Expr sum) {
                    if (bias) sum = sum + ir::cast(wide, bias({p.back()}));
                    return ir::cast(a.dtype(), sum);
                  }));
  return {};
}

// Slices of blockwise quantised data at indices along an axis, as real numbers. Bytes hold 8 / bits
// numbers each along the last axis.
Result<> gather_block_quantized(Builder& b) {
  const Tensor &data = b.input(0), &indices = b.input(1), &scales = b.input(2), &zeros = b.input(3);
  int64_t bits = b.integer("bits"), block = b.integer("block_size");
  bool bytes = data.dtype() == DType::u8;
  if (bytes ? bits != 2 && bits != 4 && bits != 8 : bits != 4)
    return b.error(cat("`bits` is ", bits), "it is 2, 4 or 8 for uint8, else 4");
  if (block < 16 || (block & (block - 1)) != 0)
    return b.error(cat("`block_size` is ", block, ", not a power of two from 16 up"));
  GS_ASSIGN(int axis, b.axis("gather_axis", data.rank()));
  GS_ASSIGN(int blocked, b.axis("quantize_axis", data.rank()));
  if (bytes && (axis != 0 || blocked != data.rank() - 1 || axis == blocked))
    return b.error("uint8 is gathered along the first axis and quantised along the last");
  GS_TRY(one_type(b, {0, 3}));
  int64_t count = bytes ? 8 / bits : 1;
  Shape whole = data.shape();
  whole.back() = b.simplify(whole.back() * static_cast<double>(count));
  Shape blocks = whole;
  Expr& last = blocks[static_cast<size_t>(blocked)];
  last = b.simplify(ir::floordiv(last + static_cast<double>(block - 1), block));
  GS_TRY(has_shape(b, 2, blocks));
  Shape zero_shape = blocks;
  zero_shape.back() =
      b.simplify(ir::floordiv(zero_shape.back() + static_cast<double>(count - 1), count));
  GS_TRY(has_shape(b, 3, zero_shape));
  auto read = [&](const Tensor& from, std::vector<Expr> at) {
    if (!bytes) return ir::cast(DType::i32, from.at(at));
    Expr place = at.back();
    at.pop_back();
    return packed_number(from, std::move(at), place, bits);
  };
  Shape shape(whole.begin(), whole.begin() + axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), whole.begin() + axis + 1, whole.end());
  size_t rank = static_cast<size_t>(indices.rank()), before = static_cast<size_t>(axis);
  b.output(0, b.compute("gather_block_quantized", scales.dtype(), shape, [&](Point p) {
    std::vector<Expr> at(p.begin(), p.begin() + axis);
    at.push_back(wrapped_index(indices.at(p.subspan(before, rank)), data.dim(axis)));
    at.insert(at.end(), p.begin() + axis + indices.rank(), p.end());
    Expr value = read(data, at);
    Expr& place = at[static_cast<size_t>(blocked)];
    place = ir::floordiv(place, block);
    if (zeros) {
      value = value - read(zeros, at);
    } else if (bytes) {
      value = value - ir::constant_int(DType::i32, 1 << (bits - 1));
    }
    DType wide = accumulator(scales.dtype());
    return ir::cast(scales.dtype(), ir::cast(wide, value) * ir::cast(wide, scales.at(at)));
  }));
  return {};
}

}  // namespace

Expr packed_number(const Tensor& bytes, std::vector<Expr> row, const Expr& at, int64_t bits) {
  const auto byte = [&](const Expr& place) {
    row.push_back(place);
    Expr value = ir::cast(DType::i32, bytes.at(row));
    row.pop_back();
    return value;
  };
  if (bits == 8) return byte(at);
  const Expr mask = ir::constant_int(DType::i32, (1 << bits) - 1);
  if (8 % bits != 0) {  // it may begin in one byte and end in the next one
    const Expr begin = at * static_cast<double>(bits), first = ir::floordiv(begin, 8),
               last = ir::floordiv(begin + static_cast<double>(bits - 1), 8);
    const Expr both = byte(first) + byte(last) * ir::constant_int(DType::i32, 256);
    return ir::binary(
        ir::BinaryOp::bit_and,
        ir::binary(ir::BinaryOp::shr, both, ir::cast(DType::i32, ir::floormod(begin, 8))), mask);
  }
  const Expr shift = ir::cast(DType::i32, ir::floormod(at, 8 / bits) * static_cast<double>(bits));
  return ir::binary(ir::BinaryOp::bit_and,
                    ir::binary(ir::BinaryOp::shr, byte(ir::floordiv(at, 8 / bits)), shift), mask);
}

std::vector<OpDef> microsoft_block_quantize_family() {
  TypeSet byte = only(DType::u8), nibble = only(DType::i4) | only(DType::u4);
  std::string ms(microsoft);
  auto optional = InputDef::optional;
  auto product = [](int64_t k, int64_t n, int64_t bits, int64_t block) {
    return Attributes{{"K", k}, {"N", n}, {"bits", bits}, {"block_size", block}};
  };
  std::vector<int64_t> none = {-1};
  return {
      {.name = "MatMulNBits",
       .doc = "A times the transpose of packed numbers of 2, 4 or 8 bits with a scale a block.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", any_float},
                  {"B", byte},
                  {"scales", any_float},
                  {"zero_points", any_float | byte, optional},
                  {"g_idx", only(DType::i32), optional},
                  {"bias", any_float, optional}},
       .attributes = {{"K", {}, true},
                      {"N", {}, true},
                      {"accuracy_level", 0},
                      {"bits", 4},
                      {"block_size", {}, true},
                      {"weight_prepacked", 0}},
       .define = matmul_bits,
       .cases = [=] -> Cases {
         return {{.name = "four bits",
                  .shapes = {{3, 40}, {5, 3, 8}, {5, 3}},
                  .attributes = product(40, 5, 4, 16),
                  .low = 0,
                  .high = 255},
                 {.name = "zero points, bias",
                  .shapes = {{2, 3, 40}, {5, 3, 8}, {15}, {}, none, {5}},
                  .attributes = product(40, 5, 4, 16),
                  .inputs = {{}, {}, {}, uint8s({5, 2}, {1, 2, 30, 4, 165, 6, 7, 80, 9, 10})},
                  .low = 0,
                  .high = 255},
                 {.name = "eight bits, real zero points",
                  .shapes = {{3, 32}, {5, 2, 16}, {5, 2}, {5, 2}},
                  .attributes = product(32, 5, 8, 16),
                  .low = 0,
                  .high = 255},
                 {.name = "two bits",
                  .shapes = {{3, 32}, {5, 1, 8}, {5}},
                  .attributes = product(32, 5, 2, 32),
                  .low = 0,
                  .high = 255}};
       }},
      {.name = "GatherBlockQuantized",
       .doc = "Slices at indices of blockwise quantised data, as real numbers.",
       .domain = ms,
       .since = 1,
       .inputs = {{"data", byte | nibble},
                  {"indices", integer_index},
                  {"scales", any_float},
                  {"zero_points", byte | nibble, optional}},
       .outputs = {"output"},
       .attributes = {{"bits", 4}, {"block_size", 128}, {"gather_axis", 0}, {"quantize_axis", 1}},
       .define = gather_block_quantized,
       .cases = [] -> Cases {
         return {{.name = "packed rows",
                  .shapes = {{4, 20}, {}, {4, 3}, {4, 2}},
                  .attributes = {{"block_size", 16}},
                  .inputs = {{}, int64s({2, 1}, {3, -4})},
                  .low = 0,
                  .high = 255},
                 {.name = "four bits, blocks along the second axis",
                  .shapes = {{2, 20, 3}, {}, {2, 2, 3}, {2, 2, 3}},
                  .attributes = {{"block_size", 16}, {"gather_axis", 2}},
                  .inputs = {{}, int64s({2}, {2, -3})},
                  .dtype = DType::i4,
                  .low = -8,
                  .high = 7},
                 {.name = "bytes",
                  .shapes = {{3, 2, 20}, {}, {3, 2, 2}},
                  .attributes = {{"bits", 8}, {"block_size", 16}, {"quantize_axis", -1}},
                  .inputs = {{}, int32s({2}, {0, 2})},
                  .low = 0,
                  .high = 255}};
       }},
  };
}

}  // namespace gossamer::ops
