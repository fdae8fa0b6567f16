#include "gossamer/runners/preprocess.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gossamer/files/tensor_file.h"
#include "ir/scalar.h"

// A page computes the same numbers, so no multiply-add may be fused.
#pragma clang fp contract(off)

namespace gossamer::command {
namespace {

// Rows of pixels of channels, on the scale 0..255.
template <typename Value>
struct Plane {
  int width = 0, height = 0, channels = 0;
  std::vector<Value> values;
  size_t index(int y, int x) const {
    return (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) *
           static_cast<size_t>(channels);
  }
};

// Four channels as they are; three over white; one is their luma (ITU-R BT.601, in 16 bits).
Plane<uint8_t> choose_channels(const Picture& picture, int channels) {
  Plane<uint8_t> plane{picture.width, picture.height, channels, {}};
  if (channels == 4) {
    plane.values = picture.rgba;
    return plane;
  }
  plane.values.reserve(picture.rgba.size() / 4 * static_cast<size_t>(channels));
  for (size_t at = 0; at < picture.rgba.size(); at += 4) {
    std::array<uint32_t, 3> rgb;
    const uint32_t alpha = picture.rgba[at + 3];
    for (size_t c = 0; c < 3; ++c)
      rgb[c] = (picture.rgba[at + c] * alpha + 255 * (255 - alpha) + 127) / 255;
    if (channels == 1)
      plane.values.push_back(
          static_cast<uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16));
    else
      for (uint32_t value : rgb) plane.values.push_back(static_cast<uint8_t>(value));
  }
  return plane;
}

// Which pixels of a line make one of the resized line, with their weights: a triangle as wide as
// the step when shrinking, bilinear when growing.
struct Taps {
  int first = 0;
  std::vector<double> weights;
};

std::vector<Taps> taps_of(int from, double begin, double step, int to) {
  std::vector<Taps> all;
  const double support = std::max(1.0, step);
  for (int at = 0; at < to; ++at) {
    const double center = begin + (at + 0.5) * step;
    Taps taps;
    taps.first = std::max(0, static_cast<int>(std::floor(center - support)));
    const int last = std::min(from - 1, static_cast<int>(std::floor(center + support)));
    double sum = 0;
    for (int pixel = taps.first; pixel <= last; ++pixel) {
      taps.weights.push_back(std::max(0.0, 1 - std::abs(pixel + 0.5 - center) / support));
      sum += taps.weights.back();
    }
    for (double& weight : taps.weights) weight /= sum;
    all.push_back(std::move(taps));
  }
  return all;
}

Plane<double> fit(const Plane<uint8_t>& image, int height, int width) {
  // The largest part of the image that has the wanted proportions, from its middle.
  const double step = std::min(static_cast<double>(image.width) / width,
                               static_cast<double>(image.height) / height);
  const auto columns = taps_of(image.width, (image.width - step * width) / 2, step, width);
  const auto rows = taps_of(image.height, (image.height - step * height) / 2, step, height);
  const auto channels = static_cast<size_t>(image.channels);
  Plane<double> across{width, image.height, image.channels, {}};
  across.values.reserve(static_cast<size_t>(width) * static_cast<size_t>(image.height) * channels);
  for (int y = 0; y < image.height; ++y)
    for (const Taps& taps : columns) {
      const uint8_t* pixels = &image.values[image.index(y, taps.first)];
      for (size_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (size_t tap = 0; tap < taps.weights.size(); ++tap)
          sum += taps.weights[tap] * pixels[tap * channels + c];
        across.values.push_back(sum);
      }
    }
  Plane<double> result{width, height, image.channels, {}};
  const size_t row_size = static_cast<size_t>(width) * channels;
  result.values.reserve(static_cast<size_t>(height) * row_size);
  for (const Taps& taps : rows) {
    const double* first = &across.values[across.index(taps.first, 0)];
    for (size_t at = 0; at < row_size; ++at) {
      double sum = 0;
      for (size_t tap = 0; tap < taps.weights.size(); ++tap)
        sum += taps.weights[tap] * first[tap * row_size + at];
      result.values.push_back(sum);
    }
  }
  return result;
}

bool is_channels(int64_t extent) { return extent == 1 || extent == 3 || extent == 4; }

// What becomes of the bytes of a channel.
struct Normal {
  double scale = 1, mean = 0, std = 1;
};

Result<std::vector<Normal>> normals_of(const std::string& where, const ImageOptions& options,
                                       ir::DType dtype, size_t channels) {
  const bool fraction = ir::is_float(dtype);
  const double scale = options.scale.value_or(fraction ? 1.0 / 255 : 1);
  for (const auto* given : {&options.mean, &options.std})
    if (given->size() > 1 && given->size() != channels)
      return fail_at(where,
                     cat("has ", channels, " channels: give --mean and --std as many values"));
  if (std::ranges::find(options.std, 0.0) != options.std.end())
    return fail_at(where, "--std 0 divides by nothing");
  const bool silent = options.mean.empty() && options.std.empty() && !options.scale;
  if (silent && fraction && channels == 3)
    return std::vector<Normal>{{scale, 0.485, 0.229}, {scale, 0.456, 0.224}, {scale, 0.406, 0.225}};
  const auto of = [](const std::vector<double>& given, size_t channel, double fallback) {
    return given.empty() ? fallback : given[given.size() == 1 ? 0 : channel];
  };
  std::vector<Normal> normals;
  for (size_t c = 0; c < channels; ++c)
    normals.push_back({scale, of(options.mean, c, 0), of(options.std, c, 1)});
  return normals;
}

// Short floats are rounded from f32, which is what a page hands to its run time; integers half up,
// kept within their type.
ir::Scalar scalar_of(ir::DType dtype, double value) {
  if (!ir::is_float(dtype)) return ir::Scalar::of_float(dtype, std::floor(value + 0.5));
  if (dtype == ir::DType::f64) return ir::Scalar::of_float(dtype, value);
  return ir::Scalar::of_float(dtype, static_cast<float>(value));
}

}  // namespace

