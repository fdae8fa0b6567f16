#include "rewrite/use_dots.h"

#include <algorithm>
#include <optional>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "rewrite/small_integers.h"
#include "stages/access.h"

namespace gossamer::rewrite {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using stages::Stage;
using target::Capabilities;

constexpr int64_t largest = 511;      // of a factor
constexpr int64_t least_columns = 4;  // points that share what is read of the rows
constexpr int64_t least_rows = 4;     // that pay for laying out the columns in each run
constexpr int64_t many_columns = 16;  // that pay for making words of what the rows' memory holds

bool is_sum_of_products(const Stage& stage) {
  if (stage.kind != stages::StageKind::reduce || stage.in_order ||
      !stages::is_sum(stage.accumulators) || !stage.starts.empty() || stage.values.size() != 1 ||
      !stage.side.empty())
    return false;
  const auto* product = ir::as<ir::Binary>(stage.values[0]);
  const DType dtype = stage.values[0]->type.dtype;
  return product && product->op == ir::BinaryOp::mul &&
         (dtype == DType::f32 || dtype == DType::i32);
}

// A factor: the elements of one buffer, each by itself.
struct Factor {
  Expr value;
  const ir::Load* load = nullptr;  // of the buffer; the others, of zero points, stand still
  int dim = -1;                    // of the buffer, which the axis in words runs along
  Expr first = {};                 // where the axis begins there; null: at 0
};

class Dots {
 public:
  Dots(stages::Program& program, const std::unordered_set<const ir::BufferNode*>& constants,
       const KnownIntegers& known, const std::unordered_set<const ir::BufferNode*>& kept,
       const Capabilities& capabilities)
      : program_(program),
        constants_(constants),
        numbers_(program, known, kept),
        capabilities_(capabilities) {
    for (const stages::Entry& entry : program) {
      const Stage* stage = entry.stage();
      const std::vector<Buffer> inputs = entry.inputs();
      if (stage && std::ranges::all_of(inputs, [&](const Buffer& b) { return is_constant(b); }))
        constants_.insert(stage->output.get());
    }
  }

  void run() {
    for (place_ = 0; place_ < program_.size(); ++place_) {
      Stage* stage = program_[place_].stage();
      if (stage && is_sum_of_products(*stage)) rewrite(*stage);
    }
    // Other sums, as of windows of one channel, read in 16 bits what they read in 32. With short
    // vectors, converting costs more than memory.
    for (const stages::Entry& entry : program_) {
      if (!capabilities_.windows_in_halves || !entry.stage() || !is_sum_of_products(*entry.stage()))
        continue;
      const Expr before = entry.stage()->values[0];
      const auto* product = ir::as<ir::Binary>(before);
      for (const Expr& factor : {product->a, product->b}) {
        if (!is_constant_factor(factor)) numbers_.narrowed(factor);
      }
    }
    numbers_.insert();
  }

 private:
  bool is_constant(const Buffer& buffer) const { return constants_.contains(buffer.get()); }

  bool is_constant_factor(const Expr& factor) const {
    return std::ranges::all_of(loads_of(factor),
                               [&](const ir::Load* load) { return is_constant(load->buffer); });
  }

  static bool uses_axes(const Stage& stage, const Expr& e) {
    const auto used = [&](const Var& axis) { return ir::uses(e, axis.get()); };
    return std::ranges::any_of(stage.axes, used) || std::ranges::any_of(stage.reduce_axes, used);
  }

  // The load whose elements a factor is made of, each by itself, where there is one.
  std::optional<Factor> factor_of(const Stage& stage, const Expr& value) {
    Factor factor{value};
    for (const ir::Load* load : loads_of(value)) {
      const bool moves = std::ranges::any_of(
          load->indices, [&](const Expr& index) { return uses_axes(stage, index); });
      if (!moves) continue;
      // The parameters of a column are read where the column is.
      if (!factor.load || load->indices.size() > factor.load->indices.size()) factor.load = load;
    }
    if (!factor.load || !element(stage, factor, point_of(*factor.load->buffer)).get())
      return std::nullopt;
    return factor;
  }

