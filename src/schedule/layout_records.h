// Records of layouts: along which axis the output of a stage lies in vectors. Beside the points of
// kernels, since a layout is of all kernels that read it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schedule/choice.h"

namespace gossamer::schedule {

// Of a stage before anything has a layout, so it stays whatever is chosen. No kernel has it.
std::string layout_key_of(const ops::Stage& stage);

// "axis=1"; of -1 "plain": row-major, a reduction in vectors along its own axes. Reads back.
std::string layout_text(int axis);
// Errors: neither of these.
Result<int> parse_layout(std::string_view text);

struct LayoutRecord {
  std::string key, machine;  // layout_key_of, class_of
  std::optional<int> axis;   // none: the rule's is the best known
  std::string shipped = {};  // as Records::Record::shipped
};

// A stage whose layout was chosen.
struct SeenLayout {
  std::string key, machine, name, origin;
  int rule = -1;                      // the axis by the rule of layout.cc
  std::optional<int> recorded = {};   // by a record
  bool reduces = false;               // -1 is another layout than that along the last axis
  std::vector<int64_t> extents = {};  // of the output; 0: not known
  double work = 0;                    // points, each as often as it is summed over
  std::vector<size_t> reads = {};     // which ones of those before it make what it reads

  int axis() const { return recorded.value_or(rule); }
  // What its axis could be, the present one first.
  std::vector<int> axes() const;
};

// Notes what choose_layouts asks. Points are those of one source, layouts of another; both must
// outlive it, and may be null.
class LayoutWatch : public PointSource {
 public:
  enum class Mode : uint8_t { apply, note };  // note: the rule decides all the same
  LayoutWatch(const PointSource* points, const PointSource* layouts, Mode mode = Mode::apply)
      : points_(points), layouts_(layouts), mode_(mode) {}

  const std::vector<SeenLayout>& seen() const { return seen_; }

  Choice choose(const Group& group, const Capabilities& capabilities) const override;
  bool has(const Group& group, const Capabilities& capabilities) const override;
  const Point* find(const std::string& key, const std::string& machine) const override;
  std::optional<int> axis_of(const ops::Stage& stage, const Capabilities& capabilities,
                             int rule) const override;

 private:
  const PointSource* points_;
  const PointSource* layouts_;
  Mode mode_;
  mutable std::vector<SeenLayout> seen_;
  mutable std::vector<ir::Buffer> outputs_;  // of these
};

}  // namespace gossamer::schedule
