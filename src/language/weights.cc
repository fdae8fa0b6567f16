#include "language/weights.h"

namespace gossamer::language {

std::string Weights::name(Part part, int64_t layer) const {
  const std::string_view text = names()[static_cast<size_t>(part)];
  const size_t at = text.find('%');
  return at == std::string_view::npos ? std::string(text)
                                      : cat(text.substr(0, at), layer, text.substr(at + 1));
}

}  // namespace gossamer::language