  static std::vector<Expr> point_of(const ir::BufferNode& buffer) {
    std::vector<Expr> point;
    for (size_t d = 0; d < buffer.shape.size(); ++d) point.push_back(ir::var(cat("i", d)));
    return point;
  }

  // The factor of the element at a point of its buffer; null where that depends on other than it.
  static Expr element(const Stage& stage, const Factor& factor, const std::vector<Expr>& point) {
    ir::VarMap axes;
    for (size_t d = 0; d < point.size(); ++d) {
      if (const auto* var = ir::as<ir::VarNode>(factor.load->indices[d])) axes[var] = point[d];
    }
    ir::Rewriter rewriter;
    rewriter.expr_before = [&](const Expr& e) -> Expr {
      const auto* load = ir::as<ir::Load>(e);
      if (!load || !ir::equal(e, Expr(factor.load))) return {};
      return ir::load(load->buffer, point);
    };
    const Expr moved = ir::substitute(ir::rewrite(factor.value, rewriter), axes);
    return uses_axes(stage, moved) ? Expr() : moved;
  }

  // The dimension whose index is the axis alone, where no other index has it. It may begin where
  // the point says, as at the channels of a group, in `first`.
  static int dim_of(const ir::Load& load, const Var& axis, Expr* first = nullptr) {
    int found = -1;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const Expr& index = load.indices[d];
      if (!ir::uses(index, axis.get())) continue;
      if (found >= 0) return -1;
      found = static_cast<int>(d);
      if (index.get() == axis.get()) continue;
      const auto* sum = ir::as<ir::Binary>(index);
      if (!first || !sum || sum->op != ir::BinaryOp::add) return -1;
      const bool left = sum->a.get() == axis.get();
      const Expr& rest = left ? sum->b : sum->a;
      if (ir::uses(rest, axis.get()) || (!left && sum->b.get() != axis.get())) return -1;
      *first = rest;
    }
    return found;
  }

  // Points along the axes that one factor has and the other has not, or only in runs.
  static int64_t points_of(const Stage& stage, const Factor& own, const Factor& other) {
    int64_t points = 1;
    for (size_t i = 0; i < stage.axes.size(); ++i) {
      const Var& axis = stage.axes[i];
      if (!ir::uses(own.value, axis.get())) continue;
      if (!ir::uses(other.value, axis.get())) {
        points *= std::max<int64_t>(ir::as_int(stage.extents[i]).value_or(1 << 10), 1);
      } else if (other.first.get()) {
        points *= run_of(other, axis);
      }
    }
    return points;
  }

  // How many neighbours along an axis share a group, whose place alone a factor takes of it.
  static int64_t run_of(const Factor& factor, const Var& axis) {
    int64_t run = 1;
    ir::visit(factor.first, [&](const Expr& e) {
      const auto* quotient = ir::as<ir::Binary>(e);
      if (quotient && quotient->op == ir::BinaryOp::floordiv && quotient->a.get() == axis.get())
        run = ir::as_int(quotient->b).value_or(1);
      return true;
    });
    return stages::is_shared(factor.value, axis, run) ? run : 1;
  }

