#include "rewrite/small_integers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::rewrite {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using stages::Stage;

constexpr int64_t most = std::numeric_limits<int16_t>::max();

bool is_wide(DType dtype) { return dtype == DType::f32 || dtype == DType::i32; }

std::optional<SmallIntegers::Range> checked(int64_t low, int64_t high) {
  if (low < -most || high > most) return std::nullopt;
  return SmallIntegers::Range{low, high};
}

Expr constant(int64_t value) { return ir::constant_int(DType::i32, value); }

}  // namespace

Expr SmallIntegers::element_of(const Narrow& made, const std::vector<Expr>& indices) {
  const Expr element = ir::cast(DType::i32, ir::load(made.buffer, indices));
  const Expr number = made.offset == 0 ? element : element - constant(made.offset);
  return made.taken.get() ? number - made.taken : number;
}

// Each load of `from` reads `to`, whose element type is another, in its place.
void SmallIntegers::redirect(Stage& stage, const Buffer& from, const Narrow& to) {
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    if (!load || !load->buffer.same(from)) return {};
    if (to.offset == 0 && !to.taken.get())
      return ir::cast(from->dtype, ir::load(to.buffer, load->indices));
    return ir::cast(from->dtype, element_of(to, load->indices));
  };
  stages::visit_exprs(stage, stages::may_load, [&](Expr& e) { e = ir::rewrite(e, rewriter); });
}

SmallIntegers::SmallIntegers(stages::Program& program, const KnownIntegers& known,
                             const std::unordered_set<const ir::BufferNode*>& kept)
    : program_(program), kept_(kept) {
  std::unordered_set<const ir::BufferNode*> several;
  for (size_t i = 0; i < program.size(); ++i) {
    const Buffer output = program[i].output();
    if (!output) continue;
    if (!program[i].stage() || !makers_.emplace(output.get(), i).second)
      several.insert(output.get());
  }
  for (const ir::BufferNode* buffer : several) makers_.erase(buffer);
  for (const auto& [buffer, range] : known) ranges_[buffer] = range;
}

Stage* SmallIntegers::maker_of(const ir::BufferNode* buffer) {
  const auto found = makers_.find(buffer);
  return found == makers_.end() ? nullptr : program_[found->second].stage();
}

std::optional<SmallIntegers::Range> SmallIntegers::range_of(const Expr& e) {
  const DType dtype = e->type.dtype;
  if (!e->type.is_scalar()) return std::nullopt;
  if (const auto* load = ir::as<ir::Load>(e); load && !is_wide(dtype)) {
    const auto known = ranges_.find(load->buffer.get());
    if (known != ranges_.end()) return known->second;
  }
  if (dtype == DType::u8) return Range{0, 255};
  if (dtype == DType::i8) return Range{-128, 127};
  if (!is_wide(dtype)) return std::nullopt;
  if (const auto number = ir::as_int(e)) return checked(*number, *number);
  if (const auto* number = ir::as<ir::FloatImm>(e)) {
    if (std::abs(number->value) > most || std::trunc(number->value) != number->value)
      return std::nullopt;
    const auto value = static_cast<int64_t>(number->value);
    return Range{value, value};
  }
  if (const auto* cast = ir::as<ir::Cast>(e)) return range_of(cast->a);
  if (const auto* select = ir::as<ir::Select>(e)) {
    const auto yes = range_of(select->yes), no = range_of(select->no);
    if (!yes || !no) return std::nullopt;
    return Range{std::min(yes->low, no->low), std::max(yes->high, no->high)};
  }
  if (const auto* binary = ir::as<ir::Binary>(e)) {
    if (binary->op != ir::BinaryOp::add && binary->op != ir::BinaryOp::sub) return std::nullopt;
    const auto a = range_of(binary->a), b = range_of(binary->b);
    if (!a || !b) return std::nullopt;
    return binary->op == ir::BinaryOp::add ? checked(a->low + b->low, a->high + b->high)
                                           : checked(a->low - b->high, a->high - b->low);
  }
  const auto* load = ir::as<ir::Load>(e);
  if (!load) return std::nullopt;
  const auto [known, fresh] = ranges_.emplace(load->buffer.get(), std::nullopt);
  if (!fresh) return known->second;
  const Stage* stage = maker_of(load->buffer.get());
  const bool has_result = stage && (stage->kind == stages::StageKind::compute ||
                                    stage->kind == stages::StageKind::reduce);
  if (!has_result) return std::nullopt;
  const auto range = range_of(stage->result);
  return ranges_[load->buffer.get()] = range;
}

