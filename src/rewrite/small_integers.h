// Numbers of a program that are integers of a few bits, whatever type holds them.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "stages/program.h"

namespace gossamer::rewrite {

// The least and the largest number.
struct IntegerRange {
  int64_t low, high;
  int64_t size() const { return std::max(-low, high); }
  bool fits(int64_t least, int64_t most) const { return low >= least && high <= most; }
};
// Constants whose elements are all integers of at most 16 bits.
using KnownIntegers = std::map<const ir::BufferNode*, IntegerRange>;

class SmallIntegers {
 public:
  using Range = IntegerRange;

  // `kept`: buffers that keep their type.
  SmallIntegers(stages::Program& program, const KnownIntegers& known,
                const std::unordered_set<const ir::BufferNode*>& kept);

  // What a number may be; nullopt: it is not known to be an integer of at most 16 bits.
  std::optional<Range> range_of(const ir::Expr& number);
  // The same number as an i32.
  ir::Expr integer(const ir::Expr& number);
  // The buffer of 16 bits that holds what `number` loads, which its stage now writes instead of
  // another; null: it has to stay as it is, or the number is no load.
  ir::Buffer narrowed(const ir::Expr& number);
  // The same in bytes, which hold the number plus `offset`; null, too, where 16 bits hold it
  // already.
  ir::Buffer narrowed_to_bytes(const ir::Expr& number, int64_t offset);
  // Stores numbers less what all of them share, such as a zero point that the run computes, without
  // taking it off, in bytes: those who read the buffer do. Null: it stays as it is.
  ir::Buffer store_minuends(const ir::Buffer& buffer);
  // The number plus an integer, as an i32.
  ir::Expr shifted(const ir::Expr& number, int64_t offset);
  // A stage that shall stand before the program's entry `place`; put there by `insert`.
  void add(size_t place, stages::Stage stage) { added_.emplace_back(place, std::move(stage)); }
  void insert();
  // The only stage that writes a buffer; null: none or several do.
  stages::Stage* maker_of(const ir::BufferNode* buffer);

 private:
  // What holds a buffer's numbers in fewer bits: each of them plus `offset` and `taken`.
  struct Narrow {
    ir::Buffer buffer;
    int64_t offset = 0;
    ir::Expr taken = {};  // an i32; null: nothing
  };
  // A number as the difference of one of 8 bits and what all points of a stage share.
  struct Difference {
    ir::Expr minuend, subtrahend;
  };
  std::optional<Difference> difference_of(const stages::Stage& stage, const ir::Expr& number);
  // Its only writer, if its numbers may be stored in fewer bits.
  stages::Stage* narrowable(const ir::Buffer& buffer);
  ir::Buffer narrow(const ir::Buffer& buffer, ir::DType dtype, int64_t offset);
  ir::Buffer store(const ir::Buffer& buffer, stages::Stage& stage, const ir::Expr& whole,
                   ir::DType dtype, int64_t offset, const ir::Expr& taken);
  static ir::Expr element_of(const Narrow& made, const std::vector<ir::Expr>& indices);
  void redirect(stages::Stage& stage, const ir::Buffer& from, const Narrow& to);

  stages::Program& program_;
  const std::unordered_set<const ir::BufferNode*>& kept_;
  std::map<const ir::BufferNode*, size_t> makers_;
  std::map<const ir::BufferNode*, std::optional<Range>> ranges_;
  std::map<const ir::BufferNode*, Narrow> narrowed_;
  std::vector<ir::Buffer> replaced_;                     // keys of the above stay alive
  std::vector<std::pair<size_t, stages::Stage>> added_;  // in the order of their places
};

}  // namespace gossamer::rewrite
