#include "stages/join_products.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ir/build.h"
#include "ir/loads.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::stages {
namespace {

using ir::Buffer;
using ir::Expr;

// A product's constants and the axis that they share with its output.
struct Product {
  size_t place = 0, column = 0;
  std::vector<Buffer> constants;  // in the order of their loads
  std::vector<size_t> along;      // of each, the axis that is joined
};

class Joiner {
 public:
  explicit Joiner(StageGraph& graph) : graph_(graph) {
    for (const StageConstant& constant : graph.constants) constant_.insert(constant.buffer.get());
    for (const StageOutput& output : graph.outputs) kept_.insert(output.buffer.get());
    states_ = states_of(graph);
    blocks_ = blocks_of(graph.program);
  }

  void run() {
    std::vector<std::vector<Product>> sets;
    for (size_t i = 0; i < graph_.program.size(); ++i) {
      const Stage* stage = stage_at(i);
      if (!stage) continue;
      const auto product = product_at(i);
      if (!product) continue;
      const auto set = std::ranges::find_if(
          sets, [&](const std::vector<Product>& others) { return may_join(others[0], *product); });
      if (set == sets.end()) {
        sets.push_back({*product});
      } else {
        set->push_back(*product);
      }
    }
    std::map<size_t, std::vector<Stage>> before;
    std::set<size_t> gone;
    for (const std::vector<Product>& set : sets) {
      if (set.size() < 2) continue;
      join(set, before[set[0].place]);
      for (size_t k = 1; k < set.size(); ++k) gone.insert(set[k].place);
    }
    Program program;
    for (size_t i = 0; i < graph_.program.size(); ++i) {
      if (const auto made = before.find(i); made != before.end())
        for (Stage& stage : made->second) program.emplace_back(std::move(stage));
      if (!gone.contains(i)) program.push_back(std::move(graph_.program[i]));
    }
    graph_.program = std::move(program);
    for (Entry& entry : graph_.program) redirect(entry);
  }

 private:
  Stage* stage_at(size_t i) { return graph_.program[i].stage(); }
  const Stage* stage_at(size_t i) const { return std::as_const(graph_.program[i]).stage(); }

  bool is_constant(const ir::Load& load) const { return constant_.contains(load.buffer.get()); }

  // A sum of products with a factor that is decoded from constants of bytes, each of which moves
  // along one and the same axis of the output.
  std::optional<Product> product_at(size_t i) const {
    const Stage& stage = *stage_at(i);
    if (stage.kind != StageKind::reduce || stage.axes.empty() || stage.in_order ||
        !stage.starts.empty() || !is_sum(stage.accumulators) || stage.reduce_axes.size() != 1 ||
        !stage.side.empty() || kept_.contains(stage.output.get()) ||
        states_.contains(stage.output.get()) || !is_read_by_stages(stage.output))
      return std::nullopt;
    Product product{i, stage.axes.size() - 1, {}, {}};
    const ir::VarNode* column = stage.axes.back().get();
    bool bytes = false, others = false;
    for (const ir::Load* load : ir::loads_of({stage.values[0], stage.result})) {
      std::vector<size_t> moving;
      for (size_t d = 0; d < load->indices.size(); ++d)
        if (ir::uses(load->indices[d], column)) moving.push_back(d);
      if (states_.contains(load->buffer.get())) return std::nullopt;
      others |= !is_constant(*load);
      if (moving.empty()) continue;
      if (moving.size() > 1 || !is_constant(*load)) return std::nullopt;
      bytes |= ir::byte_size(load->buffer->dtype) == 1;
      const auto known = std::ranges::find_if(
          product.constants, [&](const Buffer& b) { return b.same(load->buffer); });
      if (known != product.constants.end()) continue;
      product.constants.push_back(load->buffer);
      product.along.push_back(moving[0]);
    }
    if (!bytes || !others || !ir::as_int(stage.extents.back())) return std::nullopt;
    return product;
  }

  bool is_read_by_stages(const Buffer& buffer) const {
    for (size_t i = 0; i < graph_.program.size(); ++i) {
      if (stage_at(i) && stage_at(i)->initial.get() == nullptr) continue;
      for (const Buffer& input : graph_.program[i].inputs())
        if (input.same(buffer)) return false;
    }
    return true;
  }

  // Whether `b` computes from other constants what `a` computes, for other columns.
  bool may_join(const Product& a, const Product& b) const {
    const Stage &one = *stage_at(a.place), &other = *stage_at(b.place);
    if (blocks_[a.place] != blocks_[b.place] || one.axes.size() != other.axes.size() ||
        a.constants.size() != b.constants.size() || a.along != b.along ||
        one.output->dtype != other.output->dtype ||
        !ir::prove_equal(one.reduce_extents[0], other.reduce_extents[0]))
      return false;
    for (size_t d = 0; d + 1 < one.axes.size(); ++d)
      if (!ir::prove_equal(one.extents[d], other.extents[d])) return false;
    for (size_t k = 0; k < a.constants.size(); ++k) {
      const ir::BufferNode &x = *a.constants[k], &y = *b.constants[k];
      if (x.dtype != y.dtype || x.shape.size() != y.shape.size()) return false;
      for (size_t d = 0; d < x.shape.size(); ++d)
        if (!(d == a.along[k] ? ir::as_int(x.shape[d]) && ir::as_int(y.shape[d])
                              : ir::prove_equal(x.shape[d], y.shape[d])))
          return false;
    }
    ir::BufferMap buffers;
    for (size_t k = 0; k < a.constants.size(); ++k) buffers[b.constants[k].get()] = a.constants[k];
    const ir::VarMap vars = variables(other, one);
    const auto alike = [&](const Expr& x, const Expr& y) {
      return ir::equal(x, ir::substitute(ir::substitute_buffers(y, buffers), vars));
    };
    return alike(one.values[0], other.values[0]) && alike(one.result, other.result) && continues(a);
  }

