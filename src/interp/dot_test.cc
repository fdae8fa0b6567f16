// Dots of words against their definition, and what replaces them on other machines.
#include <gtest/gtest.h>

#include <cstring>

#include "interp/expr_eval.h"
#include "ir/build.h"

namespace gossamer::interp {
namespace {

using ir::DType;
using ir::Scalar;

// The words' integers as they lie in memory.
template <class A, class B>
int64_t sum_of(uint32_t a, uint32_t b, int32_t c) {
  constexpr size_t count = 4 / sizeof(A);
  A left[count];
  B right[count];
  std::memcpy(left, &a, 4);
  std::memcpy(right, &b, 4);
  int64_t sum = c;
  for (size_t i = 0; i < count; ++i) sum += int64_t{left[i]} * int64_t{right[i]};
  return static_cast<int32_t>(static_cast<uint32_t>(sum));
}

int64_t expected(int64_t terms, bool a_signed, bool b_signed, uint32_t a, uint32_t b, int32_t c) {
  if (terms == 2) {
    if (a_signed)
      return b_signed ? sum_of<int16_t, int16_t>(a, b, c) : sum_of<int16_t, uint16_t>(a, b, c);
    return b_signed ? sum_of<uint16_t, int16_t>(a, b, c) : sum_of<uint16_t, uint16_t>(a, b, c);
  }
  if (a_signed)
    return b_signed ? sum_of<int8_t, int8_t>(a, b, c) : sum_of<int8_t, uint8_t>(a, b, c);
  return b_signed ? sum_of<uint8_t, int8_t>(a, b, c) : sum_of<uint8_t, uint8_t>(a, b, c);
}

TEST(Dot, IsTheSumOfTheProductsOfItsIntegers) {
  constexpr uint32_t words[] = {0,          1,          0x80008000, 0x7fff7fff, 0x80808080,
                                0x7f7f7f7f, 0xffffffff, 0xff8001fe, 0x00ff0080, 0x12345678};
  constexpr int32_t sums[] = {0, -1, 2147483647, -2147483647 - 1};
  for (int64_t terms : {2, 4})
    for (bool a_signed : {false, true})
      for (bool b_signed : {false, true})
        for (uint32_t a : words)
          for (uint32_t b : words)
            for (int32_t c : sums) {
              const auto word = [](bool is_signed, uint32_t bits) {
                return is_signed ? ir::constant_int(DType::i32, static_cast<int32_t>(bits))
                                 : ir::constant_int(DType::u32, bits);
              };
              const ir::Expr dot = ir::dot(word(a_signed, a), word(b_signed, b),
                                           ir::constant_int(DType::i32, c), terms);
              const int64_t sum = expected(terms, a_signed, b_signed, a, b, c);
              ASSERT_EQ(evaluate(dot, {}, {}).i, sum) << terms << " " << a << " " << b << " " << c;
              ASSERT_EQ(evaluate(ir::dot_by_terms(*ir::as<ir::Dot>(dot)), {}, {}).i, sum)
                  << terms << " " << a << " " << b << " " << c;
            }
}

}  // namespace
}  // namespace gossamer::interp
