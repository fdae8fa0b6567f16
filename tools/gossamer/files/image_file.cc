#include "gossamer/files/image_file.h"

#include <cctype>
#include <cstring>
#include <string>

#include "api/files.h"
#include "gossamer/files/exif.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-function"
#include "stb/stb_image.h"
#pragma clang diagnostic pop

namespace gossamer::command {
namespace {

// As EXIF 2.3 lists them: 2 mirrored, 3 half a turn, 4 upside down, 5 to 8 with rows and columns
// exchanged.
Picture upright(Picture stored, int orientation) {
  if (orientation == 1) return stored;
  const bool exchanged = orientation >= 5;
  Picture result{exchanged ? stored.height : stored.width, exchanged ? stored.width : stored.height,
                 std::vector<uint8_t>(stored.rgba.size())};
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  size_t to = 0;
  for (int y = 0; y < result.height; ++y)
    for (int x = 0; x < result.width; ++x, to += 4) {
      const int column = exchanged ? y : x, row = exchanged ? x : y;
      const int from_x = from_right ? stored.width - 1 - column : column;
      const int from_y = from_bottom ? stored.height - 1 - row : row;
      const size_t from = 4 * (static_cast<size_t>(from_y) * static_cast<size_t>(stored.width) +
                               static_cast<size_t>(from_x));
      std::memcpy(&result.rgba[to], &stored.rgba[from], 4);
    }
  return result;
}

}  // namespace

bool is_image_name(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  for (char& letter : extension) letter = static_cast<char>(std::tolower(letter));
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

Result<Picture> read_picture(const std::filesystem::path& path) {
  GS_ASSIGN(const Bytes bytes, read_file(path, uint64_t{1} << 30));
  Picture picture;
  int found = 0;
  unsigned char* pixels = stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()),
                                                static_cast<int>(bytes.size()), &picture.width,
                                                &picture.height, &found, STBI_rgb_alpha);
  if (!pixels) return fail_at(path.string(), cat("is no image: ", stbi_failure_reason()));
  picture.rgba.assign(pixels, pixels + 4 * static_cast<size_t>(picture.width) *
                                           static_cast<size_t>(picture.height));
  stbi_image_free(pixels);
  return upright(std::move(picture), exif_orientation(bytes));
}

}  // namespace gossamer::command
