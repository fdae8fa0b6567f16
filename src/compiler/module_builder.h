// From stages with layouts to the package: kernels, tensors, memory slots, launches, files.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/canonical.h"
#include "compiler/compile.h"
#include "compiler/planner.h"
#include "graph/plan_memory.h"
#include "graph/stage_graph.h"
#include "ir/rewrite.h"
#include "schedule/capabilities.h"
#include "schedule/group.h"

namespace gossamer::compiler {

// The most elements that kernels of a target can count in one tensor. Of 2^31 in 32 bits, some are
// for what lies behind the last element in the last tile or workgroup.
constexpr int64_t most_elements(schedule::TargetKind target) {
  return target == schedule::TargetKind::cpu ? int64_t{1} << 40
                                             : (int64_t{1} << 31) - (int64_t{1} << 20);
}

class ModuleBuilder {
 public:
  ModuleBuilder(const graph::StageGraph& stages, schedule::TargetKind target,
                const schedule::Capabilities& capabilities, const Options& options);

  using Progress = std::function<void(std::string_view, double)>;
  // Schedules every stage, plans memory, fills the module.
  Result<> build(const Progress& progress);
  // Generates code and the files. `model` holds the constants' bytes.
  Result<package::Files> write(const graph::Graph& graph, std::span<const std::byte> model,
                               Report* report);

 private:
  void find_parameters();
  // What the variants are made for that a launch has for GPUs in hardware or for relaxed SIMD.
  std::optional<schedule::Capabilities> hardware_caps() const;
  Result<> add_group(const schedule::Group& group);
  // The group's kernel for these capabilities, and what calls it; `tensors` are its buffers.
  Result<package::Call> add_kernel(const schedule::Group& group,
                                   const schedule::Capabilities& capabilities,
                                   std::vector<int>& tensors);
  schedule::ScheduledGroup choose(const schedule::Group& group,
                                  const schedule::Capabilities& capabilities);
  KernelReport report_of(const schedule::Group& group, const schedule::Capabilities& capabilities,
                         const std::string& schedule) const;
  // Steps of the host program (module_steps.cc).
  void add_step(const ops::Step& step);
  void add_step(package::Step step);
  void add_set(const ops::Step& step);
  void add_check(const graph::Check& check);
  void open_segment();
  void flush_launches();
  void finish_steps();
  void number_steps(std::vector<package::Step>& steps, const std::vector<int>& numbers) const;
  int tensor_of(const ir::Buffer& buffer);
  Result<> plan_slots();
  // An error that names the node whose tensor the target cannot hold.
  Result<> check_memory() const;
  void add_inputs();
  void add_outputs();
  ir::DType storage_of(const ir::BufferNode& buffer) const;
  int device_of(const ir::BufferNode& buffer) const { return stages_.side.contains(&buffer); }
  graph::MemoryNeed need_of(const ir::BufferNode& buffer) const;
  Result<> emit(package::Files& files);
  Result<> emit_shader(size_t kernel);
  void emit_side(package::Files& files);
  void emit_wasm(const codegen::PlanFunction* plan, package::Files& files);
  Result<package::File> weights(const graph::Graph& graph, std::span<const std::byte> model);

  const graph::StageGraph& stages_;
  schedule::TargetKind target_;
  const schedule::Capabilities& caps_;
  const schedule::Capabilities side_caps_;
  const Options& options_;
  Planner planner_;
  package::Module module_;
  std::vector<ir::Kernel> kernels_;  // canonical, through the pipeline
  std::vector<KernelReport> reports_;
  int recorded_ = 0, refused_ = 0;
  std::map<std::string, int> by_key_;  // canonical key to kernel
  std::map<const ir::BufferNode*, int> tensors_;
  std::vector<ir::Buffer> buffers_;  // of tensors
  std::vector<int> segments_;        // of tensors: where their sizes are known
  // The order of things, for the memory plan: launches of run, tensors that steps read and write.
  struct Event {
    int launch = -1;
    ir::Buffer read, written;
  };
  std::vector<Event> events_;
  std::vector<graph::PlanLoop> loops_;
  struct Open {  // a branch or loop whose steps are being collected
    package::Step step;
    bool otherwise = false;
    size_t first_event = 0;
  };
  std::vector<Open> open_;
  std::vector<ir::Var> signed_;  // variables that steps may set to less than 0
  std::vector<SignedParts> parts_;
  ir::VarMap of_parts_;                         // what the parts stand for
  std::vector<ir::Var> parameters_;             // all that kernels may have as scalars
  std::map<const ir::Node*, int> set_segment_;  // of a variable: opened when it was first set
  size_t flushed_ = 0;                          // launches that steps have
  int launching_ = 0;                           // the device of those after them
  std::set<const ir::BufferNode*> constant_;
  std::map<const ir::BufferNode*, ir::Buffer> in_place_;  // by the output: whose place it takes
  std::unordered_set<const ir::BufferNode*> states_;
};

}  // namespace gossamer::compiler
