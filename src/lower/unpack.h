#pragma once

#include "stages/stage.h"

namespace gossamer::lower {

// The stage that makes `unpacked`, of a small type, from u8 words of `elements` each. Weights of
// four and two bits stay packed in the package this way, and on devices where it is fused.
stages::Stage unpack_stage(const ir::Buffer& packed, const ir::Buffer& unpacked, int elements);

}  // namespace gossamer::lower
