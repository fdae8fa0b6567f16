// The one model that lies in a component: what --emit component puts beside the service
// (runtime/embedded/component.c).
#pragma once

#include "base/result.h"
#include "serve/protocol.h"

namespace gossamer::serve::component {

const Signature& signature();
// Feeds in the order of the signature's inputs. Errors: what the model says.
Result<std::vector<runtime::HostTensor>> run(const std::vector<runtime::HostTensor>& feeds);

}  // namespace gossamer::serve::component