  void rewrite(Stage& stage) {
    // Making a factor narrow changes the stages that read it, this one too.
    const Expr before = stage.values[0];
    const auto* product = ir::as<ir::Binary>(before);
    const auto left = numbers_.range_of(product->a), right = numbers_.range_of(product->b);
    if (!left || !right || std::max(left->size(), right->size()) > largest) return;
    auto a = factor_of(stage, product->a), b = factor_of(stage, product->b);
    if (!a || !b) return;
    if (is_constant(a->load->buffer) != is_constant(b->load->buffer)
            ? is_constant(a->load->buffer)
            : runs_along_points(stage, *a) && !runs_along_points(stage, *b))
      std::swap(a, b);
    Factor& rows = *a;
    Factor& columns = *b;
    const int64_t others = points_of(stage, rows, columns);
    if (others < (is_constant(columns.load->buffer) ? 1 : least_rows)) return;
    const int axis = axis_in_words(stage, rows, columns);
    if (axis < 0 || may_overflow(stage, *left, *right)) return;
    const Var& r = stage.reduce_axes[static_cast<size_t>(axis)];
    Expr& length = stage.reduce_extents[static_cast<size_t>(axis)];
    rows.dim = dim_of(*rows.load, r, &rows.first);
    columns.dim = dim_of(*columns.load, r);
    if (points_of(stage, columns, rows) < least_columns) return;
    if (!capabilities_.has_bytes && points_of(stage, columns, rows) < many_columns) return;
    if (sum_of_bytes(stage, rows, columns, length) || !capabilities_.dots) return;
    // Lanes of words of two groups are made one by one.
    if (rows.first.get() && points_of(stage, columns, rows) % least_columns != 0) return;
    const Expr row = row_words(stage, rows, extent_of(rows, length));
    const Expr column = words_of(stage, columns, length, 2);
    length = stages::ceil_div(length, 2);
    sum_of_dots(stage, row, column, 2);
  }

  // Where the columns are constants of 8 bits and their sign: the rows are stored as bytes that
  // hold them plus an integer, and the columns' sums times it are taken off the result. In memory
  // of words, the product makes bytes of the rows' numbers as it reads them.
  bool sum_of_bytes(Stage& stage, Factor& rows, const Factor& columns, Expr& length) {
    if (!capabilities_.byte_dots || !is_constant(columns.load->buffer) ||
        !in_words(rows.first, length, 4) || !numbers_.range_of(columns.value)->fits(-128, 127))
      return false;
    auto range = numbers_.range_of(rows.value);
    if (range->high - range->low > 255 && ir::as<ir::Load>(without_casts(rows.value))) {
      if (const Buffer bytes = numbers_.store_minuends(rows.load->buffer); bytes.get())
        rows = reread(stage, bytes, rows);
    }
    Expr number = without_casts(rows.value), offset = ir::constant_int(DType::i32, 0);
    const auto* difference = ir::as<ir::Binary>(number);
    if (range->high - range->low > 255 && difference && difference->op == ir::BinaryOp::sub &&
        !uses_axes(stage, difference->b)) {
      number = difference->a;
      offset = numbers_.integer(difference->b);
      range = numbers_.range_of(number);
    }
    if (range->high - range->low > 255) return false;
    const int64_t least = capabilities_.signed_bytes ? -128 : 0;
    const int64_t shift = range->fits(least, least + 255) ? 0 : least - range->low;
    offset = ir::simplify(offset + ir::constant_int(DType::i32, shift), {});
    rows.value = number;
    // Integers are bytes at once; floats would be converted.
    if (!capabilities_.has_bytes)
      numbers_.narrowed_to_bytes(number, std::max<int64_t>(-range->low, 0));
    const Expr extent = extent_of(rows, length);
    const Expr row = capabilities_.has_bytes ? row_bytes(stage, rows, shift, extent)
                                             : words_in_place(stage, rows, extent, 4, shift);
    Expr taken;
    if (const auto known = ir::as_int(offset)) {
      if (*known != 0) taken = column_sums(stage, columns, *known);
    } else {
      taken = offset * column_sums(stage, columns, 1);
    }
    const Expr column = words_of(stage, columns, length, 4);
    length = stages::ceil_div(length, 4);
    sum_of_dots(stage, row, column, 4, taken);
    return true;
  }

  static Expr without_casts(Expr e) {
    while (const auto* cast = ir::as<ir::Cast>(e)) e = cast->a;
    return e;
  }

  // The factor that loads a buffer.
  Factor reread(const Stage& stage, const Buffer& buffer, const Factor& before) {
    const auto* product = ir::as<ir::Binary>(stage.values[0]);
    auto found = factor_of(stage, product->a);
    if (!found || !found->load->buffer.same(buffer)) found = factor_of(stage, product->b);
    GS_CHECK(found && found->load->buffer.same(buffer), "a factor of its buffer");
    found->dim = before.dim;
    found->first = before.first;
    return *found;
  }

