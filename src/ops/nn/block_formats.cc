// Products with, and rows of, weights in the blocks of GGUF files, which stay as small as they are.
#include "ops/block_formats.h"

#include <memory>

#include "ir/print.h"
#include "ops/axes.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Expr shifted(const Expr& value, const Expr& by, int64_t mask) {
  return ir::binary(ir::BinaryOp::bit_and, ir::binary(ir::BinaryOp::shr, value, by), int32(mask));
}

Expr moved(const Expr& value, int64_t by) {
  return by == 0 ? value : ir::binary(ir::BinaryOp::shl, value, int32(by));
}

Expr joined(const Expr& a, const Expr& b) { return ir::binary(ir::BinaryOp::bit_or, a, b); }

// Blocks [rows, blocks, bytes] divided into tensors that kernels read fast: codes lie along a row,
// at multiples of what they read at a time.
class Blocks {
 public:
  Blocks(Builder& b, const Tensor& raw, const BlockFormat& format)
      : b_(b), raw_(raw), format_(format), low_(low()), high_(high()), scale_(half(format.scale)) {
    if (format.minimum >= 0) minimum_ = half(format.minimum);
    if (format.subs < 0) return;
    sub_scale_ = format.minimum >= 0 ? six_bits(false) : eight_bits(format.subs, part_count());
    if (format.minimum >= 0) sub_minimum_ = six_bits(true);
  }

  int64_t columns() const { return format_.numbers * blocks(); }

  // The number in a row at a column, f32: as ggml computes it, to the bit.
  Expr at(const Expr& row, const Expr& column) const {
    const auto real = [](const Expr& value) { return ir::cast(DType::f32, value); };
    const Expr block = ir::floordiv(column, format_.numbers);
    Expr code = packed_number(low_, {row}, column, format_.bits == 8 ? 8 : 4);
    if (high_) code = joined(code, moved(packed_number(high_, {row}, column, format_.bits - 4), 4));
    Expr value = real(code);
    if (format_.zero != 0) value = value - static_cast<double>(format_.zero);
    Expr scale = real(scale_({row, block}));
    Expr minimum = minimum_ ? real(minimum_({row, block})) : Expr();
    if (sub_scale_) {
      const Expr part = ir::floordiv(column, format_.sub_numbers);
      Expr factor = real(sub_scale_({row, part}));
      if (!sub_minimum_) factor = factor - 128.0;
      scale = scale * factor;
      if (sub_minimum_) minimum = minimum * real(sub_minimum_({row, part}));
    }
    value = value * scale;
    if (!minimum.get()) return value;
    return sub_minimum_ ? value - minimum : value + minimum;
  }

 private:
  int64_t blocks() const { return *ir::as_int(raw_.dim(1)); }
  int64_t part_count() const { return format_.numbers / format_.sub_numbers; }

  Expr byte(const Expr& row, const Expr& block, const Expr& at) const {
    return ir::cast(DType::i32, raw_({row, block, b_.simplify(at)}));
  }

  // [rows, count a block * blocks] bytes.
  Tensor bytes(
      const char* name, int64_t count,
      const std::function<Expr(const Expr& row, const Expr& block, const Expr& at)>& body) {
    return b_.compute(name, DType::u8, {raw_.dim(0), ir::index(count * blocks())}, [&](Point p) {
      return ir::cast(DType::u8, body(p[0], ir::floordiv(p[1], count), ir::floormod(p[1], count)));
    });
  }

  Tensor low() {
    if (format_.bits == 8) return eight_bits(format_.low, format_.numbers);
    const int64_t run = format_.run;
    return bytes(
        "blocks.low", format_.numbers / 2, [&](const Expr& row, const Expr& block, const Expr& at) {
          // Codes 2 at and 2 at + 1. Runs are longer, so both are in neighbouring bytes.
          const Expr code = at * 2.0;
          const Expr place = ir::floordiv(code, 2 * run) * static_cast<double>(run) +
                             ir::floormod(code, run) + static_cast<double>(format_.low);
          const Expr shift = ir::cast(DType::i32, ir::floormod(ir::floordiv(code, run), 2) * 4.0);
          return joined(shifted(byte(row, block, place), shift, 15),
                        moved(shifted(byte(row, block, place + 1.0), shift, 15), 4));
        });
  }

