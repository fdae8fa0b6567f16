#include "gossamer/files/exif.h"

#include <cstdint>
#include <cstring>

namespace gossamer::command {
namespace {

using ByteSpan = std::span<const std::byte>;

// A number of `count` bytes; 0 beyond the end.
uint32_t number(ByteSpan bytes, size_t at, size_t count, bool big) {
  if (at > bytes.size() || count > bytes.size() - at) return 0;
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value = value << 8 | std::to_integer<uint32_t>(bytes[at + (big ? i : count - 1 - i)]);
  return value;
}

bool starts_with(ByteSpan bytes, const char* text, size_t size) {
  return bytes.size() >= size && std::memcmp(bytes.data(), text, size) == 0;
}

// TIFF's header and first directory: 12 bytes an entry.
int orientation_of(ByteSpan tiff) {
  const bool big = starts_with(tiff, "MM", 2);
  if ((!big && !starts_with(tiff, "II", 2)) || number(tiff, 2, 2, big) != 42) return 1;
  const size_t directory = number(tiff, 4, 4, big);
  const size_t entries = number(tiff, directory, 2, big);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (number(tiff, entry, 2, big) != 0x0112) continue;
    const bool one_short =
        number(tiff, entry + 2, 2, big) == 3 && number(tiff, entry + 4, 4, big) == 1;
    const uint32_t value = number(tiff, entry + 8, 2, big);
    return one_short && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

int of_jpeg(ByteSpan file) {
  for (size_t at = 2; at + 4 <= file.size();) {
    const uint32_t marker = number(file, at, 2, true);
    const size_t length = number(file, at + 2, 2, true);
    // The scan begins: no more segments that say something of the whole.
    if (marker < 0xff01 || marker == 0xffda || length < 2 || length > file.size() - at - 2)
      return 1;
    const ByteSpan segment = file.subspan(at + 4, length - 2);
    if (marker == 0xffe1 && starts_with(segment, "Exif\0\0", 6))
      return orientation_of(segment.subspan(6));
    at += 2 + length;
  }
  return 1;
}

int of_png(ByteSpan file) {
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t length = number(file, at, 4, true);
    if (length > file.size() - at - 12) return 1;
    if (starts_with(file.subspan(at + 4), "eXIf", 4))
      return orientation_of(file.subspan(at + 8, length));
    at += 12 + length;
  }
  return 1;
}

}  // namespace

int exif_orientation(ByteSpan file) {
  if (starts_with(file, "\xff\xd8", 2)) return of_jpeg(file);
  if (starts_with(file, "\x89PNG\r\n\x1a\n", 8)) return of_png(file);
  return 1;
}

}  // namespace gossamer::command
