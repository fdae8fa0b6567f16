#include "stages/fuse.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::stages {
namespace {

using ir::Expr;

// What an expression costs where it would be evaluated again.
struct Cost {
  int loads = 0;
  int selects = 0;
  int arithmetic = 0;      // float operations
  int transcendental = 0;  // exp, tanh, ...
  bool movement() const { return arithmetic == 0 && transcendental == 0; }
};

Cost cost_of(const Expr& expr) {
  Cost cost;
  ir::visit(expr, [&](const Expr& e) {
    if (e->kind == ir::NodeKind::Load) ++cost.loads;
    if (e->kind == ir::NodeKind::Select) ++cost.selects;
    if (!ir::is_float(e->type.dtype)) return true;
    if (e->kind == ir::NodeKind::Binary) ++cost.arithmetic;
    if (const auto* u = ir::as<ir::Unary>(e)) {
      u->op == ir::UnaryOp::neg || u->op == ir::UnaryOp::abs ? ++cost.arithmetic
                                                             : ++cost.transcendental;
    }
    return true;
  });
  return cost;
}

struct Size {
  int64_t nodes = 0, loads = 0;  // loads of one buffer
};

// Nodes of an expression, shared ones each time: what some walks over it pay. Ends at `limit`.
Size size_of(const Expr& expr, const ir::BufferNode* buffer, int64_t limit) {
  Size size;
  std::vector<const ir::Node*> rest;
  if (expr) rest.push_back(expr.get());
  while (!rest.empty() && size.nodes < limit) {
    const ir::Node* node = rest.back();
    rest.pop_back();
    ++size.nodes;
    if (node->kind == ir::NodeKind::Load)
      size.loads += static_cast<const ir::Load*>(node)->buffer.get() == buffer;
    ir::visit_operands(*node, [&](const Expr& part) { rest.push_back(part.get()); });
  }
  return size;
}

struct Uses {
  int in_values = 0;  // loads in a reduction's terms
  int in_result = 0;  // loads in the result
  int elsewhere = 0;  // loads a rewrite cannot reach: of scatters, initial buffers
};

Uses uses_of(const Stage& stage, const ir::BufferNode* buffer) {
  Uses uses;
  const auto count = [&](const Expr& expr, int& counter) {
    ir::visit(expr, [&](const Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      if (load && load->buffer.get() == buffer) ++counter;
      return true;
    });
  };
  if (stage.kind != StageKind::scatter) {
    if (stage.result) count(stage.result, uses.in_result);  // a sort has none
    for (const Expr& value : stage.values) count(value, uses.in_values);
    for (const Expr& start : stage.starts) count(start, uses.elsewhere);
    return uses;
  }
  for (const ir::Buffer& input : inputs_of(stage)) {
    if (input.get() == buffer) ++uses.elsewhere;
  }
  return uses;
}

Expr inline_loads(const Expr& expr, const Stage& producer) {
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    if (!load || !load->buffer.same(producer.output)) return {};
    ir::VarMap map;
    for (size_t i = 0; i < producer.axes.size(); ++i) {
      map[producer.axes[i].get()] = load->indices[i];
    }
    return ir::substitute(producer.result, map);
  };
  return ir::rewrite(expr, rewriter);
}

bool is_half(ir::DType dtype) { return dtype == ir::DType::f16 || dtype == ir::DType::bf16; }

// Arithmetic on halves as f32. What was rounded to a half from f32 is what it was before.
Expr in_single(const Expr& e) {
  const auto of_single = [](const Expr& half) { return ir::cast(ir::DType::f32, half); };
  if (const auto* number = ir::as<ir::FloatImm>(e))
    return ir::constant(ir::DType::f32, number->value);
  if (const auto* rounded = ir::as<ir::Cast>(e))
    return rounded->a->type.dtype == ir::DType::f32 ? rounded->a : of_single(e);
  if (const auto* node = ir::as<ir::Unary>(e)) return ir::unary(node->op, in_single(node->a));
  if (const auto* node = ir::as<ir::Binary>(e))
    return ir::binary(node->op, in_single(node->a), in_single(node->b));
  if (const auto* node = ir::as<ir::Fma>(e))
    return ir::fma(in_single(node->a), in_single(node->b), in_single(node->c));
  if (const auto* node = ir::as<ir::Select>(e))
    return ir::select(node->condition, in_single(node->yes), in_single(node->no));
  return of_single(e);
}

