#include "ops/text/powers_of_ten.h"

#include <algorithm>

namespace gossamer::ops {
namespace {

using Limbs = std::vector<uint32_t>;  // the least first

void multiply_by_ten(Limbs& number) {
  uint64_t carry = 0;
  for (uint32_t& limb : number) {
    carry += uint64_t{limb} * 10;
    limb = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  if (carry) number.push_back(static_cast<uint32_t>(carry));
}

void divide_by_ten(Limbs& number) {
  uint64_t rest = 0;
  for (size_t i = number.size(); i-- > 0;) {
    rest = rest << 32 | number[i];
    number[i] = static_cast<uint32_t>(rest / 10);
    rest %= 10;
  }
  while (number.back() == 0) number.pop_back();
}

// The leading bits as words, the greatest first; rounded up where others follow or `inexact`.
void append_leading(const Limbs& number, size_t words, bool inexact, std::vector<uint32_t>& into) {
  const auto limb = [&](size_t i) { return i < number.size() ? number[number.size() - 1 - i] : 0; };
  int shift = 0;
  while (!(number.back() << shift & 0x80000000u)) ++shift;
  Limbs leading;
  for (size_t i = 0; i < words; ++i) {
    const uint64_t two = uint64_t{limb(i)} << 32 | limb(i + 1);
    leading.push_back(static_cast<uint32_t>(two << shift >> 32));
  }
  for (size_t i = words; i < number.size(); ++i)
    inexact = inexact || (i == words ? limb(i) << shift : limb(i)) != 0;
  for (size_t i = words; inexact && i-- > 0;) inexact = ++leading[i] == 0;
  into.insert(into.end(), leading.begin(), leading.end());
}

TensorData powers(int first, int last, size_t words) {
  std::vector<uint32_t> below, table;
  // 10^k for k < 0 begins as 2^1312 / 10^-k does; the least, of k = -342, keeps 175 bits.
  Limbs number(42, 0);
  number.back() = 1;
  std::vector<Limbs> quotients;
  for (int k = -1; k >= first; --k) {
    divide_by_ten(number);
    quotients.push_back(number);
  }
  for (int k = first; k < std::min(0, last + 1); ++k)
    append_leading(quotients[static_cast<size_t>(-k - 1)], words, true, table);
  number = {1};
  for (int k = 0; k <= last; ++k) {
    if (k >= first) append_leading(number, words, false, table);
    multiply_by_ten(number);
  }
  TensorData data{DType::u32,
                  {last - first + 1, static_cast<int64_t>(words)},
                  std::vector<std::byte>(table.size() * sizeof(uint32_t)),
                  {}};
  std::ranges::copy(std::as_bytes(std::span(table)), data.bytes.begin());
  return data;
}

}  // namespace

Expr shifted_left(Expr a, Expr by) {
  return ir::binary(ir::BinaryOp::shl, std::move(a), std::move(by));
}
Expr shifted_right(Expr a, Expr by) {
  return ir::binary(ir::BinaryOp::shr, std::move(a), std::move(by));
}

Expr log2_of_power(const Expr& k) {
  const auto word = [](int64_t value) { return ir::constant_int(DType::i32, value); };
  return shifted_right(k * word(1741647), word(19));
}

PowersOfTen::PowersOfTen(Builder& b, DType word, int first, int last)
    : word_(word),
      first_(first),
      table_(b.constant(powers(first, last, word == DType::u64 ? 4 : 2))) {}

Expr PowersOfTen::word(const Expr& k, int which) const {
  const Expr row = as_index(k) - static_cast<double>(first_);
  if (word_ == DType::u32) return table_({row, ir::index(which)});
  // No constant of 64 bits: a GPU's package holds none.
  const Expr high = ir::cast(word_, table_({row, ir::index(2 * which)}));
  const Expr low = ir::cast(word_, table_({row, ir::index(2 * which + 1)}));
  return ir::binary(ir::BinaryOp::bit_or, shifted_left(high, ir::constant_int(word_, 32)), low);
}

Expr high_of_product(const Expr& a, const Expr& b) {
  const DType word = a->type.dtype;
  const int half = word == DType::u64 ? 32 : 16;
  const Expr bits = ir::constant_int(word, half);
  const auto low = [&](const Expr& x) {
    return ir::binary(ir::BinaryOp::bit_and, x, ir::constant_int(word, (int64_t{1} << half) - 1));
  };
  const auto high = [&](const Expr& x) { return shifted_right(x, bits); };
  const Expr first = low(a) * low(b), second = low(a) * high(b);
  const Expr middle = high(first) + low(second) + high(a) * low(b);
  return high(a) * high(b) + high(second) + high(middle);
}

}  // namespace gossamer::ops
