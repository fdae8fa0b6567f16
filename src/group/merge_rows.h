// Stages over the same rows as one group.
#pragma once

#include <optional>

#include "stages/group.h"
#include "target/capabilities.h"

namespace gossamer::group {

// A producer and what reads it, whose loads between them are all of the same row; none: they are
// not, or several launches are faster on such machines, or on `others`, if there are any.
std::optional<stages::Group> merged_rows(const stages::Group& producer, const stages::Group& reader,
                                         const target::Capabilities& capabilities,
                                         const target::Capabilities* others);

}  // namespace gossamer::group