// A reduction's result that goes into halves: sums of squares may overflow them where their roots
// do not, so only what is stored is rounded.
Expr rounded_once(const Expr& result) {
  return is_half(result->type.dtype) && result->type.is_scalar()
             ? ir::cast(result->type, in_single(result))
             : result;
}

std::string join_origins(const std::string& a, const std::string& b) {
  if (a.empty() || a == b) return b;
  return b.empty() ? a : a + " + " + b;
}

class Fuser {
 public:
  Fuser(StageGraph& graph, const FuseOptions& options) : graph_(graph), options_(options) {
    for (const StageOutput& output : graph.outputs) kept_.insert(output.buffer.get());
    for (const StageConstant& constant : graph.constants) {
      constant_.insert(constant.buffer.get());
    }
    alive_.assign(graph.program.size(), true);
    states_ = states_of(graph);
    blocks_ = blocks_of(graph.program);
    for (const Entry& entry : graph.program)
      kinds_.push_back(options.kind && entry.stage() && options.kind(*entry.stage()));
    index();
  }

  void run() {
    // Elementwise chains first, then epilogues; what is left may enter the terms of a reduction.
    for (bool changed = true; changed;) {
      changed = false;
      for (bool terms : {false, true}) {
        for (size_t i = 0; i < graph_.program.size(); ++i)
          changed |= alive_[i] && try_inline(i, terms);
        for (size_t i = 0; i < graph_.program.size(); ++i) changed |= alive_[i] && try_epilogue(i);
      }
    }
    Program program;
    for (size_t i = 0; i < graph_.program.size(); ++i) {
      if (alive_[i]) program.push_back(std::move(graph_.program[i]));
    }
    graph_.program = std::move(program);
  }

 private:
  void index() {
    for (size_t i = 0; i < graph_.program.size(); ++i) {
      bool constant = true;
      for (const ir::Buffer& input : graph_.program[i].inputs()) {
        consumers_[input.get()].insert(i);
        constant &= constant_.contains(input.get());
      }
      if (constant && stage_at(i) && !writes_state(i)) constant_.insert(stage_at(i)->output.get());
    }
  }

  // Null where a step stands.
  Stage* stage_at(size_t i) { return graph_.program[i].stage(); }
  const Stage* stage_at(size_t i) const { return std::as_const(graph_.program[i]).stage(); }

  bool writes_state(size_t i) const { return states_.contains(graph_.program[i].output().get()); }

  // A stage moves within its block, and never into one that writes a state: what it reads may be a
  // state that has its next value by then.
  bool may_move(size_t from, size_t to) const {
    return blocks_[from] == blocks_[to] && kinds_[from] == kinds_[to] && !writes_state(to) &&
           !writes_state(from);
  }

  bool fits(const Stage& a, const Stage& b) const {
    std::set<const ir::BufferNode*> buffers;
    for (const ir::Buffer& input : inputs_of(a)) buffers.insert(input.get());
    for (const ir::Buffer& input : inputs_of(b)) buffers.insert(input.get());
    return static_cast<int>(buffers.size()) <= options_.max_buffers;  // the merged one is still in
  }

