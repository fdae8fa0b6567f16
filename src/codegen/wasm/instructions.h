// Which instructions compute one operation of the IR: on scalars, and on vectors cut into 128-bit
// pieces.
//
// Scalars: integers up to 32 bits and booleans (0 or 1) are i32, kept in the range of their type;
// i64 and u64 are i64. Vectors: a piece holds 4 lanes, or 2 of a 64-bit type. Lanes narrower than
// 32 bits are widened to i32 lanes; lanes of booleans are 32-bit masks. The last piece may be
// partly used; its other lanes hold anything.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "codegen/wasm/function.h"
#include "ir/nodes.h"

namespace gossamer::codegen::wasm {

// The pieces of a vector, in place: expressions make and drop them all the time.
class Pieces {
 public:
  static constexpr size_t capacity = 16;
  Pieces() = default;
  Pieces(std::initializer_list<ValueId> pieces) {
    for (ValueId piece : pieces) push_back(piece);
  }
  Pieces(size_t count, ValueId piece) {
    while (size_ < count) push_back(piece);
  }
  void push_back(ValueId piece) {
    GS_CHECK(size_ < capacity, "a vector of more than ", capacity, " pieces");
    pieces_[size_++] = piece;
  }
  ValueId& operator[](size_t at) { return pieces_[at]; }
  ValueId operator[](size_t at) const { return pieces_[at]; }
  ValueId* begin() { return pieces_; }
  ValueId* end() { return pieces_ + size_; }
  const ValueId* begin() const { return pieces_; }
  const ValueId* end() const { return pieces_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  uint32_t size_ = 0;
  ValueId pieces_[capacity];
};

ValType machine_type(ir::DType dtype);  // of a scalar
int lanes_per_piece(ir::DType dtype);   // 4 or 2
int piece_count(ir::Type type);
inline bool is_wide(ir::DType dtype) { return lanes_per_piece(dtype) == 2; }
bool is_unsigned(ir::DType dtype);  // boolean included

// What kernels use of relaxed SIMD.
struct Relaxed {
  bool simd = false, dots = false;
};

class Instructions {
 public:
  Instructions(Function& function, Relaxed relaxed) : f_(function), relaxed_(relaxed) {}

  // The types are those of the operands (comparisons give booleans).
  ValueId unary(ir::UnaryOp op, ir::DType dtype, ValueId a);
  ValueId binary(ir::BinaryOp op, ir::DType dtype, ValueId a, ValueId b);
  ValueId select(ir::DType dtype, ValueId condition, ValueId yes, ValueId no);
  ValueId cast(ir::DType to, ir::DType from, ValueId a);
  ValueId bitcast(ir::DType to, ir::DType from, ValueId a);
  ValueId constant(ir::DType dtype, int64_t integer, double number);

  Pieces unary(ir::UnaryOp op, ir::Type type, const Pieces& a);
  Pieces binary(ir::BinaryOp op, ir::Type type, const Pieces& a, const Pieces& b);
  Pieces fma(ir::Type type, const Pieces& a, const Pieces& b, const Pieces& c, bool negate_product);
  // Words of two signed halves.
  Pieces dot(const Pieces& a, const Pieces& b, const Pieces& c);
  // Words of four bytes: unsigned in a, signed in b.
  Pieces dot_of_bytes(const Pieces& a, const Pieces& b, const Pieces& c);
  Pieces select(ir::Type type, const Pieces& condition, const Pieces& yes, const Pieces& no);
  Pieces cast(ir::DType to, ir::Type from, const Pieces& a);
  Pieces bitcast(ir::DType to, ir::Type from, const Pieces& a);

  Pieces splat(ir::Type type, ValueId a);
  ValueId splat_piece(ir::DType dtype, ValueId a);
  Pieces build(ir::DType dtype, std::span<const ValueId> lanes);
  ValueId extract(ir::DType dtype, const Pieces& a, int lane);
  ValueId replace(ir::DType dtype, ValueId piece, int lane, ValueId a);
  ValueId shuffle_words(ValueId a, ValueId b, int w0, int w1, int w2,
                        int w3);  // 0-3 of a, 4-7 of b

  bool fuses(ir::Type type) const;  // a * b + c is one instruction

 private:
  ValueId integer_division(ir::BinaryOp op, ir::DType dtype, ValueId a, ValueId b);
  ValueId shift(ir::BinaryOp op, ir::DType dtype, ValueId a, ValueId b);
  ValueId wrap(ir::DType dtype, ValueId a);  // an i32 into the range of a small type
  ValueId wrap_piece(ir::DType dtype, ValueId a);
  ValueId float_to_small(ir::DType to, ValueId truncated);
  // 0 where there is no instruction for it.
  ValueId binary_piece(ir::BinaryOp op, ir::DType dtype, ValueId a, ValueId b);
  ValueId shift_piece(ir::BinaryOp op, ir::DType dtype, ValueId a, int64_t amount);
  ValueId unary_piece(ir::UnaryOp op, ir::DType dtype, ValueId a);
  ValueId compare_wide(ir::BinaryOp op, ir::DType dtype, ValueId a, ValueId b);
  ValueId narrow_cast_piece(ir::DType to, ir::DType from, ValueId a);  // both of 4 lanes
  ValueId v(Op op, ValueId a = 0, ValueId b = 0, ValueId c = 0) {
    return f_.op(op, ValType::v128, a, b, c);
  }
  ValueId i(Op op, ValueId a = 0, ValueId b = 0, ValueId c = 0) {
    return f_.op(op, ValType::i32, a, b, c);
  }
  ValueId splat_i32(int64_t value);
  ValueId splat_bits64(uint64_t bits) { return f_.v128(bits, bits); }
  bool is_splat(ValueId piece, ir::DType dtype, int64_t* value) const;

  Function& f_;
  Relaxed relaxed_;
};

}  // namespace gossamer::codegen::wasm
