// Lazy tensors for Python: values of one recorder, and the programs that compute them.
#pragma once

#include <nanobind/nanobind.h>

namespace gossamer::python {

void define_lazy(nanobind::module_& m);

}  // namespace gossamer::python