  // The sums of the columns times a factor, of a stage of its own, at load.
  Expr column_sums(const Stage& stage, const Factor& columns, int64_t factor) {
    Stage sums;
    sums.kind = stages::StageKind::reduce;
    sums.name = stage.name + ".sums";
    sums.origin = stage.origin;
    ir::VarMap fresh;
    std::vector<Expr> point;
    for (size_t i = 0; i < stage.axes.size(); ++i) {
      if (!ir::uses(columns.value, stage.axes[i].get())) continue;
      sums.axes.push_back(ir::var(cat("i", sums.axes.size())));
      sums.extents.push_back(stage.extents[i]);
      fresh[stage.axes[i].get()] = sums.axes.back();
      point.push_back(stage.axes[i]);
    }
    for (size_t r = 0; r < stage.reduce_axes.size(); ++r) {
      sums.reduce_axes.push_back(ir::var(cat("r", r)));
      sums.reduce_extents.push_back(stage.reduce_extents[r]);
      fresh[stage.reduce_axes[r].get()] = sums.reduce_axes.back();
    }
    sums.accumulators = sum_in_integers("acc", "term");
    sums.values = {ir::substitute(numbers_.integer(columns.value), fresh)};
    sums.result = sums.accumulators[0].left;
    if (factor != 1) sums.result = sums.result * ir::constant_int(DType::i32, factor);
    sums.output = ir::buffer(columns.load->buffer->name + ".sums", DType::i32, sums.extents);
    const Buffer output = sums.output;
    numbers_.add(place_, std::move(sums));
    return ir::load(output, std::move(point));
  }

  static stages::Accumulators sum_in_integers(const std::string& left, const std::string& right) {
    return {stages::sum_accumulator(ir::var(left, DType::i32), ir::var(right, DType::i32))};
  }

  static bool runs_along_points(const Stage& stage, const Factor& factor) {
    const Expr& last = factor.load->indices.back();
    return std::ranges::any_of(stage.axes,
                               [&](const Var& axis) { return ir::uses(last, axis.get()); });
  }

  // Whether an axis that begins in the middle of a dimension has whole words of `terms` there.
  static bool in_words(const Expr& first, const Expr& length, int64_t terms) {
    return !first.get() || (is_multiple(length, terms) &&
                            ir::is_const(ir::simplify(ir::floormod(first, terms)), 0));
  }

  // The longest axis of the reduction that both factors run along.
  static int axis_in_words(const Stage& stage, const Factor& rows, const Factor& columns) {
    int best = -1;
    int64_t longest = 1;
    for (size_t r = 0; r < stage.reduce_axes.size(); ++r) {
      const Var& axis = stage.reduce_axes[r];
      const int64_t length = ir::as_int(stage.reduce_extents[r]).value_or(1 << 10);
      Expr first;
      if (length <= longest || dim_of(*rows.load, axis, &first) < 0 ||
          dim_of(*columns.load, axis) < 0 || !in_words(first, stage.reduce_extents[r], 2))
        continue;
      best = static_cast<int>(r);
      longest = length;
    }
    return best;
  }

  // Sums in i32 wrap, which is what those in i32 did before.
  static bool may_overflow(const Stage& stage, SmallIntegers::Range a, SmallIntegers::Range b) {
    if (stage.values[0]->type.dtype == DType::i32) return false;
    double sum = static_cast<double>(a.size()) * static_cast<double>(b.size());
    for (const Expr& extent : stage.reduce_extents)
      sum *= static_cast<double>(ir::as_int(extent).value_or(int64_t{1} << 40));
    return sum > 2147483647.0;
  }

  // `taken`: off each sum; null: nothing.
  static void sum_of_dots(Stage& stage, const Expr& left, const Expr& right, int64_t terms,
                          const Expr& taken = {}) {
    const Var was = stage.accumulators[0].left;
    stages::Accumulators accumulators =
        sum_in_integers(was->name, stage.accumulators[0].right->name);
    const Expr sum = accumulators[0].left;
    const Expr whole = ir::cast(was->type.dtype, taken ? sum - taken : sum);
    stage.result = ir::substitute(stage.result, {{was.get(), whole}});
    stage.accumulators = std::move(accumulators);
    stage.values = {ir::dot(left, right, ir::constant_int(DType::i32, 0), terms)};
  }

