// Outputs that take the place of inputs.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "schedule/schedule.h"
#include "stages/group.h"

namespace gossamer::schedule {

// Whether nobody needs a buffer after a group.
using Dies = std::function<bool(const ir::Buffer& input)>;

// For as many outputs of maps as possible an input of the same type, shape and layout, of which
// each point is read by the invocation alone that writes the output's. Reductions have none.
std::vector<stages::InPlace> find_in_place(const stages::Group& group, const Dies& dies);

// Whether a load is of the stage's own point.
bool at_own_point(const ir::Load& load, const stages::Stage& stage);

// The group's kernel with each input's memory in the place of the output's. An error where points
// are computed twice: another invocation may have written them before.
Result<ir::Kernel> update_in_place(ir::Kernel kernel, const stages::Group& group,
                                   const Schedule& schedule);

}  // namespace gossamer::schedule
