#include "schedule/layout_records.h"

#include <algorithm>
#include <charconv>

#include "ir/build.h"
#include "schedule/group.h"

namespace gossamer::schedule {
namespace {

constexpr std::string_view axis_word = "axis=", plain_word = "plain";
constexpr double some_points = 64;  // of an axis whose extent is not known

double product_of(const std::vector<ir::Expr>& extents) {
  double product = 1;
  for (const ir::Expr& extent : extents)
    product *= static_cast<double>(ir::as_int(extent).value_or(static_cast<int64_t>(some_points)));
  return product;
}

}  // namespace

std::string layout_key_of(const ops::Stage& stage) {
  return hash_of(cat("layout\n", text_of(single_group(stage)).stages));
}

std::string layout_text(int axis) {
  return axis < 0 ? std::string(plain_word) : cat(axis_word, axis);
}

Result<int> parse_layout(std::string_view text) {
  if (text == plain_word) return -1;
  int axis = -1;
  if (text.starts_with(axis_word)) {
    const std::string_view number = text.substr(axis_word.size());
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), axis);
    if (error != std::errc() || end != number.data() + number.size() || axis > 64) axis = -1;
  }
  if (axis < 0) return fail(cat("\"", text, "\" is no layout"), "\"plain\" or \"axis=N\"");
  return axis;
}

std::vector<int> SeenLayout::axes() const {
  std::vector<int> all{axis()};
  const auto add = [&](int axis) {
    if (std::ranges::find(all, axis) == all.end()) all.push_back(axis);
  };
  const auto rank = static_cast<int>(extents.size());
  const auto is_long = [&](int axis) { return extents[static_cast<size_t>(axis)] != 1; };
  if (rank > 0 && is_long(rank - 1)) add(rank - 1);
  if (reduces) add(-1);
  for (int axis = 0; axis < rank; ++axis)
    if (is_long(axis)) add(axis);
  return all;
}

PointSource::Choice LayoutWatch::choose(const Group& group,
                                        const Capabilities& capabilities) const {
  return points_ ? points_->choose(group, capabilities) : Choice{};
}

bool LayoutWatch::has(const Group& group, const Capabilities& capabilities) const {
  return points_ && points_->has(group, capabilities);
}

const Point* LayoutWatch::find(const std::string& key, const std::string& machine) const {
  return points_ ? points_->find(key, machine) : nullptr;
}

std::optional<int> LayoutWatch::axis_of(const ops::Stage& stage, const Capabilities& capabilities,
                                        int rule) const {
  std::optional<int> recorded;
  if (layouts_) recorded = layouts_->axis_of(stage, capabilities, rule);
  // A stage may be asked about once a kind of adapter, one after the other.
  if (outputs_.empty() || !outputs_.back().same(stage.output)) {
    SeenLayout seen{layout_key_of(stage), {}, stage.name, stage.origin, rule};
    seen.reduces = stage.kind == ops::StageKind::reduce;
    for (const ir::Expr& extent : stage.extents)
      seen.extents.push_back(ir::as_int(extent).value_or(0));
    seen.work = product_of(stage.extents) * product_of(stage.reduce_extents);
    for (const ir::Buffer& input : ops::inputs_of(stage)) {
      const auto made = std::ranges::find_if(
          outputs_, [&](const ir::Buffer& output) { return output.same(input); });
      if (made != outputs_.end())
        seen.reads.push_back(static_cast<size_t>(made - outputs_.begin()));
    }
    seen_.push_back(std::move(seen));
    outputs_.push_back(stage.output);
  }
  seen_.back().machine = class_of(capabilities);
  if (recorded) seen_.back().recorded = recorded;
  return mode_ == Mode::apply ? recorded : std::nullopt;
}

}  // namespace gossamer::schedule
