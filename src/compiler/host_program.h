// The steps of the host program: what runs between launches, and which values it computes where.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "compiler/planner.h"
#include "memory/plan_memory.h"
#include "package/package.h"
#include "stages/stage_graph.h"
#include "stages/step.h"

namespace gossamer::compiler {

class HostProgram {
 public:
  using TensorOf = std::function<int(const ir::Buffer&)>;
  // `most`: elements that kernels of the target can count in one tensor.
  HostProgram(Planner& planner, int64_t most, TensorOf tensor_of)
      : planner_(planner), most_(most), tensor_of_(std::move(tensor_of)) {}

  void add(const stages::Step& step);
  // The next launch of a run, on a device.
  void launch(int device);
  // Counts of the same are checked once.
  void check(const stages::Check& check);

  // The order of things, for the memory plan: launches by number, tensors that steps read and
  // write.
  struct Event {
    int launch = -1;
    ir::Buffer read, written;
  };
  const std::vector<Event>& events() const { return events_; }
  const std::vector<memory::PlanLoop>& loops() const { return loops_; }

  // Steps, checks and segments go into the module, whose slots are planned. Segments without values
  // go; without steps a package is straight-line. `has_side`: two devices have work.
  void finish(package::Module& module, bool has_side);

 private:
  void put(package::Step step);
  void set(const stages::Step& set);
  void open_segment();
  void flush_launches();

  Planner& planner_;
  int64_t most_;
  TensorOf tensor_of_;
  std::vector<package::Step> steps_;
  std::vector<package::Check> checks_;
  std::vector<Event> events_;
  std::vector<memory::PlanLoop> loops_;
  struct Open {  // a branch or loop whose steps are being collected
    package::Step step;
    bool otherwise = false;
    size_t first_event = 0;
  };
  std::vector<Open> open_;
  std::map<const ir::Node*, int> set_segment_;  // of a variable: opened when it was first set
  int launches_ = 0, flushed_ = 0;              // of these, those that steps have
  int launching_ = 0;                           // the device of those after them
};

}  // namespace gossamer::compiler