  // Rule 1. A compute stage goes into the stages that read it, when that repeats no real work:
  // - its values are moved, not computed (reshape, transpose, slice, broadcast): into any compute
  //   stage or result;
  // - one stage reads it, at one point per point: an elementwise chain;
  // - into the terms of a reduction only when every element is read once, or it is movement without
  //   a choice whose indices stay simple; into those of several reductions unless it takes long, as
  //   a chain of roundings does.
  // What depends on constants alone stays apart, but for rule 3: it runs once, at load.
  bool try_inline(size_t i, bool into_terms) {
    if (!stage_at(i)) return false;
    const Stage& producer = *stage_at(i);
    if (producer.kind != StageKind::compute || kept_.contains(producer.output.get())) return false;
    const auto found = consumers_.find(producer.output.get());
    if (found == consumers_.end() || found->second.empty()) return false;
    const std::set<size_t> consumers = found->second;
    const Cost cost = cost_of(producer.result);
    const bool cheap = cost.movement() && cost.loads <= 1 && cost.selects <= 1;
    const bool constant = constant_.contains(producer.output.get());
    const bool repeats_work = consumers.size() > 1 && cost.transcendental > 1;
    for (size_t c : consumers) {
      if (!stage_at(c)) return false;  // a step reads it
      const Stage& consumer = *stage_at(c);
      const Uses uses = uses_of(consumer, producer.output.get());
      if (uses.elsewhere || !may_move(i, c) || !fits(producer, consumer)) return false;
      const bool decoded = constant && is_decoded(producer, consumer, uses);
      if (constant && cost.loads > 0 && !constant_.contains(consumer.output.get()) && !decoded)
        return false;
      if (constant && is_part_of_blocks(producer, consumer)) return false;
      if (uses.in_values > 0 && !into_terms) return false;
      if (uses.in_values > 0 && !decoded &&
          (repeats_work || !may_enter_terms(producer, consumer, uses, cost)))
        return false;
      if (grows_too_large(producer, consumer)) return false;
      if (uses.in_result > 0 && !cheap && (consumers.size() > 1 || !same_point(producer, consumer)))
        return false;
    }
    for (size_t c : consumers) merge_producer(i, c);
    alive_[i] = false;
    for (const ir::Buffer& input : inputs_of(producer)) consumers_[input.get()].erase(i);
    consumers_.erase(producer.output.get());
    return true;
  }

  // Rule 3. A factor of a sum of products that is computed from constants of far fewer bytes, such
  // as weights of four bits and a scale for each block of them, is computed where it is read, and
  // never lies in memory. Schedules hold what they decode for as many rows as they can.
  static bool is_decoded(const Stage& producer, const Stage& consumer, const Uses& uses) {
    constexpr double least_ratio = 3;
    if (uses.in_values != 1 || uses.in_result > 0 || consumer.kind != StageKind::reduce ||
        consumer.in_order || !is_sum(consumer.accumulators) || consumer.reduce_axes.size() != 1 ||
        !is_matrix_factor(consumer, producer.output.get()))
      return false;
    double read = 0;
    for (const ir::Buffer& input : inputs_of(producer)) read += bytes_of(*input);
    return read > 0 && read * least_ratio <= bytes_of(*producer.output);
  }

  // Bytes that blocks of packed numbers are divided into at load, in an order that products read
  // fast. They stay in memory in place of the blocks, as rule 3 decodes what it finds there.
  static bool is_part_of_blocks(const Stage& producer, const Stage& consumer) {
    double read = 0;
    for (const ir::Buffer& input : inputs_of(producer)) read += bytes_of(*input);
    return ir::byte_size(producer.output->dtype) == 1 && ir::is_float(consumer.output->dtype) &&
           bytes_of(*producer.output) < read;
  }

  // Whether a term is the product of an element of this buffer, at axes alone, and another factor.
  static bool is_matrix_factor(const Stage& consumer, const ir::BufferNode* buffer) {
    const auto* product = ir::as<ir::Binary>(consumer.values[0]);
    if (!product || product->op != ir::BinaryOp::mul || !ir::is_float(product->type.dtype))
      return false;
    for (const Expr& factor : {product->a, product->b}) {
      const auto* load = ir::as<ir::Load>(factor);
      if (!load || load->buffer.get() != buffer) continue;
      return std::ranges::all_of(load->indices,
                                 [](const Expr& at) { return ir::as<ir::VarNode>(at) != nullptr; });
    }
    return false;
  }

  // 0 where the size is not known.
  static double bytes_of(const ir::BufferNode& buffer) {
    double bytes = ir::byte_size(buffer.dtype);
    for (const Expr& extent : buffer.shape)
      bytes *= static_cast<double>(ir::as_int(extent).value_or(0));
    return bytes;
  }

