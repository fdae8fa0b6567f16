#include "rewrite/widen_halves.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "stages/access.h"

namespace gossamer::rewrite {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using stages::Stage;
using target::Capabilities;

constexpr int64_t least_reuse = 32;

bool is_half(const ir::BufferNode& buffer) {
  return buffer.dtype == DType::f16 || buffer.dtype == DType::bf16;
}

// How many points of a stage read the same element at least: what a run tells counts as one.
int64_t reuse_of(const Stage& stage, const ir::Load& load) {
  int64_t points = 1;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    const bool moves = std::ranges::any_of(
        load.indices, [&](const Expr& e) { return ir::uses(e, stage.axes[i].get()); });
    if (!moves) points *= std::max<int64_t>(ir::as_int(stage.extents[i]).value_or(1), 1);
  }
  return points;
}

// Whether a stage makes elements of their bits, as it does of scales among packed numbers: there
// are as many in a file of weights as these take memory.
bool takes_bits(const Stage& stage) {
  const auto* bits = ir::as<ir::Bitcast>(stage.result);
  return stage.kind == stages::StageKind::compute && bits && ir::is_int(bits->a->type.dtype);
}

bool sums_products(const Stage& stage) {
  return stage.kind == stages::StageKind::reduce && !stage.in_order &&
         stages::is_sum(stage.accumulators);
}

Stage conversion_of(const Buffer& halves) {
  Stage stage;
  stage.name = "widen";
  stage.output = ir::buffer(halves->name + ".single", DType::f32, halves->shape);
  stage.extents = halves->shape;
  std::vector<Expr> point;
  for (size_t i = 0; i < halves->shape.size(); ++i) {
    stage.axes.push_back(ir::var("i" + std::to_string(i)));
    point.push_back(stage.axes.back());
  }
  stage.result = ir::cast(DType::f32, ir::load(halves, point));
  return stage;
}

// A load of `halves`, also one that is widened, from `floats` instead; null: `e` is another.
Expr read_from(const Buffer& floats, const Buffer& halves, const Expr& e,
               const ir::Rewriter& rewriter) {
  const auto* widened = ir::as<ir::Cast>(e);
  const bool to_single = widened && widened->type.dtype == DType::f32;
  const auto* one = ir::as<ir::Load>(to_single ? widened->a : e);
  if (!one || !one->buffer.same(halves)) return {};
  std::vector<Expr> indices;
  for (const Expr& index : one->indices) indices.push_back(ir::rewrite(index, rewriter));
  const Expr number = ir::load(floats, std::move(indices));
  return to_single ? number : ir::cast(halves->dtype, number);
}

// Stages that store what they round to halves as floats, with all that read it: where products read
// each element again and again, and nothing outside of the program does.
class StoredAsFloats {
 public:
  StoredAsFloats(stages::Program& program, const std::unordered_set<const ir::BufferNode*>& kept)
      : program_(program), kept_(kept) {
    for (size_t i = 0; i < program.size(); ++i) {
      if (const Buffer output = program[i].output()) makers_[output.get()].push_back(i);
      for (const Buffer& input : program[i].inputs()) readers_[input.get()].push_back(i);
    }
  }

  // `all`: whoever reads them.
  void run(bool all) {
    for (size_t i = 0; all && i < program_.size(); ++i) {
      const Buffer output = program_[i].stage() ? program_[i].output() : Buffer();
      if (output && output->dtype == DType::f16 && !takes_bits(*program_[i].stage()))
        widen_if(output);
    }
    for (const stages::Entry& entry : program_) {
      const Stage* stage = entry.stage();
      if (!stage || !sums_products(*stage)) continue;
      const Expr before = stage->values[0];  // keeps the loads alive
      for (const ir::Load* load : loads_of(before)) {
        if (!is_half(*load->buffer) || reuse_of(*stage, *load) < least_reuse) continue;
        widen_if(load->buffer);
      }
    }
  }

 private:
  void widen_if(const Buffer& buffer) {
    std::vector<Buffer> all;
    if (!may_widen(buffer, all)) return;
    for (const Buffer& halves : all) widen(halves);
  }

