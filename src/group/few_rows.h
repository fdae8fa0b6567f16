// Launches of runs with few rows, such as the one row of a language model's token: a launch costs
// more than what it computes there, so products take with them what makes their operands.
#pragma once

#include <vector>

#include "group/group_stages.h"

namespace gossamer::group {

// Adds products for few rows (tiling.h), which do in one launch what takes several for more rows:
// - a product that reads another one's result at its own point sums both (a gate);
// - a product of rows that a launch before divides by a factor of each row (a norm of sums of
//   squares) sums that factor's terms as well, and divides its result;
// - a product of elements that a launch before moves (heads in another order) reads them where they
//   are.
// The launches that they replace are for more rows then (Group::number), or go where the number of
// rows is known. Targets without workgroups have no use for it.
void merge_for_few_rows(std::vector<Launched>& launched, const Ends& ends,
                        const target::Capabilities& capabilities);

}  // namespace gossamer::group
