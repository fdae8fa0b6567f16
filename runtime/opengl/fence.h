// What the driver says when it is asked, and when it is done.
#pragma once

#include "runtime/device.h"
#include "runtime/opengl/context.h"

namespace gossamer::runtime::opengl {

// Nothing, or what the driver has noted since it was last asked.
Result<> check_errors(const Gl& gl);

// Behind everything so far, while the context is current. Errors: as above; a lost device.
Result<std::unique_ptr<Fence>> make_fence(const std::shared_ptr<Context>& context);

}  // namespace gossamer::runtime::opengl