  // A chain in which each stage reads the one before several times (a walk down a tree, step by
  // step) would double at each link.
  static bool grows_too_large(const Stage& producer, const Stage& consumer) {
    constexpr int64_t limit = 300;
    Size before = size_of(consumer.result, producer.output.get(), limit);
    for (const Expr& value : consumer.values) {
      const Size more = size_of(value, producer.output.get(), limit);
      before.nodes += more.nodes;
      before.loads += more.loads;
    }
    if (before.loads < 2) return false;
    const Size inlined = size_of(producer.result, nullptr, limit);
    return before.nodes + before.loads * inlined.nodes > limit;
  }

  static bool simple_indices(const Stage& producer) {
    bool simple = true;
    ir::visit(producer.result, [&](const Expr& e) {
      if (const auto* b = ir::as<ir::Binary>(e)) {
        simple &=
            b->op == ir::BinaryOp::add || b->op == ir::BinaryOp::sub || b->op == ir::BinaryOp::mul;
      }
      return true;
    });
    return simple;
  }

  bool may_enter_terms(const Stage& producer, const Stage& consumer, const Uses& uses,
                       const Cost& cost) const {
    if (uses.in_values > 1 || cost.loads > 1) {
      // Several loads of one value: only if nothing is read twice.
      if (uses.in_values > 1 && !cost.movement()) return false;
    }
    if (cost.loads == 0) return true;  // a computed constant
    if (cost.movement() && cost.loads == 1 && cost.selects == 0 && simple_indices(producer))
      return true;
    return uses.in_values == 1 && reads_once(producer, consumer);
  }

  // Every element of the producer is read by one point of the reduction's whole domain.
  static bool reads_once(const Stage& producer, const Stage& consumer) {
    Expr produced = ir::index(1), domain = ir::index(1);
    for (const Expr& e : producer.extents) produced = produced * e;
    for (const Expr& e : consumer.extents) domain = domain * e;
    for (const Expr& e : consumer.reduce_extents) domain = domain * e;
    return ir::prove_equal(produced, domain);
  }

  // The consumer reads one element (perhaps several times) per point of its own, none twice over.
  static bool same_point(const Stage& producer, const Stage& consumer) {
    const ir::Load* first = nullptr;
    bool same = true;
    ir::visit(consumer.result, [&](const Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      if (!load || !load->buffer.same(producer.output)) return true;
      if (!first) {
        first = load;
      } else {
        for (size_t k = 0; k < load->indices.size(); ++k) {
          same &= ir::equal(load->indices[k], first->indices[k]);
        }
      }
      return true;
    });
    if (!same) return false;
    Expr produced = ir::index(1), domain = ir::index(1);
    for (const Expr& e : producer.extents) produced = produced * e;
    for (const Expr& e : consumer.extents) domain = domain * e;
    const auto p = ir::as_int(ir::simplify(produced)), d = ir::as_int(ir::simplify(domain));
    return p && d ? *d <= *p * 2 : ir::prove_equal(produced, domain);
  }

  void merge_producer(size_t p, size_t c) {
    const Stage& producer = *stage_at(p);
    Stage& consumer = *stage_at(c);
    const ir::Bounds points = bounds_of(consumer), terms = bounds_of_terms(consumer);
    visit_exprs(consumer, may_load,
                [&](Expr& e) { e = ir::simplify(inline_loads(e, producer), points); });
    for (Expr& value : consumer.values) value = ir::simplify(value, terms);
    consumer.view = consumer.view && producer.view;
    consumer.origin = join_origins(producer.origin, consumer.origin);
    consumers_[producer.output.get()].erase(c);
    for (const ir::Buffer& input : inputs_of(consumer)) consumers_[input.get()].insert(c);
  }

