#include "rewrite/use_tables.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "stages/access.h"

namespace gossamer::rewrite {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using stages::Stage;
using stages::StageKind;

constexpr int64_t codes = 256;
constexpr int64_t least_points = 8 * codes;  // for which a table is made
constexpr int least_work = 24;               // vector instructions that reading a table takes

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

int work_of(const Expr& e) {
  if (e->kind == ir::NodeKind::IntImm || e->kind == ir::NodeKind::FloatImm) return 0;
  const auto* unary = ir::as<ir::Unary>(e);
  if (unary && unary->op > ir::UnaryOp::trunc && ir::is_float(e->type.dtype)) return 12;
  const auto* binary = ir::as<ir::Binary>(e);
  if (binary && binary->op == ir::BinaryOp::pow) return 24;
  // Conversions to bytes saturate.
  const bool saturates = e->kind == ir::NodeKind::Cast && is_byte(e->type.dtype);
  return saturates || (binary && binary->op == ir::BinaryOp::div) ? 4 : 1;
}

// The only part of an expression that is not the same everywhere: a load of a byte, or a conversion
// to one. Null: there are others.
struct Function {
  Expr byte;
  int work = 0;
};
Function function_in(const Expr& e, ir::NodeKind kind) {
  Function found;
  bool others = false;
  ir::visit(e, [&](const Expr& part) {
    others = others || part->kind == ir::NodeKind::Var || found.work > 1000;
    if (others) return false;
    const bool is_leaf = part->kind == kind && is_byte(part->type.dtype);
    if (is_leaf) {
      others = found.byte.get() && !ir::equal(found.byte, part);
      found.byte = part;
      return false;
    }
    others = part->kind == ir::NodeKind::Load;
    found.work += work_of(part);
    return true;
  });
  return others ? Function{} : found;
}

// `e` with each part that equals `part` replaced.
Expr with(const Expr& e, const Expr& part, const Expr& replacement) {
  ir::Rewriter rewriter;
  rewriter.expr_before = [&](const Expr& each) {
    return each->kind == part->kind && ir::equal(each, part) ? replacement : Expr();
  };
  return ir::rewrite(e, rewriter);
}

bool has_many_points(const Stage& stage) {
  int64_t points = 1;
  for (const Expr& extent : stage.extents)
    points *= std::clamp<int64_t>(ir::as_int(extent).value_or(least_points), 0, least_points);
  return points >= least_points && stage.side.empty() && !stage.fresh.get() && !stage.view;
}

Stage table_of(const Stage& stage, const Expr& e, const Expr& byte, int64_t least) {
  Stage table;
  table.name = stage.name + ".table";
  table.origin = stage.origin;
  table.axes = {ir::var("code")};
  table.extents = {ir::index(codes)};
  table.output = ir::buffer(stage.output->name + ".table", e->type.dtype, table.extents);
  const Expr code =
      ir::simplify(ir::cast(DType::i32, table.axes[0]) + ir::constant_int(DType::i32, least), {});
  table.result = with(e, byte, ir::cast(byte->type.dtype, code));
  return table;
}

void read_tables(Stage& stage, stages::Program& before) {
  ir::Rewriter rewriter;
  rewriter.expr_before = [&](const Expr& e) -> Expr {
    const DType dtype = e->type.dtype;
    if (!is_byte(dtype) && dtype != DType::f32 && dtype != DType::i32) return {};
    const auto [byte, work] = function_in(e, ir::NodeKind::Load);
    if (!byte.get() || work < least_work || !e->type.is_scalar()) return {};
    const int64_t least = byte->type.dtype == DType::i8 ? -128 : 0;
    before.emplace_back(table_of(stage, e, byte, least));
    const Expr place = ir::cast(DType::i32, byte) + ir::constant_int(DType::i32, -least);
    return ir::load(before.back().output(), {ir::cast(DType::index, ir::simplify(place, {}))});
  };
  stage.result = ir::rewrite(stage.result, rewriter);
}

// Whether a stage loads a buffer in its result, and nothing else: of several it would decode each.
bool reads_alone(const Stage& stage, const Buffer& buffer) {
  return stage.kind == StageKind::compute && has_many_points(stage) &&
         std::ranges::all_of(loads_of(stage.result),
                             [&](const ir::Load* load) { return load->buffer.same(buffer); });
}

void store_bytes(stages::Program& program, Stage& stage,
                 const std::unordered_set<const ir::BufferNode*>& kept) {
  const Buffer wide = stage.output;
  const bool has_result = stage.kind == StageKind::compute || stage.kind == StageKind::reduce;
  if (!has_result || wide->dtype != DType::f32 || kept.contains(wide.get()) ||
      !has_many_points(stage))
    return;
  const Expr decoded = stage.result, byte = function_in(decoded, ir::NodeKind::Cast).byte;
  if (!byte.get()) return;
  std::vector<Stage*> readers;
  for (stages::Entry& entry : program) {
    Stage* reader = entry.stage();
    const std::vector<Buffer> inputs = entry.inputs();
    const bool reads = std::ranges::any_of(inputs, [&](const Buffer& b) { return b.same(wide); });
    const bool writes = entry.output().same(wide) && reader != &stage;
    if (writes || (reads && (!reader || !reads_alone(*reader, wide)))) return;
    if (reads) readers.push_back(reader);
  }
  stage.result = byte;
  stage.output = ir::buffer(wide->name, byte->type.dtype, wide->shape);
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    return load && load->buffer.same(wide)
               ? with(decoded, byte, ir::load(stage.output, load->indices))
               : Expr();
  };
  for (Stage* reader : readers) reader->result = ir::rewrite(reader->result, rewriter);
}

}  // namespace

void use_tables(stages::Program& program, const std::unordered_set<const ir::BufferNode*>& kept) {
  stages::Program result;
  for (stages::Entry& entry : program) {
    if (Stage* stage = entry.stage()) store_bytes(program, *stage, kept);
  }
  for (stages::Entry& entry : program) {
    Stage* stage = entry.stage();
    if (stage && stage->kind == StageKind::compute && has_many_points(*stage))
      read_tables(*stage, result);
    result.push_back(std::move(entry));
  }
  program = std::move(result);
}

}  // namespace gossamer::rewrite
