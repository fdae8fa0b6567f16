// The families of cases.
#pragma once

#include "gpu/case.h"

namespace gossamer::tests::gpu {

void add_elementwise(Cases&);
void add_programs(Cases&);

}  // namespace gossamer::tests::gpu
