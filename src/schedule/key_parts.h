// Attention of few rows in two launches.
//
// One row, as of a step of text, keeps one workgroup busy with a walk over its keys (online.h).
// Here each part of the keys has a workgroup, which computes for all heads that share them
//
//   peak(p) = maximum of s[j]       total(p) = sum of weight(s[j], peak(p))
//   sum(p, d) = sum of weight(s[j], peak(p)) * value[j, d]          over the keys j of part p,
//
// and a reduction over the parts joins these tuples ("flash decoding").
#pragma once

#include <optional>
#include <set>

#include "ops/program.h"
#include "schedule/capabilities.h"
#include "schedule/group.h"
#include "schedule/list.h"

namespace gossamer::schedule {

struct KeyParts {
  Group parts;      // in a tile
  ops::Stage join;  // writes what the group that was split wrote
};

// If the number of rows is known and larger, products with all keys keep a GPU busy without parts.
constexpr int64_t most_split_rows = 8;

ir::Expr rows_of(const Group& online);

// `online`: a walk, `rows`: how many the launches are for at most. Nothing where the shape or
// the target has no use for it.
std::optional<KeyParts> key_parts(const Group& online, const ir::Expr& rows,
                                  const Capabilities& capabilities);

// What the stages of known rows make that group_stages will split so: their reductions stay whole.
std::set<const ir::BufferNode*> made_by_key_parts(const ops::Program& program,
                                                  const Capabilities& capabilities);

// Default lists of such a group's members.
Point key_parts_lists(const Group& parts);

}  // namespace gossamer::schedule
