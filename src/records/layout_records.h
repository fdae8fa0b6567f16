// Records of what is chosen for a stage before it has kernels: its layout, along which axis its
// output lies in vectors, and its algorithm. Beside the points of kernels, since a layout is of all
// kernels that read it, and an algorithm makes several.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "records/choice.h"

namespace gossamer::records {

// The edge of a tile of points (rewrite/winograd.h); `direct` is the sum as the stage has it.
constexpr int direct = 0;
constexpr std::array<int, 2> winograd_tiles{2, 4};

struct StageChoice {
  enum class Of : uint8_t { layout, algorithm };
  Of of = Of::layout;
  int value = -1;  // of a layout the axis, -1: plain; of an algorithm the tile's edge (winograd.h)

  friend auto operator<=>(const StageChoice&, const StageChoice&) = default;
};
constexpr StageChoice layout_along(int axis) { return {StageChoice::Of::layout, axis}; }
constexpr StageChoice by_tiles_of(int edge) { return {StageChoice::Of::algorithm, edge}; }

// Of a stage before anything has a layout, so it stays whatever is chosen; of either choice another
// one. No kernel has it.
std::string choice_key_of(const stages::Stage& stage, StageChoice::Of of);

// "axis=1"; of -1 "plain": row-major, a reduction in vectors along its own axes. "direct",
// "winograd=4". Reads back.
std::string to_string(StageChoice choice);
// Errors: none of these.
Result<StageChoice> parse_choice(std::string_view text);
// "layout", "algorithm".
std::string_view name_of(StageChoice::Of of);

struct LayoutRecord {
  std::string key, machine;           // choice_key_of, class_of
  std::optional<StageChoice> choice;  // none: the rule's is the best known
  std::string shipped = {};           // as Records::Record::shipped
};

// A stage for which something was chosen.
struct SeenLayout {
  std::string key, machine, name, origin;
  StageChoice rule = {};                     // by the rule of layout.cc, or of winograd.cc
  std::optional<StageChoice> recorded = {};  // by a record
  bool reduces = false;                      // -1 is another layout than that along the last axis
  std::vector<int64_t> extents = {};         // of the output; 0: not known
  double work = 0;                           // points, each as often as it is summed over
  std::vector<size_t> reads = {};            // which ones of those before it make what it reads

  StageChoice choice() const { return recorded.value_or(rule); }
  // What it could be, the present one first.
  std::vector<StageChoice> choices() const;
};

// Notes what choose_layouts and use_winograd ask. Points are those of one source, layouts of
// another; both must outlive it, and may be null.
class LayoutWatch : public PointSource {
 public:
  enum class Mode : uint8_t { apply, note };  // note: the rule decides all the same
  LayoutWatch(const PointSource* points, const PointSource* layouts, Mode mode = Mode::apply)
      : points_(points), layouts_(layouts), mode_(mode) {}

  const std::vector<SeenLayout>& seen() const { return seen_; }

  std::vector<Candidate> points_of(const stages::Group& group,
                                   const target::Capabilities& capabilities) const override;
  const schedule::Point* find(const std::string& key, const std::string& machine) const override;
  std::optional<int> axis_of(const stages::Stage& stage, const target::Capabilities& capabilities,
                             int rule) const override;
  std::optional<int> tile_of(const stages::Stage& stage, const target::Capabilities& capabilities,
                             int rule) const override;

 private:
  std::optional<int> note(const stages::Stage& stage, const target::Capabilities& capabilities,
                          StageChoice rule, std::optional<int> recorded) const;

  const PointSource* points_;
  const PointSource* layouts_;
  Mode mode_;
  mutable std::vector<SeenLayout> seen_;
  mutable std::vector<ir::Buffer> outputs_;  // of these
};

}  // namespace gossamer::records
