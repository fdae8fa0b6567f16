// The buffers of a program with the layouts that they are given.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "layout/layout.h"
#include "stages/program.h"

namespace gossamer::layout {

class PlacedBuffers {
 public:
  PlacedBuffers(const Ports& ports, const target::Capabilities& caps)
      : ports_(ports), caps_(caps) {}

  // What the buffer was given, else that of a port.
  ir::Layout layout_of(const ir::BufferNode* buffer) const;
  // The first layout stays: a state lies as a port does.
  void place(const ir::Buffer& buffer, const ir::Layout& layout);
  // New buffers carry the layouts; ports that no stage writes get theirs on first sight.
  ir::Buffer fresh_of(const ir::Buffer& buffer);
  // Reads and writes the new buffers.
  void substitute_all(stages::Entry& entry);
  // Old buffers and new ones, in the order in which they were placed.
  std::vector<std::pair<ir::Buffer, ir::Buffer>> replaced() const;

 private:
  const Ports& ports_;
  const target::Capabilities& caps_;
  std::map<const ir::BufferNode*, ir::Layout> layouts_;
  std::map<const ir::BufferNode*, ir::Buffer> by_old_;
  std::vector<std::pair<ir::Buffer, ir::Buffer>> fresh_;
};

}  // namespace gossamer::layout
