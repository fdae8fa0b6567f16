#include "net/secret.h"

#include <cstddef>

namespace gossamer::net {

bool equal_secrets(std::string_view a, std::string_view b) {
  unsigned differ = a.size() == b.size() ? 0 : 1;
  for (size_t at = 0; at < a.size(); ++at)
    differ |= static_cast<unsigned char>(a[at]) ^
              static_cast<unsigned char>(b.empty() ? 0 : b[at % b.size()]);
  return differ == 0;
}

}  // namespace gossamer::net