  // Words of all terms: zero where one lies past the end.
  Expr word_at(const Stage& stage, const Factor& factor, std::vector<Expr> point,
               const Expr& length, int64_t terms, int64_t offset) {
    Expr& place = point[static_cast<size_t>(factor.dim)];
    const Expr first = place * ir::index(terms);
    const auto known = ir::as_int(length);
    const bool ends = !known || *known % terms != 0;
    const auto constant = [](int64_t value) { return ir::constant_int(DType::i32, value); };
    const int64_t bits = 32 / terms;
    Expr word;
    for (int64_t term = 0; term < terms; ++term) {
      place = term == 0 ? first : first + ir::index(term);
      Expr number = numbers_.shifted(inlined(element(stage, factor, point)), offset);
      if (ends && term > 0) number = ir::select(place < length, number, constant(0));
      if (term + 1 < terms)
        number = ir::binary(ir::BinaryOp::bit_and, number, constant((int64_t{1} << bits) - 1));
      if (term > 0) number = ir::binary(ir::BinaryOp::shl, number, constant(bits * term));
      word = term == 0 ? number : ir::binary(ir::BinaryOp::bit_or, word, number);
    }
    return word;
  }

  // Constants are computed from what they are made of, so that nothing else is kept at load.
  Expr inlined(const Expr& value) {
    const auto* load = ir::as<ir::Load>(value);
    if (!load || !is_constant(load->buffer)) return value;
    const Stage* maker = numbers_.maker_of(load->buffer.get());
    if (!maker || maker->kind != stages::StageKind::compute) return value;
    ir::VarMap axes;
    for (size_t i = 0; i < maker->axes.size(); ++i) axes[maker->axes[i].get()] = load->indices[i];
    return ir::substitute(maker->result, axes);
  }

  // A stage over all elements of the factor's buffer, so many of them along the axis in words.
  Stage copy_of(const Stage& stage, const Factor& factor, std::string_view name, DType dtype,
                const Expr& extent) const {
    const Buffer& source = factor.load->buffer;
    Stage copy;
    copy.name = stage.name + std::string(name);
    copy.origin = stage.origin;
    copy.extents = source->shape;
    copy.extents[static_cast<size_t>(factor.dim)] = extent;
    copy.output = ir::buffer(source->name + std::string(name), dtype, copy.extents);
    for (size_t d = 0; d < copy.extents.size(); ++d) copy.axes.push_back(ir::var(cat("i", d)));
    return copy;
  }

  static std::vector<Expr> indices_in(const Factor& factor, const Expr& place) {
    std::vector<Expr> indices = factor.load->indices;
    indices[static_cast<size_t>(factor.dim)] = place;
    return indices;
  }

  Expr words_of(const Stage& stage, const Factor& factor, const Expr& length, int64_t terms,
                int64_t offset = 0) {
    Stage copy = copy_of(stage, factor, ".words", DType::i32, stages::ceil_div(length, terms));
    copy.result = ir::simplify(
        word_at(stage, factor, {copy.axes.begin(), copy.axes.end()}, length, terms, offset),
        stages::bounds_of(copy));
    const Buffer words = copy.output;
    numbers_.add(place_, std::move(copy));
    return ir::load(words, indices_in(factor, word_place(stage, factor, terms)));
  }

  // The words of the stage's terms, made where they are read.
  Expr words_in_place(const Stage& stage, const Factor& factor, const Expr& length, int64_t terms,
                      int64_t offset) {
    const std::vector<Expr> point = point_of(*factor.load->buffer);
    const std::vector<Expr> indices = indices_in(factor, word_place(stage, factor, terms));
    const Expr word = word_at(stage, factor, point, length, terms, offset);
    ir::VarMap map;
    for (size_t d = 0; d < point.size(); ++d) map[ir::as<ir::VarNode>(point[d])] = indices[d];
    return ir::simplify(ir::substitute(word, map), {});
  }

