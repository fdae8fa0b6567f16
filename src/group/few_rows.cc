#include "group/few_rows.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "autoschedule/tiling_decoded.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "schedule/in_place.h"
#include "stages/access.h"

namespace gossamer::group {
namespace {

using ir::Buffer;
using ir::Expr;
using schedule::Point;
using stages::Group;
using stages::InPlace;
using stages::RowCount;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

// All workgroups of a product together may read so many elements more than without a norm: what
// reading twice as many from a cache takes is what a launch takes (4 us on an NVIDIA H200).
constexpr int64_t most_reread = int64_t{1} << 23;

std::string joined_names(const std::string& a, const std::string& b) {
  return a.empty() || a == b ? b : b.empty() ? a : cat(a, " + ", b);
}

Expr replace_load(const Expr& expr, const Buffer& buffer, const Expr& value) {
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    return load && load->buffer.same(buffer) ? value : Expr{};
  };
  return ir::rewrite(expr, rewriter);
}

// Loads of what a stage makes as what it makes there.
Expr inline_stage(const Expr& expr, const Stage& stage) {
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    if (!load || !load->buffer.same(stage.output)) return {};
    ir::VarMap map;
    for (size_t d = 0; d < stage.axes.size(); ++d) map[stage.axes[d].get()] = load->indices[d];
    return ir::substitute(stage.result, map);
  };
  return ir::rewrite(expr, rewriter);
}

// The only load of a buffer; null: there is none, or several differ.
const ir::Load* only_load(const std::vector<Expr>& exprs, const Buffer& buffer) {
  const ir::Load* found = nullptr;
  for (const ir::Load* load : loads_of(exprs)) {
    if (!load->buffer.same(buffer)) continue;
    if (found) return nullptr;
    found = load;
  }
  return found;
}

bool equal_extents(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b,
                            [](const Expr& x, const Expr& y) { return ir::prove_equal(x, y); });
}

// Factors of a product, also of one that is rounded to halves and back.
void add_factors(const Expr& expr, std::vector<Expr>& factors) {
  const auto* product = ir::as<ir::Binary>(expr);
  const auto* wide = ir::as<ir::Cast>(expr);
  const auto* rounded = wide ? ir::as<ir::Cast>(wide->a) : nullptr;
  if (rounded && rounded->a->type == expr->type && ir::is_float(expr->type.dtype)) {
    add_factors(rounded->a, factors);
  } else if (product && product->op == ir::BinaryOp::mul) {
    add_factors(product->a, factors);
    add_factors(product->b, factors);
  } else {
    factors.push_back(expr);
  }
}

Expr product_of(const std::vector<Expr>& factors) {
  Expr product;
  for (const Expr& factor : factors) product = product ? product * factor : factor;
  return product;
}

// The sums of another stage over the same terms, after the stage's own.
void add_sums(Stage& stage, const Stage& more, const ir::VarMap& map) {
  for (size_t k = 0; k < more.values.size(); ++k) {
    stage.values.push_back(ir::substitute(more.values[k], map));
    stage.accumulators.push_back(more.accumulators[k]);
  }
  stage.name = joined_names(more.name, stage.name);
  stage.origin = joined_names(more.origin, stage.origin);
}

// A stage whose accumulators are its own.
Stage with_fresh_sums(Stage stage) {
  ir::VarMap map;
  for (stages::Accumulator& one : stage.accumulators) {
    for (ir::Var* var : {&one.left, &one.right}) {
      const ir::Var was = *var;
      *var = ir::var(was->name, was->type);
      map[was.get()] = *var;
    }
  }
  for (stages::Accumulator& one : stage.accumulators) one.joined = ir::substitute(one.joined, map);
  stage.result = ir::substitute(stage.result, map);
  return stage;
}

class Merger {
 public:
  Merger(std::vector<Launched>& launched, const Ends& ends, const Capabilities& caps)
      : launched_(launched), ends_(ends), caps_(caps) {
    for (size_t i = 0; i < launched.size(); ++i) {
      const auto* group = std::get_if<Group>(&launched[i]);
      if (!group) continue;
      for (const Buffer& input : inputs_of(*group)) readers_[input.get()].push_back(i);
      for (const Buffer& output : outputs_of(*group)) writers_[output.get()].push_back(i);
      if (is_product(*group)) products_.emplace(i, Product{group->last(), {}, {}});
    }
  }

  void run() {
    for (auto& [place, product] : products_) merge_gate(place, product);
    for (size_t i = 0; i < launched_.size(); ++i) {
      merge_norm(i);
      merge_move(i);
    }
    std::vector<Launched> result;
    for (size_t i = 0; i < launched_.size(); ++i) {
      const bool replaced = replaced_.contains(i);
      if (replaced) {
        Group& old = std::get<Group>(launched_[i]);
        old.number = RowCount::more;
        old.rows = replaced_.at(i);
      }
      if (!replaced || !ir::as_int(replaced_.at(i))) result.push_back(std::move(launched_[i]));
      const auto product = products_.find(i);
      if (product == products_.end() || product->second.merged.empty()) continue;
      Group group = single_group(std::move(product->second.stage));
      const Expr rows = autoschedule::rows_of_decoded(group.last());
      if (!ir::as_int(rows)) group.number = RowCount::few;
      group.rows = rows;
      result.emplace_back(std::move(group));
    }
    launched_ = std::move(result);
  }

