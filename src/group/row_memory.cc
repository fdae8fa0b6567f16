#include "group/row_memory.h"

#include <algorithm>
#include <vector>

#include "autoschedule/row_schedule.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/access.h"

namespace gossamer::group {
namespace {

using ir::Buffer;
using stages::Group;
using stages::Member;
using stages::Stage;
using target::Capabilities;

// The last member that reads a buffer.
size_t last_reader(const Group& group, const Buffer& buffer) {
  size_t last = 0;
  for (size_t i = 0; i < group.members.size(); ++i) {
    if (reads(group.members[i].stage, buffer)) last = i;
  }
  return last;
}

// Whether one's rows, in vectors of so many lanes, may lie where the other's do. Lanes past the end
// of a row are computed again where its length is known, and skipped where it is not: there the
// padding of blocks is not used.
bool alike(const Member& a, const Member& b, int lanes, const Capabilities& caps) {
  const Stage &one = a.stage, &other = b.stage;
  if (one.output->dtype != other.output->dtype || one.extents.size() != other.extents.size() ||
      a.rows != b.rows)
    return false;
  for (size_t i = 0; i < one.extents.size(); ++i) {
    if (!ir::prove_equal(one.extents[i], other.extents[i])) return false;
  }
  const int rank = static_cast<int>(one.extents.size());
  const auto extent = ir::as_int(other.extents.back());
  const bool skips = !extent && caps.group_size == 1 &&
                     stages::vector_dim(one.output->layout, rank) == rank - 1 &&
                     !stages::is_blocked(other.output->layout);
  if (!skips && !(one.output->layout == other.output->layout)) return false;
  return lanes == 1 || skips || (extent && *extent % lanes == 0);
}

// A place of rows, by the member whose tensor is there.
struct Room {
  Member of;
  size_t until;  // the member that is the last to read what is there
};

}  // namespace

void share_memory(Group& group, const Capabilities& capabilities) {
  const int lanes = autoschedule::row_lanes(group, capabilities).columns;
  std::vector<Room> rooms;
  // The last output's place is free until its stage writes it.
  if (group.last().kind == stages::StageKind::compute) rooms.push_back({group.members.back(), 0});
  for (size_t i = 0; i + 1 < group.members.size(); ++i) {
    Member& member = group.members[i];
    if (member.written || columns_of(member).empty()) continue;
    member.written = true;
    const size_t until = last_reader(group, member.stage.output);
    const auto room = std::ranges::find_if(rooms, [&](const Room& each) {
      return each.until <= i && alike(member, each.of, lanes, capabilities);
    });
    if (room == rooms.end()) {
      rooms.push_back({member, until});
      continue;
    }
    room->until = until;
    const Buffer& there = room->of.stage.output;
    const ir::BufferMap map{{member.stage.output.get(), there}};
    member.stage.output = there;
    for (Member& reader : group.members) stages::replace_inputs(reader.stage, map);
  }
}

}  // namespace gossamer::group