  Tensor high() {
    if (format_.high < 0) return {};
    const int64_t bits = format_.bits - 4, count = 8 / bits;
    return bytes(
        "blocks.high", format_.numbers * bits / 8,
        [&](const Expr& row, const Expr& block, const Expr& at) {
          const Expr code = at * static_cast<double>(count);
          // Those of plain blocks lie in order. Others have the bits of 32 codes in 32 bytes, and
          // of the next 32 behind them in the same bytes, until these are full.
          if (format_.sub_numbers == 0)
            return byte(row, block, at + static_cast<double>(format_.high));
          const int64_t full = 32 * count;
          const Expr place = ir::floordiv(code, full) * 32.0 + ir::floormod(code, 32) +
                             static_cast<double>(format_.high);
          const Expr shift = ir::cast(
              DType::i32, ir::floordiv(ir::floormod(code, full), 32) * static_cast<double>(bits));
          Expr all;
          for (int64_t i = 0; i < count; ++i) {
            const Expr one = moved(
                shifted(byte(row, block, place + static_cast<double>(i)), shift, (1 << bits) - 1),
                i * bits);
            all = all.get() ? joined(all, one) : one;
          }
          return all;
        });
  }

  Tensor half(int64_t offset) {
    return b_.compute("blocks.scale", DType::f16, {raw_.dim(0), raw_.dim(1)}, [&](Point p) {
      const Expr low = byte(p[0], p[1], ir::index(offset)),
                 high = byte(p[0], p[1], ir::index(offset + 1));
      return ir::bitcast(DType::f16, ir::cast(DType::u16, joined(low, moved(high, 8))));
    });
  }

  // Signed bytes as those without a sign that are 128 more.
  Tensor eight_bits(int64_t offset, int64_t count) {
    return bytes("blocks.signed", count, [&](const Expr& row, const Expr& block, const Expr& at) {
      return ir::binary(ir::BinaryOp::bit_xor, byte(row, block, at + static_cast<double>(offset)),
                        int32(128));
    });
  }

  // Eight scales and eight minima in twelve bytes: of the first four the low 6 bits of bytes 0 to 3
  // and 4 to 7, of the others 4 bits in bytes 8 to 11, with the high 2 of bytes 0 to 7.
  Tensor six_bits(bool minima) {
    return bytes(minima ? "blocks.minima" : "blocks.scales", 8,
                 [&](const Expr& row, const Expr& block, const Expr& at) {
                   const auto stored = [&](const Expr& place) {
                     return byte(row, block, place + static_cast<double>(format_.subs));
                   };
                   const Expr within = ir::floormod(at, 4);
                   const Expr first = stored(within + (minima ? 4.0 : 0.0));
                   const Expr second = shifted(stored(within + 8.0), int32(minima ? 4 : 0), 15);
                   return ir::select(at < ir::index(4), shifted(first, int32(0), 63),
                                     joined(second, moved(shifted(first, int32(6), 3), 4)));
                 });
  }

  Builder& b_;
  const Tensor& raw_;
  const BlockFormat& format_;
  Tensor low_, high_, scale_, minimum_ = {}, sub_scale_ = {}, sub_minimum_ = {};
};

// Weights [rows, columns] in any form: their elements as f32.
struct Weights {
  Expr rows, columns;
  std::function<Expr(const Expr& row, const Expr& column)> at;
};

Result<Weights> weights_of(Builder& b, int input) {
  const Tensor& w = b.input(input);
  const std::string name = b.text("format");
  if (name.empty()) {
    if (w.rank() != 2 || !ir::is_float(w.dtype())) return b.error("weights are [rows, columns]");
    return Weights{w.dim(0), w.dim(1), [&w](const Expr& row, const Expr& column) {
                     return ir::cast(DType::f32, w({row, column}));
                   }};
  }
  const BlockFormat* format = block_format(name);
  if (!format) return b.error(cat("the format \"", name, "\" is not known"));
  if (w.dtype() != DType::u8 || w.rank() != 3 || !ir::as_int(w.dim(1)) ||
      !ir::is_const(w.dim(2), format->bytes))
    return b.error(cat("weights in ", name, " are bytes [rows, blocks, ", format->bytes, "]"));
  const auto blocks = std::make_shared<Blocks>(b, w, *format);
  return Weights{w.dim(0), ir::index(blocks->columns()),
                 [blocks](const Expr& row, const Expr& column) { return blocks->at(row, column); }};
}

