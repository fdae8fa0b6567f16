#include "rewrite/radix_sort.h"

#include <algorithm>
#include <limits>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/access.h"

namespace gossamer::rewrite {
namespace {

using ir::BinaryOp;
using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

// Elements from which digits take less than merges; from which three long digits take less than
// four short ones; of a chunk at least; chunks of a known axis at most.
constexpr int64_t least = 1024, long_digits = 8192, chunk = 1 << 15, most_chunks = 16;
constexpr int key_bits = 32;

Expr whole(DType type, int64_t value) { return ir::constant_int(type, value); }

class RadixSorter {
 public:
  RadixSorter(const Stage& sort, std::vector<Stage>& made)
      : sort_(sort), made_(made), length_(sort.reduce_extents[0]) {
    const auto known = ir::as_int(length_);
    digit_ = known && *known < long_digits ? 8 : 11;
    int64_t chunks = 0;
    if (known) chunks = std::clamp<int64_t>(*known / chunk, 1, most_chunks);
    chunk_ = known ? (*known + chunks - 1) / chunks : 2 * chunk;
    chunks_ = ir::simplify(stages::ceil_div(length_, chunk_));
    for (size_t i = 0; i < sort.extents.size(); ++i) {
      if (i != sort.along) rows_.push_back(sort.extents[i]);
    }
  }

  void run() {
    Buffer order = keys();
    const Buffer none = zeros();
    for (int shift = 0; shift < key_bits; shift += digit_) {
      order = placed(order, starts(counts(order, none, shift), shift), shift);
    }
  }

 private:
  std::vector<Expr> with(std::vector<Expr> row, const std::vector<Expr>& along) const {
    row.insert(row.end(), along.begin(), along.end());
    return row;
  }

  // A stage over the sort's rows and these axes.
  Stage stage(StageKind kind, const std::string& what, DType dtype,
              const std::vector<Expr>& along) const {
    Stage one;
    one.kind = kind;
    one.name = sort_.name + what;
    one.origin = sort_.origin;
    one.extents = with(rows_, along);
    for (size_t i = 0; i < one.extents.size(); ++i) one.axes.push_back(ir::var(cat("i", i)));
    one.along = one.axes.size() - 1;
    one.output = ir::buffer(sort_.output->name + what, dtype, one.extents);
    return one;
  }

  static void sum_of(Stage& one, const Expr& term) {
    const Var left = ir::var("acc", DType::i32), right = ir::var("term", DType::i32);
    one.accumulators = {stages::sum_accumulator(left, right)};
    one.values = {term};
  }

  std::vector<Expr> row_of(const Stage& one) const {
    return {one.axes.begin(), one.axes.begin() + static_cast<std::ptrdiff_t>(rows_.size())};
  }

  // As numbers without a sign.
  Buffer keys() {
    Stage keys = stage(StageKind::compute, ".keys", DType::i32, {length_});
    const std::vector<Expr> row = row_of(keys);
    ir::VarMap axes{{sort_.reduce_axes[0].get(), keys.axes.back()}};
    for (size_t i = 0, next = 0; i < sort_.axes.size(); ++i) {
      if (i != sort_.along) axes[sort_.axes[i].get()] = row[next++];
    }
    keys.result = ir::binary(BinaryOp::bit_xor, ir::substitute(sort_.values[0], axes),
                             whole(DType::i32, std::numeric_limits<int32_t>::min()));
    made_.push_back(keys);
    return keys.output;
  }

  Buffer zeros() {
    Stage none = stage(StageKind::compute, ".none", DType::i32, {chunks_, buckets()});
    none.result = whole(DType::i32, 0);
    made_.push_back(none);
    return none.output;
  }

  // Axes: rows, chunks, elements of a chunk.
  Stage in_chunks(const std::string& what) const {
    Stage one = stage(StageKind::scatter, what, DType::i32,
                      {chunks_, ir::simplify(ir::min(ir::index(chunk_), length_))});
    one.output = {};
    const Expr place = place_of(one);
    if (!ir::prove_equal(ir::simplify(chunks_ * ir::index(chunk_)), length_))
      one.condition = place < length_;
    return one;
  }
  Expr place_of(const Stage& one) const {
    return Expr(one.axes[rows_.size()]) * ir::index(chunk_) + one.axes.back();
  }

  // The element at a stage's place: keys at first, then words of the key above the place.
  Expr element(const Stage& one, const Buffer& order) const {
    Expr place = place_of(one);
    if (one.condition) place = ir::min(place, length_ - ir::index(1));
    return ir::load(order, with(row_of(one), {place}));
  }

  Expr buckets() const { return ir::index(int64_t{1} << digit_); }

  Expr bucket(const Expr& element, int shift) const {
    const DType type = element->type.dtype;
    const int bits = shift + (type == DType::i64 ? key_bits : 0);
    const Expr digit =
        ir::binary(BinaryOp::bit_and, ir::binary(BinaryOp::shr, element, whole(type, bits)),
                   whole(type, (int64_t{1} << std::min(digit_, key_bits - shift)) - 1));
    return ir::cast(DType::index, digit);
  }

