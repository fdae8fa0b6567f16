// From stages with layouts to the package: kernels, tensors, memory slots, launches, files.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/compile.h"
#include "compiler/host_program.h"
#include "compiler/kernel_set.h"
#include "compiler/planner.h"
#include "group/group_stages.h"
#include "lower/lower.h"
#include "memory/plan_memory.h"
#include "package/write.h"
#include "stages/stage_graph.h"
#include "target/capabilities.h"

namespace gossamer::compiler {

// The most elements that kernels of a target can count in one tensor. Of 2^31 in 32 bits, some are
// for what lies behind the last element in the last tile or workgroup.
constexpr int64_t most_elements(TargetKind target) {
  return target == TargetKind::cpu ? lower::most_elements : (int64_t{1} << 31) - (int64_t{1} << 20);
}

// What packages for any adapter have variants for; none: the target has no adapters, or they are
// chosen.
std::optional<target::Capabilities> hardware_of(const target::Capabilities& capabilities,
                                                const Options& options);

class ModuleBuilder {
 public:
  ModuleBuilder(const stages::StageGraph& stages, TargetKind target,
                const target::Capabilities& capabilities,
                const target::Capabilities& side_capabilities, const Options& options);

  using Progress = std::function<void(std::string_view, double)>;
  // Stages by the kernels that they are in, and steps of the host program.
  std::vector<group::Launched> launched() const;
  // Schedules all of these, plans memory, fills the module.
  Result<> build(std::span<const group::Launched> launched, const Progress& progress);
  // Generates code and the files. `model` holds the constants' bytes.
  Result<package::Files> write(const graph::Graph& graph, std::span<const std::byte> model,
                               Report* report);

 private:
  // What the variants are made for that a launch has for GPUs in hardware or for relaxed SIMD.
  std::optional<target::Capabilities> variant_caps() const;
  bool is_recorded(const stages::Group& group, const target::Capabilities& others) const;
  Result<> add_group(const stages::Group& group);
  // A product whose number of rows a run tells has a kernel for few of them, at a point of its own,
  // and one for more: two launches, of which one has a range of 0.
  // A kernel for some numbers of rows.
  struct ForRows {
    std::optional<schedule::Point> point, variant;  // for the target, and for variant_caps()
    ir::Expr times;                                 // 1 where a run has so many rows, else 0
  };
  // Whether packages of these options run on drivers that end long loops
  // (Capabilities::max_rounds).
  bool ends_loops_early() const;
  // A group's kernels: several where few rows, or many, have one of their own.
  std::vector<ForRows> kernels_by_rows(const stages::Group& group) const;
  // Whether a launch has a kernel of its own for variant_caps().
  bool has_variant(const stages::Group& group, const ForRows& rows,
                   const target::Capabilities& others) const;
  // Small elements share words where kernels alone access them and write whole words.
  Result<> share_words(std::span<const group::Launched> launched);
  // Takes out what a kernel of the group writes in parts of words.
  Result<> drop_written_in_parts(const stages::Group& group, ir::BufferMap& shared) const;
  // As it lies in memory.
  const ir::BufferNode& placed(const ir::BufferNode& buffer) const;
  Result<package::Launch> launch_of(const stages::Group& group, const ForRows& rows);
  // The group's kernel for these capabilities, and what calls it: its range `times` (0 or 1).
  // `tensors` are its buffers.
  Result<package::Call> add_kernel(const stages::Group& group,
                                   const target::Capabilities& capabilities,
                                   std::vector<int>& tensors, const ir::Expr& times,
                                   const schedule::Point* point);
  int tensor_of(const ir::Buffer& buffer);
  Result<> plan_slots();
  // Bytes of the slots of known size: what stays, and the most there is at a time. A weight that is
  // packed at load goes before the next comes.
  struct Memory {
    int64_t kept = 0, peak = 0;
  };
  Memory memory() const;
  // An error that names the node whose tensor the target cannot hold.
  Result<> check_memory() const;
  Result<> add_checks(std::span<const group::Launched> launched);
  void add_inputs();
  void add_outputs();
  void tell_launches() const;
  ir::DType storage_of(const ir::BufferNode& buffer) const;
  int device_of(const ir::BufferNode& buffer) const { return stages_.side.contains(&buffer); }
  static bool is_empty(const ir::BufferNode& buffer);
  memory::MemoryNeed need_of(const ir::BufferNode& buffer) const;
  // A constant's elements; errors name it.
  Result<std::span<const std::byte>> bytes_of(const stages::ConstantSource& source,
                                              const std::string& name, const graph::Graph& graph,
                                              std::span<const std::byte> model) const;
  Result<> add_defaults(const graph::Graph& graph, std::span<const std::byte> model,
                        package::Files& files);
  Result<> emit(package::Files& files);
  Result<> emit_shader(size_t kernel);
  void take(package::KernelInfo& info, const ShaderText& shader) const;
  // Calls Options::on_kernel for a new kernel. `once`: it runs only when the package is loaded.
  void announce(int kernel, bool once);
  void emit_side(package::Files& files);
  // Code that src/library finishes.
  Result<> emit_for_library(const codegen::PlanFunction* plan, package::Files& files,
                            std::span<const ir::Kernel> kernels);
  std::vector<ir::Kernel> side_kernels();
  // A shared library of machine code.
  Result<> emit_native(std::string_view file, std::span<const ir::Kernel> kernels,
                       const codegen::PlanFunction* plan, package::Files& files);
  Result<> emit_native_side(const codegen::PlanFunction* plan, package::Files& files);
  void emit_wasm(const codegen::PlanFunction* plan, package::Files& files);
  Result<package::WeightFiles> weights(const graph::Graph& graph, std::span<const std::byte> model);

  const stages::StageGraph& stages_;
  TargetKind target_;
  const target::Capabilities& caps_;
  const target::Capabilities& side_caps_;
  const Options& options_;
  Planner planner_;
  package::Module module_;
  KernelSet kernels_;
  std::map<const ir::BufferNode*, int> tensors_;
  std::vector<ir::Buffer> buffers_;  // of tensors
  std::vector<int> segments_;        // of tensors: where their sizes are known
  ir::BufferMap shared_;             // buffers whose elements share words, as they lie in memory
  HostProgram host_;
  std::set<const ir::BufferNode*> constant_;
  std::map<const ir::BufferNode*, ir::Buffer> in_place_;  // by the output: whose place it takes
  std::unordered_set<const ir::BufferNode*> states_;
  std::set<int> announced_;
};

}  // namespace gossamer::compiler
