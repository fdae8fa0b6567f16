// Schedules as text: the primitives that made one, in order, which make it again.
//
// list.h has the grammar. Loops are called by name; a tick tells one from a namesake. split names
// its parts after the arrow unless they end in .outer and .inner.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schedule/schedule.h"
#include "stages/group.h"

namespace gossamer::schedule {

// "contraction: split(i1, 4) -> i1.tile, lane; ...; bind(item, grid)"
std::string to_string(const Schedule& schedule);

// The schedule that the text makes of a stage. The error names the step, and what is wrong with it.
Result<Schedule> parse_schedule(const stages::Stage& stage,
                                const target::Capabilities& capabilities, std::string_view text);

// A group's: one after the other, " | " between them.
std::string to_string(const std::vector<Schedule>& schedules);
Result<std::vector<Schedule>> parse_schedules(const stages::Group& group,
                                              const target::Capabilities& capabilities,
                                              std::string_view text);

}  // namespace gossamer::schedule