  static const Var& axis_of(const Stage& stage, const Factor& factor) {
    const Expr& at = factor.load->indices[static_cast<size_t>(factor.dim)];
    return *std::ranges::find_if(stage.reduce_axes,
                                 [&](const Var& r) { return ir::uses(at, r.get()); });
  }

  static Expr word_place(const Stage& stage, const Factor& factor, int64_t terms) {
    const Expr place = axis_of(stage, factor);
    return factor.first.get() ? ir::simplify(ir::floordiv(factor.first, terms)) + place : place;
  }

  // Of the dimension that the axis in words runs along.
  static Expr extent_of(const Factor& factor, const Expr& length) {
    return factor.first.get() ? factor.load->buffer->shape[static_cast<size_t>(factor.dim)]
                              : length;
  }

  // Halves that lie beside each other are read as a word; elsewhere a stage makes words of them.
  Expr row_words(const Stage& stage, const Factor& factor, const Expr& length) {
    Buffer halves;
    if (is_multiple(length, 2)) halves = numbers_.narrowed(factor.value);
    if (!halves && !is_last(factor)) return words_of(stage, factor, length, 2);
    if (!halves) halves = copied(stage, factor, ".halves", DType::i16, 0, length, 2);
    return neighbours(stage, factor, halves, DType::i32, 2);
  }

  // The same in bytes, of which each holds a number plus `offset`.
  Expr row_bytes(const Stage& stage, const Factor& factor, int64_t offset, const Expr& length) {
    Buffer bytes;
    if (is_multiple(length, 4)) bytes = numbers_.narrowed_to_bytes(factor.value, offset);
    if (!bytes && !is_last(factor))
      return ir::bitcast(DType::u32, words_of(stage, factor, length, 4, offset));
    if (!bytes) bytes = copied(stage, factor, ".bytes", DType::u8, offset, length, 4);
    return neighbours(stage, factor, bytes, DType::u32, 4);
  }

  static bool is_multiple(const Expr& length, int64_t terms) {
    const auto known = ir::as_int(length);
    return known && *known % terms == 0;
  }

  static bool is_last(const Factor& factor) {
    return factor.dim + 1 == static_cast<int>(factor.load->buffer->shape.size());
  }

  // A copy of the factor whose rows end in zeros.
  Buffer copied(const Stage& stage, const Factor& factor, std::string_view name, DType dtype,
                int64_t offset, const Expr& length, int64_t terms) {
    Stage copy = copy_of(stage, factor, name, dtype, stages::round_up(length, terms));
    const std::vector<Expr> point(copy.axes.begin(), copy.axes.end());
    Expr number = numbers_.shifted(element(stage, factor, point), offset);
    if (!is_multiple(length, terms))
      number = ir::select(point[static_cast<size_t>(factor.dim)] < length, number,
                          ir::constant_int(DType::i32, 0));
    copy.result = ir::simplify(ir::cast(dtype, number), stages::bounds_of(copy));
    const Buffer output = copy.output;
    numbers_.add(place_, std::move(copy));
    return output;
  }

  static Expr neighbours(const Stage& stage, const Factor& factor, const Buffer& buffer, DType word,
                         int64_t terms) {
    const Expr along = axis_of(stage, factor) * ir::index(terms);
    const Expr first = factor.first.get() ? factor.first + along : along;
    return ir::bitcast(word, ir::load(buffer, indices_in(factor, ir::ramp(first, 1, terms))));
  }

  stages::Program& program_;
  std::unordered_set<const ir::BufferNode*> constants_;
  SmallIntegers numbers_;
  const Capabilities& capabilities_;
  size_t place_ = 0;
};

}  // namespace

void use_dots(stages::Program& program, const std::unordered_set<const ir::BufferNode*>& constants,
              const KnownIntegers& known, const std::unordered_set<const ir::BufferNode*>& kept,
              const Capabilities& capabilities) {
  if (capabilities.dots || capabilities.byte_dots)
    Dots(program, constants, known, kept, capabilities).run();
}

}  // namespace gossamer::rewrite
