#include "rewrite/legalize_stages.h"

#include <utility>

#include "online/key_parts.h"
#include "rewrite/scan.h"
#include "rewrite/scatter.h"
#include "rewrite/sort.h"
#include "rewrite/split_reduction.h"

namespace gossamer::rewrite {

using target::Capabilities;

void legalize_stages(stages::Program& program, const Capabilities& capabilities) {
  if (!capabilities.scatters) gather_scatters(program, capabilities);
  const auto whole = online::made_by_key_parts(program, capabilities);
  stages::Program made;
  for (stages::Entry& entry : program) {
    if (!entry.stage() || whole.contains(entry.output().get())) {
      made.push_back(std::move(entry));
      continue;
    }
    std::vector<stages::Stage> stages{std::move(*entry.stage())};
    merge_sorts(stages, capabilities);
    split_scans(stages, capabilities);
    split_reductions(stages, capabilities);
    for (stages::Stage& stage : stages) made.emplace_back(std::move(stage));
  }
  program = std::move(made);
}

}  // namespace gossamer::rewrite