Expr SmallIntegers::integer(const Expr& e) {
  const DType dtype = e->type.dtype;
  if (ir::is_int(dtype)) {
    if (const auto* cast = ir::as<ir::Cast>(e); cast && dtype == DType::i32 && range_of(e))
      return integer(cast->a);
    if (dtype != DType::i32) return ir::cast(DType::i32, e);
  }
  if (const auto* number = ir::as<ir::FloatImm>(e))
    return ir::constant_int(DType::i32, static_cast<int64_t>(number->value));
  if (const auto* cast = ir::as<ir::Cast>(e)) return integer(cast->a);
  if (const auto* select = ir::as<ir::Select>(e))
    return ir::select(select->condition, integer(select->yes), integer(select->no));
  if (const auto* binary = ir::as<ir::Binary>(e))
    return ir::binary(binary->op, integer(binary->a), integer(binary->b));
  if (const auto* load = ir::as<ir::Load>(e)) {
    if (const auto found = narrowed_.find(load->buffer.get()); found != narrowed_.end())
      return element_of(found->second, load->indices);
  }
  return ir::cast(DType::i32, e);
}

// Constants are joined, so that bytes which are only handed on are not computed anew.
Expr SmallIntegers::shifted(const Expr& e, int64_t offset) {
  if (const auto* cast = ir::as<ir::Cast>(e); cast && is_wide(e->type.dtype) && range_of(cast->a))
    return shifted(cast->a, offset);
  if (const auto* select = ir::as<ir::Select>(e))
    return ir::select(select->condition, shifted(select->yes, offset), shifted(select->no, offset));
  const auto* binary = ir::as<ir::Binary>(e);
  const bool adds = binary && (binary->op == ir::BinaryOp::add || binary->op == ir::BinaryOp::sub);
  if (adds && is_wide(e->type.dtype)) {
    const Expr other = integer(binary->b);
    if (const auto known = ir::as_int(other))
      return shifted(binary->a,
                     binary->op == ir::BinaryOp::add ? offset + *known : offset - *known);
  }
  const Expr whole = integer(e);
  // Of a load that is stored with an offset of its own.
  if (whole->kind == ir::NodeKind::Binary && !binary) return shifted(whole, offset);
  return offset == 0 ? whole : whole + constant(offset);
}

Buffer SmallIntegers::narrowed(const Expr& number) {
  const auto* cast = ir::as<ir::Cast>(number);
  const auto* load = ir::as<ir::Load>(cast ? cast->a : number);
  if (!load) return {};
  const bool made = std::ranges::any_of(narrowed_, [&](const auto& known) {
    return known.second.offset == 0 && known.second.buffer.same(load->buffer);
  });
  if (made && load->buffer->dtype == DType::i16) return load->buffer;
  return cast ? Buffer() : narrow(load->buffer, DType::i16, 0);
}

Buffer SmallIntegers::narrowed_to_bytes(const Expr& number, int64_t offset) {
  // As made before: one more Cast, and the offset.
  const Expr whole = shifted(number, offset);
  const auto* cast = ir::as<ir::Cast>(whole);
  const auto* byte = ir::as<ir::Load>(cast ? cast->a : whole);
  if (byte && byte->buffer->dtype == DType::u8) return byte->buffer;
  const auto* load = ir::as<ir::Load>(number);
  return load ? narrow(load->buffer, DType::u8, offset) : Buffer();
}

Stage* SmallIntegers::narrowable(const Buffer& buffer) {
  Stage* stage = maker_of(buffer.get());
  if (!stage || kept_.contains(buffer.get()) || !is_wide(buffer->dtype) || !stage->side.empty())
    return nullptr;
  if (stage->kind != stages::StageKind::compute && stage->kind != stages::StageKind::reduce)
    return nullptr;
  for (stages::Entry& entry : program_) {
    const std::vector<Buffer> inputs = entry.inputs();
    const bool reads = std::ranges::any_of(inputs, [&](const Buffer& b) { return b.same(buffer); });
    if (!reads) continue;
    const Stage* reader = entry.stage();
    if (!reader || !reader->side.empty() || (reader->initial && reader->initial.same(buffer)))
      return nullptr;
  }
  return stage;
}

