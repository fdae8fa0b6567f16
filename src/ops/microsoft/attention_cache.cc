#include "ops/microsoft/attention_cache.h"

#include "ir/print.h"
#include "ops/microsoft/fused.h"

namespace gossamer::ops {

Result<Cache> cache_of(Builder& b, std::string_view form, int past, int scale, DType dtype) {
  if (b.text(form) == "NONE") {
    if (b.has(past) && b.input(past).dtype() != dtype)
      return b.error(cat("the cache is of type ", ir::name_of(b.input(past).dtype()), ", and `",
                         form, "` is NONE"));
    return Cache{dtype, 0, {}};
  }
  Cache cache{DType::i8, b.integer("kv_cache_bit_width"), b.input(scale)};
  if (cache.bits == 0) cache.bits = 8;
  if (cache.bits != 4 && cache.bits != 8)
    return b.error(cat("`kv_cache_bit_width` is ", cache.bits, "; 4 and 8 are supported"));
  if (!cache.scale || cache.scale.rank() > 4)
    return b.error(cat("a cache with `", form, "` needs a scale of rank 4 or less"));
  if (cache.halves()) cache.dtype = DType::u8;
  if (b.has(past)) cache.dtype = b.input(past).dtype();
  if (cache.halves() ? cache.dtype != DType::u8 : cache.dtype == DType::u8)
    return b.error(cat("a cache of ", cache.bits, " bits is of type ", ir::name_of(cache.dtype)));
  return cache;
}

Tensor present(Builder& b, const std::string& name, const Tensor& past, const Fresh& fresh,
               int64_t heads, const Lengths& lengths) {
  const DType dtype = fresh.cache.dtype;
  Shape shape = {fresh.tensor.dim(0), ir::index(heads), lengths.room,
                 fresh.cache.stored_width(b, fresh.width)};
  const auto row = [&](Point p) { return fresh.row(p); };
  if (past)
    return b.append(
        name, past, shape, 2, lengths.sequence, [&](Point p) { return lengths.before(p[0]); }, row);
  return b.compute(name, dtype, shape, [&](Point p) {
    return ir::select(p[2] < lengths.sequence, row(p), ir::zero(dtype));
  });
}

Tensor pieces(Builder& b, const std::string& name, const Tensor& past, const Fresh& fresh,
              const Slide& slide, const Lengths& lengths) {
  Shape shape = past.shape();
  shape[2] = b.simplify(slide.capacity + lengths.sequence);
  return b.compute(name, past.dtype(), shape, [&](Point p) {
    std::vector<Expr> at(p.begin(), p.end());
    at[2] = p[2] - slide.capacity;
    return ir::select(p[2] < slide.capacity, past.at(p), fresh.row(at));
  });
}

Tensor slid(Builder& b, const std::string& name, const Tensor& pieces, const Tensor& past,
            const Slide& slide, const Lengths& lengths) {
  return b.compute(name, past.dtype(), past.shape(), [&](Point p) {
    const Expr total = as_index(lengths.last({p[0]})) + 1.0, kept = slide.kept(total),
               before = lengths.before(p[0]), position = total - kept + p[2];
    std::vector<Expr> at(p.begin(), p.end());
    at[2] = ir::select(position < before, position - before + slide.kept(before),
                       position - before + slide.capacity);
    return ir::select(p[2] < kept, pieces.at(at), ir::zero(past.dtype()));
  });
}

Tensor decoded(Builder& b, const Tensor& held, const Cache& cache, const Expr& width, DType dtype) {
  if (cache.bits == 0) return held;
  Shape shape = held.shape();
  shape[3] = width;
  return b.compute("group_attention.decoded", dtype, shape, [&](Point p) {
    const Expr value =
        cache.halves() ? packed_number(held, {p[0], p[1], p[2]}, p[3], 4) - 8.0 : held.at(p);
    return ir::cast(dtype, ir::cast(DType::f32, value) * cache.scale_at(p));
  });
}

}  // namespace gossamer::ops
