// A picture as the tensor that a model is fed with: docs/specs/preprocessing.md, which
// web/runtime/src/image/preprocess.ts implements with the same arithmetic.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gossamer/files/image_file.h"
#include "gossamer/runners/runner.h"

namespace gossamer::command {

struct ImageOptions {
  // Each value becomes (byte * scale - mean) / std; mean and std one for all or one a channel.
  // Without any of the three: ImageNet's for floats of 3 channels, else the defaults of scale
  // (1/255 for floats, 1 for integers), mean (0) and std (1).
  std::vector<double> mean, std;
  std::optional<double> scale;
  std::string layout;  // "nchw", "nhwc"; "": by which axis of the input is 1, 3 or 4
  // For inputs of unknown height and width: the picture's own where 0.
  int height = 0, width = 0;
};

// Errors name the input: one that is no image's (3 or 4 dimensions; 1, 3 or 4 channels), as many
// values of mean or std as no image has channels, an std of 0.
Result<ops::TensorData> preprocess(const Picture& picture, const Port& port,
                                   const ImageOptions& options);

}  // namespace gossamer::command
