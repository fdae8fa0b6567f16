// Choices as data: points of a group's search space, as text, and records of good ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "schedule/default_schedule.h"
#include "schedule/row_schedule.h"
#include "schedule/tiling.h"

namespace gossamer::schedule {

// A group over rows has a RowTiling, any other the Tiling of its last stage.
using Point = std::variant<Tiling, RowTiling>;

// "contraction vector_axis=1 lanes=4 rows=6": the fields that are not as they start. Reads back.
std::string to_string(const Point& point);
// Errors: an unknown pattern or field, a value that is no number.
Result<Point> parse_point(std::string_view text);

// A field by its name. `point` must have it.
int64_t field_of(const Point& point, std::string_view name);
void set_field(Point& point, std::string_view name, int64_t value);

// What the compiler chooses where nothing is recorded.
Point default_point(const Group& group, const Capabilities& capabilities);

// The group's kernel at a point; an error where a primitive or a limit refuses it.
Result<ScheduledGroup> schedule_at(const Group& group, const Capabilities& capabilities,
                                   const Point& point);

// A group as text, without names: how its buffers lie, and its stages.
struct GroupText {
  std::string layouts, stages;
};
GroupText text_of(const Group& group);
// What points belong to, whatever model the group is part of: that text, hashed.
std::string key_of(const Group& group);
std::string hash_of(std::string_view text);
// What they were measured on: "cpu" (vectors of 512 bits), "cpu.256", "cpu.128", "wasm",
// "wasm.relaxed", "webgl", "webgpu.hardware", "webgpu.software".
std::string class_of(const Capabilities& capabilities);

// Points to take instead of the default ones (records.h).
class PointSource {
 public:
  struct Candidate {
    Point point;
    std::string near;     // the kernel whose it is, if not its own
    std::string shipped;  // the class of devices whose records have it, if any
  };

  virtual ~PointSource() = default;
  // The first that is legal is the group's; without one, the default point stays.
  virtual std::vector<Candidate> points_of(const Group& group,
                                           const Capabilities& capabilities) const = 0;
  // Of this very kernel; null: there is none.
  virtual const Point* find(const std::string& key, const std::string& machine) const = 0;
  // Along which axis the output of a stage lies in vectors, in place of `rule` (layout.h); -1: it
  // is plain. None: nothing is recorded.
  virtual std::optional<int> axis_of(const ops::Stage& /*stage*/,
                                     const Capabilities& /*capabilities*/, int /*rule*/) const {
    return std::nullopt;
  }
  // The edge of the tiles that a convolution is computed in, in place of `rule` (winograd.h). None:
  // nothing is recorded.
  virtual std::optional<int> tile_of(const ops::Stage& /*stage*/,
                                     const Capabilities& /*capabilities*/, int /*rule*/) const {
    return std::nullopt;
  }
};

// What a source, which may be null, has of a stage by one of the two above: `hardware`'s choice,
// where there are such adapters and it is recorded, before that for any adapter.
using StageQuestion = std::optional<int> (PointSource::*)(const ops::Stage&, const Capabilities&,
                                                          int) const;
std::optional<int> recorded_for(const PointSource* records, StageQuestion question,
                                const ops::Stage& stage, const Capabilities& capabilities,
                                const Capabilities* hardware, int rule);

}  // namespace gossamer::schedule
