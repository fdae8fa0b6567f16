#include "base/strings.h"

#include <algorithm>
#include <cstring>

namespace gossamer {

Result<size_t> packed_width(std::span<const std::string> strings) {
  constexpr uint64_t step = 8, most = (uint64_t{1} << 31) - 1;
  uint64_t width = 1;
  for (const std::string& text : strings) width = std::max<uint64_t>(width, text.size());
  width = (width + step - 1) / step * step;
  if (width > most / std::max<size_t>(strings.size(), 1)) {
    return fail(cat("has ", strings.size(), " strings, the longest of which takes ", width,
                    " bytes: at most ", most, " are possible in all"),
                "use shorter strings, or fewer at once");
  }
  return static_cast<size_t>(width);
}

PackedStrings pack_strings(std::span<const std::string> strings) {
  const auto checked = packed_width(strings);
  GS_CHECK(checked, "strings that do not fit");
  const size_t width = *checked;
  PackedStrings packed;
  packed.width = static_cast<int64_t>(width);
  packed.bytes.resize(strings.size() * width);
  packed.lengths.resize(strings.size() * sizeof(int32_t));
  for (size_t i = 0; i < strings.size(); ++i) {
    const auto length = static_cast<int32_t>(strings[i].size());
    if (length > 0) std::memcpy(&packed.bytes[i * width], strings[i].data(), strings[i].size());
    std::memcpy(&packed.lengths[i * sizeof length], &length, sizeof length);
  }
  return packed;
}

Result<std::vector<std::string>> unpack_strings(int64_t width, std::span<const std::byte> bytes,
                                                std::span<const std::byte> lengths) {
  std::vector<std::string> strings(lengths.size() / sizeof(int32_t));
  for (size_t i = 0; i < strings.size(); ++i) {
    int32_t length = 0;
    std::memcpy(&length, &lengths[i * sizeof length], sizeof length);
    const size_t begin = i * static_cast<size_t>(width);
    if (length < 0 || length > width || begin + static_cast<size_t>(length) > bytes.size())
      return fail(cat("string ", i, " has the length ", length, ", there is room for ", width));
    strings[i].assign(reinterpret_cast<const char*>(bytes.data()) + begin,
                      static_cast<size_t>(length));
  }
  return strings;
}

std::string one_line(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string made;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code != 0x7f) {
      made += c;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      made += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else {
      made += cat("\\x", digits.substr(code >> 4, 1), digits.substr(code & 15, 1));
    }
  }
  return made;
}

}  // namespace gossamer