  static ir::VarMap variables(const Stage& from, const Stage& to) {
    ir::VarMap map;
    for (size_t d = 0; d < from.axes.size(); ++d) map[from.axes[d].get()] = to.axes[d];
    map[from.reduce_axes[0].get()] = to.reduce_axes[0];
    map[from.accumulators[0].left.get()] = to.accumulators[0].left;
    return map;
  }

  // As many columns further, a load is as much further in its constant as that is long.
  bool continues(const Product& a) const {
    const Stage& stage = *stage_at(a.place);
    const ir::Var& column = stage.axes.back();
    const Expr columns = stage.extents.back();
    for (const ir::Load* load : ir::loads_of({stage.values[0], stage.result})) {
      for (size_t k = 0; k < a.constants.size(); ++k) {
        if (!a.constants[k].same(load->buffer)) continue;
        const Expr& at = load->indices[a.along[k]];
        const Expr further = ir::substitute(at, {{column.get(), column + columns}});
        if (!ir::prove_equal(further, at + load->buffer->shape[a.along[k]])) return false;
      }
    }
    return true;
  }

  // Parts one after the other along an axis.
  static Stage joined(const std::vector<Buffer>& parts, size_t along, const std::string& origin) {
    Stage stage;
    stage.name = "join";
    stage.origin = origin;
    stage.extents = parts[0]->shape;
    int64_t length = 0;
    for (const Buffer& part : parts) length += *ir::as_int(part->shape[along]);
    stage.extents[along] = ir::index(length);
    for (size_t d = 0; d < stage.extents.size(); ++d) stage.axes.push_back(ir::var(cat("i", d)));
    stage.output = ir::buffer(cat(parts[0]->name, ".joined"), parts[0]->dtype, stage.extents);
    int64_t end = length;
    for (size_t k = parts.size(); k-- > 0;) {
      const int64_t begin = end - *ir::as_int(parts[k]->shape[along]);
      std::vector<Expr> at(stage.axes.begin(), stage.axes.end());
      const Expr place = at[along];
      if (begin > 0) at[along] = place - ir::index(begin);
      const Expr value = ir::load(parts[k], at);
      stage.result =
          k + 1 == parts.size() ? value : ir::select(place < ir::index(end), value, stage.result);
      end = begin;
    }
    return stage;
  }

  void join(const std::vector<Product>& set, std::vector<Stage>& before) {
    Stage& first = *stage_at(set[0].place);
    ir::BufferMap constants;
    for (size_t k = 0; k < set[0].constants.size(); ++k) {
      std::vector<Buffer> parts;
      for (const Product& each : set) parts.push_back(each.constants[k]);
      Stage stage = joined(parts, set[0].along[k], first.origin);
      constants[parts[0].get()] = stage.output;
      before.push_back(std::move(stage));
    }
    const Buffer before_output = first.output;
    int64_t columns = 0;
    std::vector<std::pair<Buffer, int64_t>> begins;
    for (const Product& each : set) {
      const Stage& stage = *stage_at(each.place);
      begins.emplace_back(stage.output, columns);
      columns += *ir::as_int(stage.extents.back());
      if (&stage != &first)
        first.name += cat(" + ", stage.name), first.origin += cat(" + ", stage.origin);
    }
    first.extents.back() = ir::index(columns);
    first.output = ir::buffer(first.output->name, first.output->dtype, first.extents);
    for (const auto& [buffer, begin] : begins) parts_[buffer.get()] = {first.output, begin};
    replace_inputs(first, constants);
    removed_.push_back(before_output);
    for (const Product& each : set) removed_.push_back(stage_at(each.place)->output);
  }

  void redirect(Entry& entry) {
    Stage* stage = entry.stage();
    if (!stage || parts_.empty()) return;
    ir::Rewriter rewriter;
    rewriter.expr = [&](const Expr& e) -> Expr {
      const auto* load = ir::as<ir::Load>(e);
      const auto part = load ? parts_.find(load->buffer.get()) : parts_.end();
      if (part == parts_.end()) return {};
      std::vector<Expr> at = load->indices;
      at.back() = ir::simplify(at.back() + ir::index(part->second.second));
      return ir::load(part->second.first, at);
    };
    visit_exprs(*stage, may_load, [&](Expr& e) {
      const Expr before = std::exchange(e, ir::rewrite(e, rewriter));
      if (!before.same(e)) stage->view = false;
    });
  }

  StageGraph& graph_;
  std::set<const ir::BufferNode*> constant_, kept_;
  std::unordered_set<const ir::BufferNode*> states_;
  std::vector<int> blocks_;
  std::map<const ir::BufferNode*, std::pair<Buffer, int64_t>> parts_;
  std::vector<Buffer> removed_;  // keys of `parts_`, so that no new buffer takes an address
};

}  // namespace

void join_products(StageGraph& graph) { Joiner(graph).run(); }

}  // namespace gossamer::stages