 private:
  struct Product {
    Stage stage;                         // for few rows
    std::vector<size_t> merged;          // launches that it takes the place of, its own among them
    std::optional<size_t> part_of = {};  // another product
  };

  bool is_product(const Group& group) const {
    if (!is_single(group) || !group.in_place.empty() || !group.last().side.empty() ||
        !autoschedule::list_for_few_rows(group.last(), caps_))
      return false;
    return ir::as_int(autoschedule::rows_of_decoded(group.last())).value_or(0) <=
           autoschedule::few_rows(caps_);
  }

  bool fits(const Stage& stage) const {
    return static_cast<int>(stages::inputs_of(stage).size()) < caps_.max_storage_buffers &&
           autoschedule::list_for_few_rows(stage, caps_).has_value();
  }

  // The only launch that writes a buffer which launches alone read; none: there is no such.
  std::optional<size_t> writer_of(const Buffer& buffer) const {
    const auto found = writers_.find(buffer.get());
    if (found == writers_.end() || found->second.size() != 1 || ends_.kept.contains(buffer.get()))
      return std::nullopt;
    return found->second[0];
  }

  // Whether launches between the two, or steps, leave alone what the stage reads.
  bool may_move(size_t from, size_t to, const Stage& stage) const {
    for (size_t i = from; i < to; ++i) {
      const auto* group = std::get_if<Group>(&launched_[i]);
      if (!group) return false;
      for (const InPlace& one : group->in_place)
        if (reads(stage, one.input)) return false;
      if (i == from) continue;
      for (const Buffer& output : outputs_of(*group)) {
        const auto writers = writers_.find(output.get());
        if (reads(stage, output) && writers->second.size() > 1) return false;
      }
    }
    return true;
  }

  void replace(Product& product, size_t place, size_t other) {
    if (product.merged.empty()) product.merged.push_back(place);
    product.merged.push_back(other);
    for (size_t each : product.merged)
      replaced_[each] = autoschedule::rows_of_decoded(product.stage);
  }

  // result: f(own sum, another product's result at this point).
  void merge_gate(size_t place, Product& product) {
    for (auto& [other, gate] : products_) {
      if (other >= place || gate.part_of || !gate.merged.empty()) continue;
      const Stage& made = gate.stage;
      if (!reads(product.stage, made.output) || writer_of(made.output) != other ||
          readers_[made.output.get()].size() != 1 ||
          !equal_extents(made.extents, product.stage.extents) ||
          !equal_extents(made.reduce_extents, product.stage.reduce_extents))
        continue;
      const ir::Load* load = only_load({product.stage.result}, made.output);
      if (!load || only_load(product.stage.values, made.output) ||
          !schedule::at_own_point(*load, product.stage))
        continue;
      ir::VarMap map;
      for (size_t i = 0; i < made.axes.size(); ++i) map[made.axes[i].get()] = product.stage.axes[i];
      for (size_t r = 0; r < made.reduce_axes.size(); ++r)
        map[made.reduce_axes[r].get()] = product.stage.reduce_axes[r];
      Stage joined = product.stage;
      joined.result = replace_load(joined.result, made.output, ir::substitute(made.result, map));
      add_sums(joined, made, map);
      if (!fits(joined) || !may_move(other, place, joined)) continue;
      product.stage = std::move(joined);
      gate.part_of = place;
      replace(product, place, other);
      return;
    }
  }

  // A launch that moves elements for products alone: they read what it does.
  void merge_move(size_t i) {
    const auto* group = std::get_if<Group>(&launched_[i]);
    if (!group || !is_single(*group) || !group->in_place.empty()) return;
    const Stage& moved = group->last();
    const auto* load = ir::as<ir::Load>(moved.result);
    if (moved.kind != StageKind::compute || !load || !moved.side.empty() ||
        moved.output->dtype != load->buffer->dtype || ir::loads_of({moved.result}).size() != 1)
      return;
    merge_into_readers(i, moved.output, [&](const Stage& product) -> std::optional<Stage> {
      if (!only_load(product.values, moved.output) || only_load({product.result}, moved.output))
        return std::nullopt;
      Stage made = product;
      for (Expr& value : made.values) value = inline_stage(value, moved);
      return fits(made) ? std::optional(std::move(made)) : std::nullopt;
    });
  }