Result<ops::TensorData> preprocess(const Picture& picture, const Port& port,
                                   const ImageOptions& options) {
  const std::string where = cat("input \"", port.name, "\"");
  const size_t rank = port.shape.size();
  if (rank != 3 && rank != 4)
    return fail_at(where, cat("has shape ", shape_text(port.shape), ", which is no image's"),
                   "give it as .npy or .pb");
  const size_t base = rank - 3;
  const bool first = options.layout.empty()
                         ? is_channels(port.shape[base]) || !is_channels(port.shape[rank - 1])
                         : options.layout == "nchw";
  const size_t channel_axis = first ? base : rank - 1, row_axis = first ? base + 1 : base;
  const int64_t channels = port.shape[channel_axis] < 0 ? 3 : port.shape[channel_axis];
  if (!is_channels(channels))
    return fail_at(where, cat("has ", channels, " channels, an image has 1, 3 or 4"),
                   "choose the layout by --layout, or give it as .npy or .pb");
  GS_ASSIGN(const std::vector<Normal> normals,
            normals_of(where, options, port.dtype, static_cast<size_t>(channels)));
  const auto extent = [&](size_t axis, int given, int own) {
    return port.shape[axis] >= 0 ? static_cast<int>(port.shape[axis]) : given > 0 ? given : own;
  };
  const int height = extent(row_axis, options.height, picture.height);
  const int width = extent(row_axis + 1, options.width, picture.width);
  ops::TensorData tensor{port.dtype, std::vector<int64_t>(rank, 1), {}, {}};
  tensor.shape[channel_axis] = channels;
  tensor.shape[row_axis] = height;
  tensor.shape[row_axis + 1] = width;
  if (height == 0 || width == 0) return tensor;
  const Plane<double> fitted =
      fit(choose_channels(picture, static_cast<int>(channels)), height, width);
  const auto size = static_cast<size_t>(ir::byte_size(port.dtype));
  const size_t pixels = static_cast<size_t>(height) * static_cast<size_t>(width);
  tensor.bytes.resize(fitted.values.size() * size);
  for (size_t at = 0; at < fitted.values.size(); ++at) {
    const size_t channel = at % normals.size(), pixel = at / normals.size();
    const auto [scale, mean, std] = normals[channel];
    const size_t to = first ? channel * pixels + pixel : at;
    ir::write_scalar(scalar_of(port.dtype, (fitted.values[at] * scale - mean) / std),
                     &tensor.bytes[to * size]);
  }
  return tensor;
}

}  // namespace gossamer::command
