// Tensors and ports between Python's tuples and the run time.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <string>
#include <vector>

#include "runtime/model.h"

namespace gossamer::python {

namespace nb = nanobind;

// (element type, shape, bytes or strings), as Python gives tensors.
struct Given {
  explicit Given(nb::handle tuple);
  std::span<const std::byte> bytes() const;

  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;
  std::vector<std::string> strings;
  nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu, nb::ro> array;
};

struct Feeds {
  explicit Feeds(const nb::list& given);
  std::vector<Given> tensors;
  std::vector<runtime::TensorView> views;
};

// The other way round; the array owns the bytes.
nb::tuple tuple_of(runtime::HostTensor tensor);

// [ports (name, element type, shape), groups (name, whether it is a sequence, first port, ports)]
nb::list ports_of(const std::vector<runtime::Port>& ports,
                  const std::vector<runtime::Group>& groups);

}  // namespace gossamer::python
