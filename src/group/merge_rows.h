// Stages over the same rows as one group.
#pragma once

#include <optional>

#include "stages/group.h"
#include "target/capabilities.h"

namespace gossamer::schedule {

// A producer and what reads it, whose loads between them are all of the same row; none: they are
// not, or several launches are faster on such machines, or on `others`, if there are any.
std::optional<Group> merged_rows(const Group& producer, const Group& reader,
                                 const Capabilities& capabilities, const Capabilities* others);

}  // namespace gossamer::schedule
