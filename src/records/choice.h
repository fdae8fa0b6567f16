// What points belong to: kernels by their text, machines by their class, and who knows points.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/list.h"
#include "stages/group.h"
#include "target/capabilities.h"

namespace gossamer::records {

// A group as text, without names: how its buffers lie, and its stages.
struct GroupText {
  std::string layouts, stages;
};
GroupText text_of(const stages::Group& group);
// What points belong to, whatever model the group is part of: that text, hashed.
std::string key_of(const stages::Group& group);
std::string hash_of(std::string_view text);
// What they were measured on: "cpu" (vectors of 512 bits), "cpu.256", "cpu.128", "wasm",
// "wasm.relaxed", "webgl", "webgpu.hardware", "webgpu.software".
std::string class_of(const target::Capabilities& capabilities);

// Points to take instead of the default ones (records.h).
class PointSource {
 public:
  struct Candidate {
    schedule::Point point;
    std::string near;     // the kernel whose it is, if not its own
    std::string shipped;  // the class of devices whose records have it, if any
  };

  virtual ~PointSource() = default;
  // The first that is legal is the group's; without one, the default point stays.
  virtual std::vector<Candidate> points_of(const stages::Group& group,
                                           const target::Capabilities& capabilities) const = 0;
  // Of this very kernel; null: there is none.
  virtual const schedule::Point* find(const std::string& key, const std::string& machine) const = 0;
  // Along which axis the output of a stage lies in vectors, in place of `rule` (layout.h); -1: it
  // is plain. None: nothing is recorded.
  virtual std::optional<int> axis_of(const stages::Stage& /*stage*/,
                                     const target::Capabilities& /*capabilities*/,
                                     int /*rule*/) const {
    return std::nullopt;
  }
  // The edge of the tiles that a convolution is computed in, in place of `rule` (winograd.h). None:
  // nothing is recorded.
  virtual std::optional<int> tile_of(const stages::Stage& /*stage*/,
                                     const target::Capabilities& /*capabilities*/,
                                     int /*rule*/) const {
    return std::nullopt;
  }
};

// What a source, which may be null, has of a stage by one of the two above: `hardware`'s choice,
// where there are such adapters and it is recorded, before that for any adapter.
using StageQuestion = std::optional<int> (PointSource::*)(const stages::Stage&,
                                                          const target::Capabilities&, int) const;
std::optional<int> recorded_for(const PointSource* records, StageQuestion question,
                                const stages::Stage& stage,
                                const target::Capabilities& capabilities,
                                const target::Capabilities* hardware, int rule);

}  // namespace gossamer::records
