// The kernels of a package: groups scheduled, lowered and put through the passes, each distinct
// kernel once.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/default_schedule.h"
#include "base/result.h"
#include "compiler/canonical.h"
#include "compiler/compile.h"
#include "compiler/compile_cache.h"
#include "compiler/lowered_kernel_cache.h"
#include "ir/rewrite.h"
#include "package/package.h"
#include "stages/group.h"
#include "stages/program.h"
#include "target/capabilities.h"

namespace gossamer::compiler {

// The variables that kernels may have as scalars. One that may be negative becomes two that are
// not.
struct KernelParameters {
  std::vector<ir::Var> all;
  std::vector<ir::Var> signed_ones;
  std::vector<SignedParts> parts;  // of these
  ir::VarMap of_parts;             // what the parts stand for
};
// `dims`: of the inputs, from `first_variable` on what the program's steps set. Loops count up from
// 0; all else that a step sets may be negative.
KernelParameters parameters_of(const stages::Program& program, const std::vector<ir::Var>& dims,
                               size_t first_variable);

class KernelSet {
 public:
  KernelSet(TargetKind target, const Options& options, KernelParameters parameters)
      : target_(target),
        options_(options),
        parameters_(std::move(parameters)),
        lowered_(options.lowered ? *options.lowered : own_cache_) {}
  KernelSet(const KernelSet&) = delete;
  KernelSet& operator=(const KernelSet&) = delete;

  // What a launch of a kernel needs, over the dimensions and variables.
  struct Use {
    int kernel = 0;
    ir::Expr range;
    std::vector<ir::Expr> scalars;
    std::vector<ir::Buffer> buffers;
  };
  // `device`: 0, or 1 for stages that the CPU computes for a GPU. `point`, if legal, is used
  // instead of records and the default point. An error names the group's nodes.
  Result<Use> add(const stages::Group& group, const target::Capabilities& capabilities, int device,
                  const schedule::Point* point = nullptr);
  // Of each buffer that such a kernel writes: how many neighbours its stores write at a time
  // (passes/flatten_access.h).
  Result<std::map<const ir::BufferNode*, int>> neighbours_stored(
      const stages::Group& group, const target::Capabilities& capabilities,
      const schedule::Point* point) const;
  // Kernels that are added from now on access these buffers in place of others.
  void place(ir::BufferMap placed) { placed_ = std::move(placed); }

  const std::vector<ir::Kernel>& kernels() const { return kernels_; }
  // As print_shader, of a kernel on device 0.
  Result<ShaderText> print(size_t kernel, const target::Capabilities& capabilities, bool exact);
  // Of each kernel, but its code.
  const std::vector<package::KernelInfo>& infos() const { return infos_; }
  const std::string& origin_of(size_t kernel) const { return reports_[kernel].origin; }
  // Kernels without their code, and what became of records.
  void tell(Report& report) const;

 private:
  using Candidate = records::PointSource::Candidate;
  struct Chosen {
    const Scheduled* scheduled;
    std::optional<Candidate> from;  // the record whose point it is
    bool refused = false;           // records have points, none of which is legal
  };
  // At `point` if legal, else at one of the records, else at the default one. `own` is for what is
  // not kept.
  Chosen choose(const stages::Group& group, const target::Capabilities& capabilities,
                const schedule::Point* point, Result<Scheduled>& own) const;
  // Without a point: at the default one, which is no error.
  const Result<Scheduled>& at(const stages::Group& group, const target::Capabilities& capabilities,
                              const schedule::Point* point, Result<Scheduled>& own) const;
  KernelReport report_of(const stages::Group& group, const target::Capabilities& capabilities,
                         const std::string& schedule) const;

  TargetKind target_;
  const Options& options_;
  KernelParameters parameters_;
  LoweredKernelCache own_cache_;  // where the caller keeps none
  LoweredKernelCache& lowered_;
  std::vector<ir::Kernel> kernels_;  // canonical
  std::vector<package::KernelInfo> infos_;
  std::vector<KernelReport> reports_;
  std::map<std::pair<int, std::string>, int> by_key_;  // device and canonical key to kernel
  std::vector<const std::string*> keys_;               // there
  ir::BufferMap placed_;
  int recorded_ = 0, nearest_ = 0, shipped_ = 0, refused_ = 0;
};

}  // namespace gossamer::compiler
