#include "tensors.h"

#include <nanobind/stl/tuple.h>

#include "errors.h"
#include "runtime/api/element_type.h"

namespace gossamer::python {
namespace {

using Made = nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>;

// An array that owns what a run made.
Made array_of(TensorBytes bytes) {
  auto* owned = new TensorBytes(std::move(bytes));
  const nb::capsule owner(owned, [](void* it) noexcept { delete static_cast<TensorBytes*>(it); });
  return Made(owned->data(), {owned->size()}, owner);
}

nb::object strings_of(const std::vector<std::string>& strings) {
  nb::list all;
  for (const std::string& one : strings) all.append(nb::bytes(one.data(), one.size()));
  return all;
}

}  // namespace

Given::Given(nb::handle tuple) {
  auto [type, extents, data] =
      nb::cast<std::tuple<std::string, std::vector<int64_t>, nb::object>>(tuple);
  const auto named = ir::dtype_named(type);
  if (!named) fail("", "there is no element type \"" + type + "\"", "");
  dtype = *named;
  shape = std::move(extents);
  if (dtype != ir::DType::string) {
    array = nb::cast<decltype(array)>(data);
    return;
  }
  for (nb::handle each : data) {
    const auto text = nb::cast<nb::bytes>(each);
    strings.emplace_back(text.c_str(), text.size());
  }
}

std::span<const std::byte> Given::bytes() const {
  if (dtype == ir::DType::string) return {};
  return std::as_bytes(std::span(array.data(), array.size()));
}

Feeds::Feeds(const nb::list& given) {
  tensors.reserve(nb::len(given));
  for (nb::handle each : given) {
    const Given& tensor = tensors.emplace_back(each);
    views.push_back({tensor.dtype, tensor.shape, tensor.bytes(), tensor.strings});
  }
}

nb::tuple tuple_of(runtime::HostTensor tensor) {
  nb::object data = tensor.dtype == ir::DType::string ? strings_of(tensor.strings)
                                                      : nb::cast(array_of(std::move(tensor.bytes)));
  return nb::make_tuple(ir::name_of(tensor.dtype), nb::cast(tensor.shape), data);
}

nb::list ports_of(const std::vector<runtime::Port>& ports,
                  const std::vector<runtime::Group>& groups) {
  nb::list all;
  for (const runtime::Port& port : ports)
    all.append(nb::make_tuple(port.name, ir::name_of(port.dtype), nb::cast(port.shape)));
  nb::list grouped;
  for (const runtime::Group& group : groups)
    grouped.append(nb::make_tuple(group.name, group.sequence, group.first, group.count));
  nb::list both;
  both.append(all);
  both.append(grouped);
  return both;
}

}  // namespace gossamer::python
