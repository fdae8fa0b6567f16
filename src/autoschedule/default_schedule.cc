#include "autoschedule/default_schedule.h"

#include <algorithm>
#include <iterator>

#include "autoschedule/online_lists.h"
#include "autoschedule/row_schedule.h"
#include "autoschedule/tiling.h"
#include "online/online.h"
#include "schedule/apply.h"
#include "schedule/lower.h"

namespace gossamer::autoschedule {
namespace {

using schedule::Names;
using schedule::Point;
using schedule::Schedule;
using stages::Group;
using target::Capabilities;

Capabilities without_hardware(Capabilities capabilities) {
  capabilities.hardware = false;
  return capabilities;
}

}  // namespace

Point default_point(const Group& group, const Capabilities& capabilities) {
  Point point;
  for (const Group& one : group.concurrent)
    std::ranges::move(default_point(one, capabilities), std::back_inserter(point));
  if (!point.empty()) return point;
  if (is_walk(group)) return online_lists(group, capabilities);
  if (has_tiles(group)) return key_parts_lists(group);
  if (over_rows(group)) return row_lists(group, capabilities);
  return {default_list(group.last(), capabilities)};
}

Result<ScheduledGroup> schedule_at(const Group& group, const Capabilities& capabilities,
                                   const Point& point) {
  ScheduledGroup made;
  GS_ASSIGN(made.schedules, apply(group, capabilities, point, Names::by_place));
  GS_ASSIGN(made.kernel, lower(group, made.schedules));
  return made;
}

ScheduledGroup schedule_default(const Group& group, const Capabilities& capabilities) {
  auto made = schedule_at(group, capabilities, default_point(group, capabilities));
  if (!made && capabilities.hardware)
    made = schedule_at(group, capabilities, default_point(group, without_hardware(capabilities)));
  GS_CHECK(made, title_of(group), ": ", made.error().to_string());
  return *std::move(made);
}

Schedule default_schedule(const stages::Stage& stage, const Capabilities& capabilities) {
  return std::move(schedule_default(single_group(stage), capabilities).schedules.back());
}

bool has_variant(const Group& group, const Capabilities& capabilities, const Capabilities& others) {
  if (is_walk(group))
    return online::online_tile(group, others) != online::online_tile(group, capabilities);
  return default_point(group, capabilities) != default_point(group, others);
}

}  // namespace gossamer::autoschedule
