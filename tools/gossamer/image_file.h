// Photographs and drawings as tensors.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gossamer/runner.h"

namespace gossamer::command {

struct ImageOptions {
  std::vector<double> mean, std;  // one a channel, on the scale 0..1; empty: the default
  std::string layout;             // "nchw", "nhwc"; "": by which axis of the input is 1, 3 or 4
  // For inputs of unknown height and width: the image's own where 0.
  int height = 0, width = 0;
};

// Decodes a .png or .jpg, resizes it to the input's height and width (the shorter side to fit, the
// middle cut out, as ImageNet's evaluation does; bilinear with anti-aliasing) and normalises:
// float inputs of 3 channels as (x - mean) / std with ImageNet's (0.485, 0.456, 0.406) and
// (0.229, 0.224, 0.225), of 1 channel as 0..1 unless given; u8 inputs take the bytes. Errors: not
// an image, an input that is no image's (3 or 4 dimensions; 1, 3 or 4 channels).
Result<ops::TensorData> read_image(const std::filesystem::path& path, const Port& port,
                                   const ImageOptions& options);

bool is_image_name(const std::filesystem::path& path);

}  // namespace gossamer::command
