// Programs of lazy tensors: their elements stay where they are computed.
#pragma once

#include <nanobind/nanobind.h>

namespace gossamer::python {

void define_programs(nanobind::module_& m);

}  // namespace gossamer::python
