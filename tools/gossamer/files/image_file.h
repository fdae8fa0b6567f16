// Decoded pictures: rows of pixels, upright.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.h"

namespace gossamer::command {

// R, G, B, A bytes, row-major from the top left; alpha is not multiplied in.
struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> rgba;
};

// Decodes a .png or .jpg as docs/specs/preprocessing.md has it: 16-bit samples by their high byte,
// colour profiles ignored, turned as the file's EXIF orientation says. Errors: not an image.
Result<Picture> read_picture(const std::filesystem::path& path);

bool is_image_name(const std::filesystem::path& path);

}  // namespace gossamer::command
