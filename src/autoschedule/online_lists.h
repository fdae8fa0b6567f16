// Default lists of walks over keys (online/online.h).
#pragma once

#include <vector>

#include "online/key_parts.h"
#include "online/online.h"
#include "schedule/list.h"

namespace gossamer::autoschedule {

// One for each of online_stages.
std::vector<schedule::List> online_lists(const stages::Group& group,
                                         const target::Capabilities& capabilities);
// The same on CPUs.
std::vector<schedule::List> vector_lists(const stages::Group& group,
                                         const target::Capabilities& capabilities);

// Default lists of the members of KeyParts::parts.
schedule::Point key_parts_lists(const stages::Group& parts);

}  // namespace gossamer::autoschedule