  // With the buffers that reshape it and that it reshapes, which have to be of one type.
  bool may_widen(const Buffer& halves, std::vector<Buffer>& all) const {
    const auto known = [&](const Buffer& b) { return b.same(halves); };
    if (std::ranges::any_of(all, known)) return true;
    all.push_back(halves);
    const auto makers = makers_.find(halves.get());
    if (kept_.contains(halves.get()) || makers == makers_.end() || makers->second.size() != 1)
      return false;
    const Stage* maker = program_[makers->second[0]].stage();
    const bool stores =
        maker && maker->side.empty() &&
        (maker->kind == stages::StageKind::compute || maker->kind == stages::StageKind::reduce);
    if (!stores) return false;
    if (maker->view && !may_widen(stages::inputs_of(*maker)[0], all)) return false;
    const auto readers = readers_.find(halves.get());
    if (readers == readers_.end()) return true;
    return std::ranges::all_of(readers->second, [&](size_t i) {
      const Stage* reader = program_[i].stage();
      if (!reader || !reader->side.empty() || reader->kind == stages::StageKind::scatter ||
          reader->kind == stages::StageKind::sort)
        return false;
      return !reader->view || may_widen(reader->output, all);
    });
  }

  void widen(const Buffer& halves) {
    Stage& maker = *program_[makers_.at(halves.get())[0]].stage();
    const Buffer floats = ir::buffer(halves->name, DType::f32, halves->shape);
    maker.output = floats;
    maker.result = ir::simplify(ir::cast(DType::f32, maker.result), stages::bounds_of(maker));
    replaced_.push_back(halves);
    ir::Rewriter rewriter;
    rewriter.expr_before = [&](const Expr& e) { return read_from(floats, halves, e, rewriter); };
    for (size_t i : readers_[halves.get()]) {
      Stage& reader = *program_[i].stage();
      stages::visit_exprs(reader, stages::may_load, [&](Expr& e) { e = ir::rewrite(e, rewriter); });
      // A reshape hands on what it reads.
      const auto* rounded = reader.view ? ir::as<ir::Cast>(reader.result) : nullptr;
      if (rounded) reader.result = rounded->a;
    }
    makers_[floats.get()] = makers_.at(halves.get());
    readers_[floats.get()] = readers_[halves.get()];
  }

  stages::Program& program_;
  const std::unordered_set<const ir::BufferNode*>& kept_;
  std::map<const ir::BufferNode*, std::vector<size_t>> makers_, readers_;
  std::vector<Buffer> replaced_;  // keys of the above stay alive
};

}  // namespace

void widen_halves(stages::Program& program, const HeldBuffers& held,
                  const Capabilities& capabilities) {
  if (!capabilities.has_bytes) return;
  std::unordered_set<const ir::BufferNode*> kept = held.states;
  kept.insert(held.outputs.begin(), held.outputs.end());
  StoredAsFloats(program, kept).run(capabilities.floats_for_halves);
  std::set<const ir::BufferNode*> made;
  if (capabilities.floats_for_halves) {
    for (const ir::BufferNode* constant : held.constants)
      if (constant->dtype == DType::f16) made.insert(constant);
  }
  for (const stages::Entry& entry : program) {
    const Buffer output = entry.output();
    if (output && entry.stage() && is_half(*output) && !held.states.contains(output.get()) &&
        !made.insert(output.get()).second)
      return;  // written twice: what is read depends on when
  }
  const std::vector<int> blocks = stages::blocks_of(program);
  // By the block as well: what one branch converts is not there in the other.
  std::map<std::pair<const ir::BufferNode*, int>, Buffer> singles;
  stages::Program result;
  for (size_t at = 0; at < program.size(); ++at) {
    Stage* stage = program[at].stage();
    if (!stage || !sums_products(*stage)) {
      result.push_back(std::move(program[at]));
      continue;
    }
    const Expr before = stage->values[0];  // keeps the loads alive
    for (const ir::Load* load : loads_of(before)) {
      const Buffer& halves = load->buffer;
      if (!made.contains(halves.get()) || reuse_of(*stage, *load) < least_reuse) continue;
      Buffer& single = singles[{halves.get(), blocks[at]}];
      if (!single) {
        Stage conversion = conversion_of(halves);
        conversion.origin = stage->origin;
        single = conversion.output;
        result.emplace_back(std::move(conversion));
      }
      ir::Rewriter rewriter;
      rewriter.expr_before = [&](const Expr& e) { return read_from(single, halves, e, rewriter); };
      stage->values[0] = ir::simplify(ir::rewrite(stage->values[0], rewriter));
    }
    result.push_back(std::move(program[at]));
  }
  program = std::move(result);
}

}  // namespace gossamer::rewrite
