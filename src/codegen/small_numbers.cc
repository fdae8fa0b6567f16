#include "codegen/small_numbers.h"

#include "ir/build.h"

namespace gossamer::codegen {
std::optional<SmallNumbers> small_numbers(const ir::Expr& e) {
  if (const auto* difference = ir::as<ir::Binary>(e);
      difference && difference->op == ir::BinaryOp::sub) {
    const std::optional<double> less = ir::splat_float(difference->b);
    std::optional<SmallNumbers> numbers = small_numbers(difference->a);
    if (!less || !numbers || numbers->offset != 0) return std::nullopt;
    numbers->offset = *less;
    return numbers;
  }
  const auto* cast = ir::as<ir::Cast>(e);
  if (!cast || e->type.dtype != ir::DType::f32 || ir::byte_size(cast->a->type.dtype) != 4)
    return std::nullopt;
  const auto* bits = ir::as<ir::Binary>(cast->a);
  if (!bits || bits->op != ir::BinaryOp::bit_and) return std::nullopt;
  const std::optional<int64_t> mask = ir::splat_int(bits->b);
  if (!mask || *mask < 0 || *mask > 15) return std::nullopt;
  return SmallNumbers{bits->a, static_cast<int>(*mask)};
}

std::optional<ShiftedBytes> shifted_bytes(const ir::Expr& words) {
  if (const auto* shifted = ir::as<ir::Binary>(words);
      shifted && shifted->op == ir::BinaryOp::shr) {
    const std::optional<int64_t> by = ir::splat_int(shifted->b);
    std::optional<ShiftedBytes> of = shifted_bytes(shifted->a);
    if (!of || of->shift > 0 || !by || *by < 0 || *by > 7) return std::nullopt;
    of->shift = static_cast<int>(*by);
    return of;
  }
  const auto* cast = ir::as<ir::Cast>(words);
  if (!cast || cast->a->type.dtype != ir::DType::u8) return std::nullopt;
  return ShiftedBytes{cast->a};
}

}  // namespace gossamer::codegen
