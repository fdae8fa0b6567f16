// Which way up a photograph is.
#pragma once

#include <cstddef>
#include <span>

namespace gossamer::command {

// The orientation (1 to 8, EXIF 2.3 tag 0x0112) of a JPEG file's first EXIF segment or a PNG
// file's eXIf chunk; 1, upright, where the file says nothing valid.
int exif_orientation(std::span<const std::byte> file);

}  // namespace gossamer::command
