#include "records/layout_records.h"

#include <algorithm>
#include <charconv>

#include "ir/build.h"
#include "stages/group.h"

namespace gossamer::records {
namespace {

using schedule::Point;
using stages::Group;
using target::Capabilities;

constexpr std::string_view axis_word = "axis=", plain_word = "plain";
constexpr std::string_view winograd_word = "winograd=", direct_word = "direct";
constexpr double some_points = 64;  // of an axis whose extent is not known

double product_of(const std::vector<ir::Expr>& extents) {
  double product = 1;
  for (const ir::Expr& extent : extents)
    product *= static_cast<double>(ir::as_int(extent).value_or(static_cast<int64_t>(some_points)));
  return product;
}

}  // namespace

std::string choice_key_of(const stages::Stage& stage, StageChoice::Of of) {
  return hash_of(cat(name_of(of), "\n", text_of(single_group(stage)).stages));
}

std::string_view name_of(StageChoice::Of of) {
  return of == StageChoice::Of::layout ? "layout" : "algorithm";
}

std::string to_string(StageChoice choice) {
  if (choice.of == StageChoice::Of::layout)
    return choice.value < 0 ? std::string(plain_word) : cat(axis_word, choice.value);
  return choice.value == direct ? std::string(direct_word) : cat(winograd_word, choice.value);
}

Result<StageChoice> parse_choice(std::string_view text) {
  const auto number_after = [&](std::string_view word) {
    int number = -1;
    if (!text.starts_with(word)) return number;
    const auto [end, error] =
        std::from_chars(text.data() + word.size(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? number : -1;
  };
  if (text == plain_word) return layout_along(-1);
  if (text == direct_word) return by_tiles_of(direct);
  if (const int axis = number_after(axis_word); axis >= 0 && axis <= 64) return layout_along(axis);
  if (const int edge = number_after(winograd_word);
      std::ranges::find(winograd_tiles, edge) != winograd_tiles.end())
    return by_tiles_of(edge);
  return fail(cat("\"", text, "\" is no layout and no algorithm"),
              "\"plain\", \"axis=N\", \"direct\", \"winograd=2\" or \"winograd=4\"");
}

std::vector<StageChoice> SeenLayout::choices() const {
  std::vector<StageChoice> all{choice()};
  const auto add = [&](StageChoice one) {
    if (std::ranges::find(all, one) == all.end()) all.push_back(one);
  };
  if (rule.of == StageChoice::Of::algorithm) {
    add(by_tiles_of(direct));
    for (const int edge : winograd_tiles) add(by_tiles_of(edge));
    return all;
  }
  const auto rank = static_cast<int>(extents.size());
  const auto is_long = [&](int axis) { return extents[static_cast<size_t>(axis)] != 1; };
  if (rank > 0 && is_long(rank - 1)) add(layout_along(rank - 1));
  if (reduces) add(layout_along(-1));
  for (int axis = 0; axis < rank; ++axis)
    if (is_long(axis)) add(layout_along(axis));
  return all;
}

std::vector<PointSource::Candidate> LayoutWatch::points_of(const Group& group,
                                                           const Capabilities& capabilities) const {
  return points_ ? points_->points_of(group, capabilities) : std::vector<Candidate>{};
}

const Point* LayoutWatch::find(const std::string& key, const std::string& machine) const {
  return points_ ? points_->find(key, machine) : nullptr;
}

std::optional<int> LayoutWatch::axis_of(const stages::Stage& stage,
                                        const Capabilities& capabilities, int rule) const {
  return note(stage, capabilities, layout_along(rule),
              layouts_ ? layouts_->axis_of(stage, capabilities, rule) : std::nullopt);
}

std::optional<int> LayoutWatch::tile_of(const stages::Stage& stage,
                                        const Capabilities& capabilities, int rule) const {
  return note(stage, capabilities, by_tiles_of(rule),
              layouts_ ? layouts_->tile_of(stage, capabilities, rule) : std::nullopt);
}

std::optional<int> LayoutWatch::note(const stages::Stage& stage, const Capabilities& capabilities,
                                     StageChoice rule, std::optional<int> recorded) const {
  // A stage may be asked about once a kind of adapter, one after the other.
  if (outputs_.empty() || !outputs_.back().same(stage.output) || seen_.back().rule.of != rule.of) {
    SeenLayout seen{choice_key_of(stage, rule.of), {}, stage.name, stage.origin, rule};
    seen.reduces = stage.kind == stages::StageKind::reduce;
    for (const ir::Expr& extent : stage.extents)
      seen.extents.push_back(ir::as_int(extent).value_or(0));
    seen.work = product_of(stage.extents) * product_of(stage.reduce_extents);
    for (const ir::Buffer& input : stages::inputs_of(stage)) {
      for (size_t made = 0; made < outputs_.size(); ++made) {
        if (seen_[made].rule.of == rule.of && outputs_[made].same(input))
          seen.reads.push_back(made);
      }
    }
    seen_.push_back(std::move(seen));
    outputs_.push_back(stage.output);
  }
  seen_.back().machine = class_of(capabilities);
  if (recorded) seen_.back().recorded = StageChoice{rule.of, *recorded};
  return mode_ == Mode::apply ? recorded : std::nullopt;
}

}  // namespace gossamer::records