Buffer SmallIntegers::narrow(const Buffer& buffer, DType dtype, int64_t offset) {
  if (const auto known = narrowed_.find(buffer.get()); known != narrowed_.end()) {
    const Narrow& made = known->second;
    const bool same = made.buffer->dtype == dtype && made.offset == offset && !made.taken.get();
    return same ? made.buffer : Buffer();
  }
  Stage* stage = narrowable(buffer);
  if (!stage || !range_of(stage->result)) return {};
  // What it only hands on is stored in as few bits.
  std::vector<Buffer> sources;
  ir::visit(stage->result, [&](const Expr& e) {
    const auto* load = ir::as<ir::Load>(e);
    if (load && is_wide(load->buffer->dtype) && range_of(e)) sources.push_back(load->buffer);
    return true;
  });
  if (stage->kind == stages::StageKind::compute) {
    for (const Buffer& source : sources) {
      const auto numbers = ranges_.at(source.get());
      if (dtype != DType::u8) {
        narrow(source, dtype, 0);
      } else if (numbers->fits(-offset, 255 - offset)) {
        narrow(source, dtype, offset);
      }
    }
  }
  return store(buffer, *stage, shifted(stage->result, offset), dtype, offset, {});
}

Buffer SmallIntegers::store(const Buffer& buffer, Stage& stage, const Expr& number, DType dtype,
                            int64_t offset, const Expr& taken) {
  const Expr whole = ir::simplify(number, stages::bounds_of(stage));
  const auto* widened = ir::as<ir::Cast>(whole);
  const bool same = widened && widened->a->type.dtype == dtype;
  const Buffer made = ir::buffer(buffer->name, dtype, buffer->shape);
  if (dtype == DType::i16) ranges_[made.get()] = range_of(stage.result);
  stage.view = stage.view && same;
  stage.result = same ? widened->a : ir::cast(dtype, whole);
  stage.output = made;
  replaced_.push_back(buffer);
  const Narrow known{made, offset, taken};
  narrowed_[buffer.get()] = known;
  makers_[made.get()] = makers_.at(buffer.get());
  for (stages::Entry& entry : program_) {
    if (Stage* reader = entry.stage()) redirect(*reader, buffer, known);
  }
  for (auto& [place, reader] : added_) redirect(reader, buffer, known);
  return made;
}

std::optional<SmallIntegers::Difference> SmallIntegers::difference_of(const Stage& stage,
                                                                      const Expr& e) {
  const auto is_byte = [&](const Expr& number) {
    const auto range = range_of(number);
    return range && range->fits(0, 255);
  };
  const auto is_shared = [&](const Expr& number) {
    return std::ranges::none_of(stage.axes,
                                [&](const ir::Var& axis) { return ir::uses(number, axis.get()); });
  };
  if (const auto* cast = ir::as<ir::Cast>(e); cast && is_wide(e->type.dtype))
    return difference_of(stage, cast->a);
  if (const auto* binary = ir::as<ir::Binary>(e);
      binary && binary->op == ir::BinaryOp::sub && is_wide(e->type.dtype)) {
    if (!is_byte(binary->a) || !range_of(binary->b) || !is_shared(binary->b)) return std::nullopt;
    return Difference{integer(binary->a), integer(binary->b)};
  }
  // Padding is what becomes zero.
  const auto* select = ir::as<ir::Select>(e);
  if (!select || !ir::is_const(select->no, 0)) return std::nullopt;
  auto inside = difference_of(stage, select->yes);
  if (!inside || !is_byte(inside->subtrahend)) return std::nullopt;
  inside->minuend = ir::select(select->condition, inside->minuend, inside->subtrahend);
  return inside;
}

Buffer SmallIntegers::store_minuends(const Buffer& buffer) {
  Stage* stage = narrowable(buffer);
  if (!stage || stage->kind != stages::StageKind::compute) return {};
  // What it hands on from another stage.
  const Expr before = stage->result;
  ir::visit(before, [&](const Expr& e) {
    const auto* load = ir::as<ir::Load>(e);
    if (load && is_wide(load->buffer->dtype) && !load->buffer->shape.empty())
      store_minuends(load->buffer);
    return true;
  });
  const auto found = difference_of(*stage, stage->result);
  if (!found) return {};
  return store(buffer, *stage, found->minuend, DType::u8, 0, found->subtrahend);
}

void SmallIntegers::insert() {
  stages::Program result;
  auto next = added_.begin();
  for (size_t i = 0; i < program_.size(); ++i) {
    for (; next != added_.end() && next->first == i; ++next)
      result.emplace_back(std::move(next->second));
    result.push_back(std::move(program_[i]));
  }
  program_ = std::move(result);
}

}  // namespace gossamer::rewrite
