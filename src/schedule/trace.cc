#include "schedule/trace.h"

#include "schedule/apply.h"

namespace gossamer::schedule {
namespace {

using stages::Group;
using target::Capabilities;

Call call_of(const Nest& nest, const Step& step) {
  Call call{std::string(name_of(step.primitive)), {}, {}};
  for (LoopId loop : step.loops) call.arguments.push_back(nest.loop(loop).name);
  for (int64_t factor : step.factors) call.arguments.push_back(cat(factor));
  if (step.tail != Tail::exact) call.arguments.emplace_back(name_of(step.tail));
  if (step.primitive == Primitive::bind) call.arguments.emplace_back(ir::name_of(step.kind));
  if (step.ahead) call.arguments.emplace_back("ahead");
  for (LoopId loop : step.made) call.made.push_back(nest.loop(loop).name);
  if (step.primitive == Primitive::split && call.made == part_names(call.arguments[0]))
    call.made.clear();
  return call;
}

}  // namespace

std::string to_string(const Schedule& schedule) {
  List list{schedule.pattern(), {}};
  for (const Step& step : schedule.steps()) list.calls.push_back(call_of(schedule.nest(), step));
  return to_string(list);
}

Result<Schedule> parse_schedule(const stages::Stage& stage, const Capabilities& capabilities,
                                std::string_view text) {
  GS_ASSIGN(const List list, parse_list(text));
  return apply(stage, capabilities, list, Names::of_loops);
}

std::string to_string(const std::vector<Schedule>& schedules) {
  std::string text;
  for (const Schedule& schedule : schedules)
    text += cat(text.empty() ? "" : " | ", to_string(schedule));
  return text;
}

Result<std::vector<Schedule>> parse_schedules(const Group& group, const Capabilities& capabilities,
                                              std::string_view text) {
  GS_ASSIGN(const Point point, parse_point(text));
  return apply(group, capabilities, point, Names::of_loops);
}

}  // namespace gossamer::schedule
