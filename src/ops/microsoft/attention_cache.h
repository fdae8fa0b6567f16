// Caches of keys and values, of ONNX Runtime's attention of language models.
#pragma once

#include "ops/elementwise.h"

namespace gossamer::ops {

// What the lengths of this run say.
struct Lengths {
  Expr sequence;  // new elements
  Expr room;      // elements the present has room for
  Expr prompt;    // whether everything is new; null: it is
  Tensor last;    // of each sample, [batch] i32: all of its elements less one
  Tensor valid;   // of each sample, [batch] i32: new ones that are not padding; null: see before()
  Expr before(const Expr& sample) const {  // how many came before the new ones
    if (valid)
      return ir::max(as_index(last({sample})) + 1.0 - as_index(valid({sample})), ir::index(0));
    if (prompt.get() == nullptr) return ir::index(0);
    Expr past = ir::max(as_index(last({sample})) + 1.0 - sequence, ir::index(0));
    return ir::select(prompt, ir::index(0), past);
  }
};

// How a cache holds keys or values [batch, heads, length, width]: as they are, or as numbers of
// `bits` that a scale multiplies; two of four bits in a byte, the first one in its lower half.
struct Cache {
  DType dtype;
  int64_t bits = 0;  // 0: as they are
  Tensor scale;      // [1], or of a rank up to 4 whose extents are 1 or the cache's

  bool halves() const { return bits == 4; }
  // Of heads of `width` numbers.
  Expr stored_width(const Builder& b, const Expr& width) const {
    return halves() ? b.simplify(ir::floordiv(width + 1.0, 2)) : width;
  }
  Expr scale_at(Point p) const {
    std::vector<Expr> at;
    for (int axis = 0; axis < scale.rank(); ++axis)
      at.push_back(ir::is_const(scale.dim(axis), 1)
                       ? ir::index(0)
                       : p[static_cast<size_t>(axis + 4 - scale.rank())]);
    return ir::cast(DType::f32, scale.at(at));
  }
  // What the cache holds for the number at `p`.
  Expr encoded(const Expr& value, Point p) const {
    const Expr scaled = ir::cast(DType::f32, value) / scale_at(p);
    if (dtype == DType::i8) return quantized(scaled, {}, dtype);
    if (!halves()) return ir::cast(dtype, scaled);
    const Expr rounded = ir::min(ir::max(ir::round(scaled), ir::constant(DType::f32, -8)),
                                 ir::constant(DType::f32, 7));
    return ir::cast(DType::i32, rounded + 8.0);
  }
};

// `form`: the attribute that names it; `past` and `scale`: inputs, which may be absent.
Result<Cache> cache_of(Builder& b, std::string_view form, int past, int scale, DType dtype);

// New keys or values [batch, length, heads * width], as a cache holds them.
struct Fresh {
  Tensor tensor;
  Expr width;
  Cache cache;

  Expr number(const Expr& sample, const Expr& head, const Expr& row, const Expr& at) const {
    Expr value = tensor({sample, row, head * width + at});
    if (cache.bits == 0) return value;
    return cache.encoded(value, std::vector<Expr>{sample, head, row, at});
  }
  Expr row(Point p) const {
    if (!cache.halves()) return number(p[0], p[1], p[2], p[3]);
    const Expr low = number(p[0], p[1], p[2], p[3] * 2.0),
               high = number(p[0], p[1], p[2], ir::min(p[3] * 2.0 + 1.0, width - 1.0));
    return ir::cast(DType::u8, low + high * ir::constant_int(DType::i32, 16));
  }
};

// The past's elements and then the new ones, in heads; zero behind them.
Tensor present(Builder& b, const std::string& name, const Tensor& past, const Fresh& fresh,
               int64_t heads, const Lengths& lengths);

// A cache that holds the last elements alone (`sliding_window_cache`), the oldest first. When it is
// full, all but the last `window` ones are removed.
struct Slide {
  Expr capacity;
  double window = 0;

  Expr kept(const Expr& total) const {  // of `total` elements
    const Expr step = capacity - (window - 1), over = total - capacity;
    return ir::select(over <= 0.0, total, total - step * ir::floordiv(over + step - 1.0, step));
  }
  // The position of a row of pieces(), and whether it holds an element.
  Expr position(const Lengths& lengths, const Expr& sample, const Expr& row) const {
    const Expr before = lengths.before(sample);
    return before + ir::select(row < capacity, row - kept(before), row - capacity);
  }
  Expr exists(const Lengths& lengths, const Expr& sample, const Expr& row) const {
    return row >= capacity || row < kept(lengths.before(sample));
  }
};

// What the cache held, and the new elements behind it.
Tensor pieces(Builder& b, const std::string& name, const Tensor& past, const Fresh& fresh,
              const Slide& slide, const Lengths& lengths);

// What the cache holds then; zero behind it.
Tensor slid(Builder& b, const std::string& name, const Tensor& pieces, const Tensor& past,
            const Slide& slide, const Lengths& lengths);

// What a cache holds, in numbers of type `dtype`.
Tensor decoded(Builder& b, const Tensor& held, const Cache& cache, const Expr& width, DType dtype);

}  // namespace gossamer::ops
