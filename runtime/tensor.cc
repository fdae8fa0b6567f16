#include "runtime/tensor.h"

#include "ir/scalar.h"

namespace gossamer::runtime {

void take_elements(ir::DType storage, std::span<const std::byte> stored, HostTensor& to) {
  const auto size = static_cast<size_t>(ir::byte_size(to.dtype));
  const auto stored_size = static_cast<size_t>(ir::byte_size(storage));
  if (storage == to.dtype) {
    to.bytes.assign(stored.begin(), stored.end());
    return;
  }
  to.bytes.resize(stored.size() / stored_size * size);
  for (size_t at = 0; at * stored_size < stored.size(); ++at)
    ir::write_scalar(
        ir::convert(ir::carrier_of(to.dtype), ir::read_scalar(storage, &stored[at * stored_size])),
        &to.bytes[at * size]);
}

}  // namespace gossamer::runtime