  std::string pass(std::string_view what, int shift) const {
    return cat(".", what, shift / digit_);
  }

  // How many elements of each chunk have each digit: [rows.., chunks, buckets].
  Buffer counts(const Buffer& order, const Buffer& none, int shift) {
    Stage count = in_chunks(pass("counts", shift));
    count.initial = none;
    count.output = ir::buffer(sort_.output->name + pass("counts", shift), DType::i32, none->shape);
    count.target =
        with(row_of(count), {count.axes[rows_.size()], bucket(element(count, order), shift)});
    sum_of(count, whole(DType::i32, 1));
    made_.push_back(count);
    return count.output;
  }

  // Where the elements of each digit, and of equal digits those of each chunk, begin:
  // [rows.., digits x chunks].
  Buffer starts(const Buffer& counts, int shift) {
    Stage start = stage(StageKind::scan, pass("starts", shift), DType::i32,
                        {ir::simplify(buckets() * chunks_)});
    const Expr at = start.axes.back();
    const Expr own = ir::load(
        counts, with(row_of(start), {ir::floormod(at, chunks_), ir::floordiv(at, chunks_)}));
    sum_of(start, own);
    start.result = Expr(start.accumulators[0].left) - own;
    made_.push_back(start);
    return start.output;
  }

  // Elements by this digit, in the order that they have; the last time, where they lie.
  Buffer placed(const Buffer& order, const Buffer& from, int shift) {
    const bool last = shift + digit_ >= key_bits;
    const bool direct = last && whole_rows();
    Stage put = in_chunks(direct ? "" : pass("placed", shift));
    put.output = direct ? sort_.output
                        : ir::buffer(sort_.output->name + pass("placed", shift),
                                     last ? DType::i32 : DType::i64, with(rows_, {length_}));
    const Expr here = element(put, order);
    put.tally = ir::var("place", DType::i32);
    const Var digit = ir::var("digit");
    put.reduce_axes = {digit};
    put.reduce_extents = {buckets()};
    const Expr first = Expr(digit) * chunks_ + put.axes[rows_.size()];
    put.starts = {ir::load(from, with(row_of(put), {first}))};
    put.table = ir::buffer(sort_.output->name + pass("table", shift), DType::i32,
                           with(rows_, {chunks_, buckets()}));
    const auto wide = [](const Expr& e) { return ir::cast(DType::i64, e); };
    Expr value = here;
    if (last) {
      value = ir::cast(DType::i32, here);
    } else if (shift == 0) {
      value = ir::binary(BinaryOp::bit_or,
                         ir::binary(BinaryOp::shl, wide(here), whole(DType::i64, key_bits)),
                         wide(place_of(put)));
    }
    put.values = {value, bucket(here, shift)};
    put.target = with(row_of(put), {ir::cast(DType::index, put.tally)});
    made_.push_back(put);
    if (last && !direct) take(put.output);
    return put.output;
  }

  // All elements are wanted, and rows lie along their axis.
  bool whole_rows() const {
    return sort_.along + 1 == sort_.extents.size() &&
           ir::prove_equal(sort_.extents[sort_.along], length_);
  }

  // Those that are wanted.
  void take(const Buffer& order) {
    Stage taken = sort_;
    taken.kind = StageKind::compute;
    taken.accumulators = {};
    taken.values.clear();
    taken.reduce_axes.clear();
    taken.reduce_extents.clear();
    std::vector<Expr> place(sort_.axes.begin(), sort_.axes.end());
    std::ranges::rotate(place.begin() + static_cast<std::ptrdiff_t>(sort_.along),
                        place.begin() + static_cast<std::ptrdiff_t>(sort_.along) + 1, place.end());
    taken.result = ir::load(order, std::move(place));
    made_.push_back(std::move(taken));
  }

  const Stage& sort_;
  std::vector<Stage>& made_;
  const Expr length_;
  std::vector<Expr> rows_;
  Expr chunks_;
  int64_t chunk_ = 0;
  int digit_ = 0;
};

}  // namespace

bool rises_with_key(const Stage& sort) {
  const stages::Accumulators& order = sort.accumulators;
  if (order.size() != 1 || order[0].left->type != ir::Type(DType::i32)) return false;
  const Expr left = order[0].left, right = order[0].right;
  return ir::equal(order[0].joined, left < right) || ir::equal(order[0].joined, right > left);
}

bool has_digits(const Stage& sort, const Capabilities& capabilities) {
  return capabilities.scatters && rises_with_key(sort) &&
         ir::as_int(sort.reduce_extents[0]).value_or(least) >= least;
}

void sort_by_digits(const Stage& sort, std::vector<Stage>& made) { RadixSorter(sort, made).run(); }

}  // namespace gossamer::rewrite