  // Rule 2. A compute stage becomes the result of the reduction that it alone reads, element for
  // element (axes may be permuted and unit axes dropped): the reduction's epilogue.
  bool try_epilogue(size_t c) {
    if (!stage_at(c)) return false;
    const Stage& consumer = *stage_at(c);
    if (consumer.kind != StageKind::compute) return false;
    size_t best = c;
    for (const ir::Buffer& input : inputs_of(consumer)) {
      const size_t r = producer_of(input.get());
      if (r < c && may_move(r, c) && is_epilogue(r, c)) best = best == c ? r : std::max(best, r);
    }
    if (best == c) return false;
    const Stage reduction = *stage_at(best);
    const ir::Load* load = find_load(consumer, reduction.output.get());
    ir::VarMap map;
    for (size_t k = 0; k < reduction.axes.size(); ++k)
      map[reduction.axes[k].get()] = load->indices[k];
    Stage merged = reduction;
    merged.axes = consumer.axes;
    merged.extents = consumer.extents;
    merged.output = consumer.output;
    merged.origin = join_origins(reduction.origin, consumer.origin);
    const ir::Bounds points = bounds_of(merged), terms = bounds_of_terms(merged);
    for (Expr& value : merged.values) value = ir::simplify(ir::substitute(value, map), terms);
    merged.result = inline_loads(consumer.result, reduction);
    const auto* rounded = ir::as<ir::Cast>(reduction.result);
    if (rounded && rounded->a->type.dtype == ir::DType::f32)
      merged.result = rounded_once(merged.result);
    merged.result = ir::simplify(merged.result, points);
    alive_[best] = false;
    for (const ir::Buffer& input : inputs_of(reduction)) consumers_[input.get()].erase(best);
    consumers_.erase(reduction.output.get());
    for (const ir::Buffer& input : inputs_of(merged)) consumers_[input.get()].insert(c);
    *stage_at(c) = std::move(merged);
    return true;
  }

  size_t producer_of(const ir::BufferNode* buffer) const {
    for (size_t i = 0; i < graph_.program.size(); ++i) {
      if (alive_[i] && stage_at(i) && stage_at(i)->output.get() == buffer) return i;
    }
    return graph_.program.size();
  }

  static const ir::Load* find_load(const Stage& stage, const ir::BufferNode* buffer) {
    const ir::Load* found = nullptr;
    ir::visit(stage.result, [&](const Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      if (load && load->buffer.get() == buffer) found = load;
      return !found;
    });
    return found;
  }

  bool is_epilogue(size_t r, size_t c) const {
    const Stage& reduction = *stage_at(r);
    const Stage& consumer = *stage_at(c);
    if (reduction.kind != StageKind::reduce || kept_.contains(reduction.output.get())) return false;
    const auto readers = consumers_.find(reduction.output.get());
    if (readers == consumers_.end() || readers->second.size() != 1) return false;
    if (!fits(reduction, consumer) || !same_point(reduction, consumer)) return false;
    const ir::Load* load = find_load(consumer, reduction.output.get());
    if (!load) return false;
    std::set<const ir::VarNode*> used;
    for (size_t k = 0; k < load->indices.size(); ++k) {
      const Expr& e = load->indices[k];
      if (ir::is_const(e, 0) && ir::is_const(reduction.extents[k], 1)) continue;
      const auto axis = std::find_if(consumer.axes.begin(), consumer.axes.end(),
                                     [&](const ir::Var& v) { return v.get() == e.get(); });
      if (axis == consumer.axes.end() || !used.insert(axis->get()).second) return false;
      const Expr& extent = consumer.extents[static_cast<size_t>(axis - consumer.axes.begin())];
      if (!ir::prove_equal(extent, reduction.extents[k])) return false;
    }
    // Every axis of more than one point must come from the reduction, else it would be repeated.
    for (size_t k = 0; k < consumer.axes.size(); ++k) {
      if (!used.contains(consumer.axes[k].get()) && !ir::is_const(consumer.extents[k], 1))
        return false;
    }
    return true;
  }

  StageGraph& graph_;
  FuseOptions options_;
  std::vector<bool> kinds_;
  std::set<const ir::BufferNode*> kept_, constant_;
  std::map<const ir::BufferNode*, std::set<size_t>> consumers_;
  std::vector<bool> alive_;
  std::unordered_set<const ir::BufferNode*> states_;
  std::vector<int> blocks_;
};

}  // namespace

void fuse(StageGraph& graph, const FuseOptions& options) { Fuser(graph, options).run(); }

}  // namespace gossamer::stages