  // The launch at `i` as part of all products that read what it writes: as `merged` makes them.
  void merge_into_readers(size_t i, const Buffer& output,
                          const std::function<std::optional<Stage>(const Stage&)>& merged) {
    if (writer_of(output) != i || readers_[output.get()].empty()) return;
    std::map<size_t, Stage> made;
    for (size_t reader : readers_[output.get()]) {
      const auto found = products_.find(reader);
      if (found == products_.end()) return;
      const size_t place = found->second.part_of.value_or(reader);
      auto stage = merged(products_.at(place).stage);
      if (!stage || !may_move(i, place, *stage)) return;
      // Few rows of one product may be the last ones of many that another has.
      if (!made.empty() && !ir::prove_equal(autoschedule::rows_of_decoded(*stage),
                                            autoschedule::rows_of_decoded(made.begin()->second)))
        return;
      made.emplace(place, *std::move(stage));
    }
    for (auto& [place, stage] : made) {
      Product& product = products_.at(place);
      product.stage = std::move(stage);
      replace(product, place, i);
    }
  }

  // Rows that a sum of their own scales, as part of all products that read them.
  void merge_norm(size_t i) {
    const auto* group = std::get_if<Group>(&launched_[i]);
    if (!group || !over_rows(*group) || !group->in_place.empty() || !group->last().side.empty() ||
        group->members.size() != 2)
      return;
    const Stage &sum = group->members[0].stage, &scaled = group->last();
    if (sum.kind != StageKind::reduce || !stages::is_sum(sum.accumulators) || sum.in_order ||
        scaled.kind != StageKind::compute || !columns_of(group->members[0]).empty() ||
        !readers_[sum.output.get()].empty() || ends_.kept.contains(sum.output.get()))
      return;
    merge_into_readers(i, scaled.output,
                       [&](const Stage& product) { return with_norm(product, sum, scaled); });
  }

  // A product of scaled rows as one of the rows themselves, whose result is scaled.
  std::optional<Stage> with_norm(const Stage& product, const Stage& sum,
                                 const Stage& scaled) const {
    Stage made = product;
    if (!only_load(product.values, scaled.output) || only_load({product.result}, scaled.output) ||
        product.reduce_axes.size() != 1 || sum.reduce_axes.size() != 1 ||
        !ir::prove_equal(sum.reduce_extents[0], product.reduce_extents[0]))
      return std::nullopt;
    const ir::Var& along = product.reduce_axes[0];
    // A row's own factors, out of the sum.
    Expr scale;
    for (Expr& value : made.values) {
      const auto* term = ir::as<ir::Binary>(value);
      if (!term || term->op != ir::BinaryOp::mul) return std::nullopt;
      const bool first = only_load({term->a}, scaled.output);
      const Expr &row = first ? term->a : term->b, &decoded = first ? term->b : term->a;
      if (!only_load({row}, scaled.output) || only_load({decoded}, scaled.output))
        return std::nullopt;
      std::vector<Expr> factors, terms, own;
      add_factors(inline_stage(row, scaled), factors);
      for (const Expr& factor : factors)
        (ir::uses(factor, along.get()) ? terms : own).push_back(factor);
      const Expr one = product_of(own);
      if (terms.empty() || own.empty() || (scale.get() != nullptr && !ir::equal(scale, one)))
        return std::nullopt;
      scale = one;
      value = product_of(terms) * decoded;
    }
    const ir::Load* inverse = only_load({scale}, sum.output);
    if (!inverse) return std::nullopt;
    // The sum of that row.
    const Stage more = with_fresh_sums(sum);
    ir::VarMap row{{more.reduce_axes[0].get(), along}};
    for (size_t d = 0; d < inverse->indices.size(); ++d)
      row[more.axes[d].get()] = inverse->indices[d];
    scale = replace_load(scale, sum.output, ir::substitute(more.result, row));
    ir::VarMap results;
    for (const ir::Var& left : stages::lefts_of(made.accumulators))
      results[left.get()] = left * scale;
    made.result = ir::substitute(made.result, results);
    add_sums(made, more, row);
    if (!fits(made) || !pays(made, product)) return std::nullopt;
    return made;
  }

  bool pays(const Stage& made, const Stage& before) const {
    const Point point{*autoschedule::list_for_few_rows(made, caps_)};
    const int64_t columns =
        ir::as_int(made.extents[autoschedule::column_of_decoded(made)]).value_or(0);
    const int64_t length = ir::as_int(made.reduce_extents[0]).value_or(0);
    const auto more = static_cast<int64_t>(loads_of(made.values).size()) -
                      static_cast<int64_t>(loads_of(before.values).size());
    const int64_t groups = columns / (*factor_of(point, "row") * *factor_of(point, ".thread"));
    return columns > 0 && length > 0 && groups * length * more <= most_reread;
  }

  std::vector<Launched>& launched_;
  const Ends& ends_;
  const Capabilities& caps_;
  std::map<size_t, Product> products_;
  std::map<size_t, Expr> replaced_;  // launches, by place, to their number of rows
  std::map<const ir::BufferNode*, std::vector<size_t>> readers_, writers_;
};

}  // namespace

void merge_for_few_rows(std::vector<Launched>& launched, const Ends& ends,
                        const Capabilities& capabilities) {
  if (capabilities.group_size == 1 || capabilities.texture_memory) return;
  Merger(launched, ends, capabilities).run();
}

}  // namespace gossamer::group
