// Default lists of walks over keys (online/online.h).
#pragma once

#include <vector>

#include "online/key_parts.h"
#include "online/online.h"
#include "schedule/list.h"

namespace gossamer::schedule {

// One for each of online_stages.
std::vector<List> online_lists(const Group& group, const Capabilities& capabilities);
// The same on CPUs.
std::vector<List> vector_lists(const Group& group, const Capabilities& capabilities);

// Default lists of the members of KeyParts::parts.
Point key_parts_lists(const Group& parts);

}  // namespace gossamer::schedule
