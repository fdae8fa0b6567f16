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

#include "stages/group.h"
#include "stages/program.h"
#include "target/capabilities.h"

namespace gossamer::online {

// Keys and invocations of a workgroup. In the products, an invocation has one key and shares its
// vectors with others; in the weighted sums, it has one vector of columns and shares the keys.
struct KeyPartsShape {
  int64_t keys = 0, invocations = 0;  // 0: these widths do not divide among invocations
};
KeyPartsShape key_parts_shape(int64_t width, int64_t columns);

struct KeyParts {
  stages::Group parts;  // in a tile
  stages::Stage join;   // writes what the group that was split wrote
};

// If the number of rows is known and larger, products with all keys keep a GPU busy without parts.
constexpr int64_t most_split_rows = 8;

ir::Expr rows_of(const stages::Group& online);

// `online`: a walk, `rows`: how many the launches are for at most. Nothing where the shape or
// the target has no use for it.
std::optional<KeyParts> key_parts(const stages::Group& online, const ir::Expr& rows,
                                  const target::Capabilities& capabilities);

// What the stages of known rows make that group_stages will split so: their reductions stay whole.
std::set<const ir::BufferNode*> made_by_key_parts(const stages::Program& program,
                                                  const target::Capabilities& capabilities);

}  // namespace gossamer::online
