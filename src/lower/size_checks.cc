#include "lower/size_checks.h"

#include <algorithm>
#include <set>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ops/reshape_index.h"

namespace gossamer::lower {
namespace {

constexpr int64_t max_elements = int64_t{1} << 40;
constexpr size_t max_stage_size = 200'000;  // nodes of an element's expression

std::string shape_text(const std::vector<Expr>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + ir::print(shape[i]);
  return text + "]";
}

bool any_part(const Expr& expr, const std::function<bool(const Expr&)>& holds) {
  bool found = false;
  ir::visit(expr, [&](const Expr& part) {
    found = found || holds(part);
    return !found;
  });
  return found;
}

// What to do about a tensor that is too large: which open dimensions decide its size, and how to
// fix them.
std::string advice(const std::vector<Expr>& extents) {
  std::set<std::string> names;
  for (const Expr& extent : extents)
    ir::visit(extent, [&](const Expr& part) {
      if (const auto* dim = ir::as<ir::VarNode>(part)) names.insert(dim->name);
      return true;
    });
  if (names.empty()) return "use smaller inputs, or give the input that asks for it: --constant";
  std::string listed, first = *names.begin();
  for (const std::string& name : names) listed += cat(listed.empty() ? "" : ", ", name);
  return cat("it depends on the open dimension", names.size() > 1 ? "s " : " ", listed,
             ": fix it with --dim ", first, "=N (dims), or an input's shape with --shape (shapes)");
}

Result<> too_large(const std::string& place, const std::vector<Expr>& extents) {
  return fail_at(
      place,
      cat("would make a tensor of shape ", shape_text(extents), ", too large for any device"),
      advice(extents));
}

Result<> check_extents(const std::vector<Expr>& extents, const std::string& place,
                       StageBuilder& stages) {
  int64_t product = 1;
  for (const Expr& extent : extents) {
    if (auto known = ir::as_int(extent)) {
      if (*known < 0) {
        return fail_at(place, cat("would make a tensor of shape ", shape_text(extents)),
                       "its input is too small, or an attribute is wrong");
      }
      product = *known > max_elements / product ? max_elements + 1
                                                : product * std::max<int64_t>(*known, 1);
      if (product > max_elements) return too_large(place, extents);
      continue;
    }
    const bool has_dimension =
        any_part(extent, [](const Expr& part) { return ir::as<ir::VarNode>(part) != nullptr; });
    if (!has_dimension || stages.bounds.of(extent).low > max_elements)
      return too_large(place, extents);
    if (size_of(extent, max_extent_size) >= max_extent_size) {
      return fail_at(place,
                     "computes a dimension in so complicated a way that the shapes of the inputs "
                     "must be known when compiling",
                     "fix them by --dim or --shape (dims, shapes)");
    }
    // Arithmetic on huge constants may leave 64 bits, where bounds know nothing.
    const bool has_huge = any_part(extent, [](const Expr& part) {
      const auto known = ir::as_int(part);
      return known && (*known > max_elements || *known < -max_elements);
    });
    if (has_huge) return too_large(place, extents);
    if (ir::prove(extent >= 0.0, stages.bounds)) continue;
    stages.add_check(extent >= 0.0, cat(place, ": the model's input is too small"));
  }
  return {};
}

// Kernels compute with indices into tensors that fusion has dissolved, too; attention in one walk
// (online/online.h) has none of its scores, so the schedule decides which checks hold.
void check_count(const stages::Stage& stage, int64_t most, const std::string& place,
                 StageBuilder& stages) {
  const Expr elements = ir::simplify(ops::product(stage.output->shape), stages.bounds);
  if (stages.bounds.of(elements).high <= most) return;
  std::string message = cat("tensor \"", stage.output->name, "\" of ", stage.origin);
  if (const auto known = ir::as_int(elements)) {
    const Diagnostic refused{
        place,
        cat("would make a tensor of ", *known, " elements, \"", stage.output->name, "\", of shape ",
            shape_text(stage.output->shape), ", more than this target can count (", most, ")"),
        "use smaller inputs, or a smaller size where it is fixed: --dim, --shape"};
    message = refused.to_string();
  }
  stages.add_check(elements <= ir::index(most), std::move(message), elements, stage.output->name);
}

}  // namespace

size_t size_of(const Expr& expr, size_t limit) {
  std::vector<const ir::Node*> rest{expr.get()};
  size_t count = 0;
  while (!rest.empty() && count < limit) {
    const ir::Node* node = rest.back();
    rest.pop_back();
    ++count;
    ir::visit_operands(*node, [&](const Expr& part) { rest.push_back(part.get()); });
  }
  return count;
}

Result<> check_sizes(const stages::Stage& stage, int64_t most, const std::string& place,
                     StageBuilder& stages) {
  size_t size = 0;
  stages::visit_exprs(stage, stages::may_load,
                      [&](const Expr& expr) { size += size_of(expr, max_stage_size); });
  if (size >= max_stage_size) return fail_at(place, "makes an expression too large to compile");
  GS_TRY(check_extents(stage.extents, place, stages));
  GS_TRY(check_extents(stage.reduce_extents, place, stages));
  GS_TRY(check_extents(stage.output->shape, place, stages));
  check_count(stage, most, place, stages);
  return {};
}

}  // namespace gossamer::lower
