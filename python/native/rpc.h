// Devices that have joined an RPC server, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace gossamer::python {

void define_rpc(nanobind::module_& m);

}  // namespace gossamer::python
