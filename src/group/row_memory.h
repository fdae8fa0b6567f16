// Where the rows lie that the members of a group hand to each other.
#pragma once

#include "stages/group.h"
#include "target/capabilities.h"

namespace gossamer::group {

// What only the group reads lies in what is done with: in the last output until the last stage
// overwrites it, in another such tensor after its last reader, which may be what overwrites it,
// point by point. A long chain then stays in caches.
void share_memory(stages::Group& group, const target::Capabilities& capabilities);

}  // namespace gossamer::group
