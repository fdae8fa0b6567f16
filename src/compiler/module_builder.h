// From stages with layouts to the package: kernels, tensors, memory slots, launches, files.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/planner.h"
#include "graph/plan_memory.h"
#include "graph/stage_graph.h"
#include "schedule/capabilities.h"

namespace gossamer::compiler {

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
  Result<> add_stage(const ops::Stage& stage);
  int tensor_of(const ir::Buffer& buffer);
  Result<> plan_slots();
  // An error that names the node whose tensor the target cannot hold.
  Result<> check_memory() const;
  void add_ports();
  void add_plan();
  ir::DType storage_of(ir::DType dtype) const;
  graph::MemoryNeed need_of(const ir::BufferNode& buffer) const;
  Result<> emit(package::Files& files);
  Result<> emit_shader(size_t kernel);
  Result<package::File> weights(const graph::Graph& graph, std::span<const std::byte> model);

  const graph::StageGraph& stages_;
  schedule::TargetKind target_;
  const schedule::Capabilities& caps_;
  const Options& options_;
  Planner planner_;
  package::Module module_;
  std::vector<ir::Kernel> kernels_;  // canonical, through the pipeline
  std::vector<KernelReport> reports_;
  std::map<std::string, int> by_text_;  // canonical text to kernel
  std::map<const ir::BufferNode*, int> tensors_;
  std::vector<ir::Buffer> buffers_;               // of tensors
  std::vector<std::vector<std::byte>> external_;  // weights read from other files
  std::set<const ir::BufferNode*> constant_;
};

}  // namespace gossamer::compiler
