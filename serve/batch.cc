#include "serve/batch.h"

#include <algorithm>
#include <cmath>

#include "ir/scalar.h"

namespace gossamer::serve {

using runtime::HostTensor;

bool same_rows(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  return std::ranges::equal(a, b, [](const HostTensor& one, const HostTensor& other) {
    return std::ranges::equal(std::span(one.shape).subspan(1), std::span(other.shape).subspan(1));
  });
}

std::vector<HostTensor> join(std::span<const std::vector<HostTensor>* const> requests) {
  std::vector<HostTensor> joined = *requests[0];
  for (const auto* request : requests.subspan(1)) {
    for (size_t at = 0; at < joined.size(); ++at) {
      const HostTensor& next = (*request)[at];
      joined[at].shape[0] += next.shape[0];
      joined[at].bytes.append(next.bytes);
      joined[at].strings.insert(joined[at].strings.end(), next.strings.begin(), next.strings.end());
    }
  }
  return joined;
}

HostTensor rows_of(const HostTensor& tensor, int64_t first, int64_t rows) {
  HostTensor part{tensor.dtype, tensor.shape, {}};
  part.shape[0] = rows;
  const auto share = [&](const auto& from, auto& to) {
    const auto row = static_cast<int64_t>(from.size()) / std::max<int64_t>(tensor.shape[0], 1);
    to.assign(from.begin() + first * row, from.begin() + (first + rows) * row);
  };
  share(tensor.bytes, part.bytes);
  share(tensor.strings, part.strings);
  return part;
}

bool agree(const HostTensor& a, const HostTensor& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  if (!ir::is_float(a.dtype)) return a.bytes == b.bytes && a.strings == b.strings;
  const auto size = static_cast<size_t>(ir::byte_size(a.dtype));
  const auto at = [&](const HostTensor& tensor, size_t offset) {
    return ir::read_scalar(tensor.dtype, tensor.bytes.data() + offset).f;
  };
  double greatest = 0;
  for (size_t offset = 0; offset < a.bytes.size(); offset += size)
    if (std::isfinite(at(a, offset))) greatest = std::max(greatest, std::fabs(at(a, offset)));
  for (size_t offset = 0; offset < a.bytes.size(); offset += size) {
    const double one = at(a, offset), other = at(b, offset);
    if (std::isnan(one) != std::isnan(other)) return false;
    if (!std::isnan(one) && one != other && !(std::fabs(one - other) <= 1e-3 * greatest))
      return false;
  }
  return true;
}

}  // namespace gossamer::serve
