#include "rewrite/legalize_stages.h"

#include <utility>

#include "online/key_parts.h"
#include "rewrite/scan.h"
#include "rewrite/scatter.h"
#include "rewrite/sort.h"
#include "rewrite/split_reduction.h"

namespace gossamer::schedule {

void legalize_stages(ops::Program& program, const Capabilities& capabilities) {
  if (!capabilities.scatters) gather_scatters(program, capabilities);
  const auto whole = made_by_key_parts(program, capabilities);
  ops::Program made;
  for (ops::Entry& entry : program) {
    if (!entry.stage() || whole.contains(entry.output().get())) {
      made.push_back(std::move(entry));
      continue;
    }
    std::vector<ops::Stage> stages{std::move(*entry.stage())};
    merge_sorts(stages, capabilities);
    split_scans(stages, capabilities);
    split_reductions(stages, capabilities);
    for (ops::Stage& stage : stages) made.emplace_back(std::move(stage));
  }
  program = std::move(made);
}

}  // namespace gossamer::schedule