Result<> matmul_blocks(Builder& b) {
  const Tensor &a = b.input(0), &bias = b.input(2);
  GS_TRY(one_type(b, {0, 2}));
  if (a.rank() < 1) return b.error("A is a scalar");
  GS_ASSIGN(const Weights weights, weights_of(b, 1));
  GS_TRY(b.require(
      a.dim(-1) == weights.columns,
      cat("A has ", ir::print(a.dim(-1)), " columns, the weights ", ir::print(weights.columns))));
  GS_TRY(has_shape(b, 2, {weights.rows}));
  const bool packed = !b.text("format").empty();
  Tensor decoded;
  if (packed)
    decoded = b.compute("blocks.weights", DType::f32, {weights.rows, weights.columns},
                        [&](Point p) { return weights.at(p[0], p[1]); });
  Shape shape = a.shape();
  shape.back() = weights.rows;
  b.output(0, b.reduce(
                  "matmul_blocks", Builder::Join::sum, a.dtype(), shape, {weights.columns},
                  [&](Point p, Point r) {
                    std::vector<Expr> at(p.begin(), p.end());
                    at.back() = r[0];
                    return ir::cast(DType::f32, a.at(at)) *
                           (packed ? decoded({p.back(), r[0]}) : weights.at(p.back(), r[0]));
                  },
                  [&](Point p, Expr sum) {
                    if (bias) sum = sum + ir::cast(DType::f32, bias({p.back()}));
                    return ir::cast(a.dtype(), sum);
                  }));
  return {};
}

Result<> gather_blocks(Builder& b) {
  const Tensor& indices = b.input(1);
  GS_ASSIGN(const Weights weights, weights_of(b, 0));
  Shape shape = indices.shape();
  shape.push_back(weights.columns);
  b.output(0, b.compute(stage_name(b), DType::f32, shape, [&](Point p) {
    const Expr row = indices.at(p.subspan(0, p.size() - 1));
    return weights.at(wrapped_index(row, weights.rows), p.back());
  }));
  return {};
}

// Blocks with a scale of 1/16 and others near it.
TensorData example(const BlockFormat& format, int64_t rows, int64_t blocks) {
  TensorData data{DType::u8, {rows, blocks, format.bytes}, {}};
  for (int64_t i = 0; i < rows * blocks; ++i) {
    for (int64_t at = 0; at < format.bytes; ++at) {
      auto value = static_cast<uint8_t>(i * 89 + at * 37 + at * at);
      for (const int64_t half : {int64_t{format.scale}, int64_t{format.minimum}})
        if (half >= 0 && at == half + 1) value = static_cast<uint8_t>(0x24 + i % 5);
      data.bytes.push_back(std::byte{value});
    }
  }
  return data;
}

}  // namespace

std::vector<OpDef> block_format_family() {
  const TypeSet stored = only(DType::u8) | any_float;
  return {
      {.name = "MatMulBlocks",
       .doc = "A times the transpose of weights in the blocks of a GGUF file, or plain ones.",
       .domain = "ai.gossamer",
       .since = 1,
       .inputs = {{"A", any_float}, {"B", stored}, {"bias", any_float, InputDef::optional}},
       .attributes = {{"format", ""}},
       .define = matmul_blocks,
       .cases = [] -> Cases {
         Cases cases = {{.name = "plain, bias", .shapes = {{2, 3, 20}, {5, 20}, {5}}}};
         for (const BlockFormat& format : block_formats) {
           const int64_t blocks = format.numbers == 32 ? 3 : 1;
           cases.push_back({.name = std::string(format.name),
                            .shapes = {{3, blocks * format.numbers}},
                            .attributes = {{"format", std::string(format.name)}},
                            .inputs = {{}, example(format, 5, blocks)}});
         }
         return cases;
       }},
      {.name = "GatherBlocks",
       .doc = "Rows at indices of weights in the blocks of a GGUF file, or plain ones, as f32.",
       .domain = "ai.gossamer",
       .since = 1,
       .inputs = {{"data", stored}, {"indices", integer_index}},
       .attributes = {{"format", ""}},
       .define = gather_blocks,
       .cases = [] -> Cases {
         Cases cases = {
             {.name = "plain", .shapes = {{4, 7}}, .inputs = {{}, int64s({2, 1}, {3, -4})}}};
         for (const BlockFormat& format : block_formats)
           cases.push_back({.name = std::string(format.name),
                            .attributes = {{"format", std::string(format.name)}},
                            .inputs = {example(format, 4, 2), int64s({2}, {2, -4})}});
         return cases;
       }},
  };
}

}  // namespace gossamer::ops
