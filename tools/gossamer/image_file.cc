#include "gossamer/image_file.h"

#include <algorithm>
#include <cmath>

#include "gossamer/files.h"
#include "gossamer/tensor_file.h"
#include "ir/scalar.h"

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

struct Image {
  int width = 0, height = 0, channels = 0;
  std::vector<float> values;  // rows of pixels of channels, 0..255
  float at(int y, int x, int c) const {
    return values[(static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) *
                      static_cast<size_t>(channels) +
                  static_cast<size_t>(c)];
  }
};

// Which pixels of a line make one of the resized line, with their weights: a triangle as wide as
// the step when shrinking, bilinear when growing.
struct Taps {
  int first = 0;
  std::vector<float> weights;
};

std::vector<Taps> taps_of(int from, double begin, double scale, int to) {
  std::vector<Taps> all;
  const double support = std::max(1.0, scale);
  for (int at = 0; at < to; ++at) {
    const double center = begin + (at + 0.5) * scale;
    Taps taps;
    taps.first = std::max(0, static_cast<int>(std::floor(center - support)));
    const int last = std::min(from - 1, static_cast<int>(std::ceil(center + support)));
    double sum = 0;
    for (int pixel = taps.first; pixel <= last; ++pixel) {
      const double weight = std::max(0.0, 1 - std::abs(pixel + 0.5 - center) / support);
      taps.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : taps.weights) weight /= static_cast<float>(sum);
    all.push_back(std::move(taps));
  }
  return all;
}

Image resize(const Image& image, int height, int width) {
  if (image.height == height && image.width == width) return image;
  // The largest part of the image that has the wanted proportions, from its middle.
  const double scale = std::min(static_cast<double>(image.width) / width,
                                static_cast<double>(image.height) / height);
  const auto columns = taps_of(image.width, (image.width - scale * width) / 2, scale, width);
  const auto rows = taps_of(image.height, (image.height - scale * height) / 2, scale, height);
  Image across{width, image.height, image.channels, {}};
  for (int y = 0; y < image.height; ++y)
    for (const Taps& taps : columns)
      for (int c = 0; c < image.channels; ++c) {
        float sum = 0;
        for (size_t tap = 0; tap < taps.weights.size(); ++tap)
          sum += taps.weights[tap] * image.at(y, taps.first + static_cast<int>(tap), c);
        across.values.push_back(sum);
      }
  Image result{width, height, image.channels, {}};
  for (const Taps& taps : rows)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < image.channels; ++c) {
        float sum = 0;
        for (size_t tap = 0; tap < taps.weights.size(); ++tap)
          sum += taps.weights[tap] * across.at(taps.first + static_cast<int>(tap), x, c);
        result.values.push_back(sum);
      }
  return result;
}

Result<Image> decode(const std::filesystem::path& path, int channels) {
  GS_ASSIGN(const Bytes bytes, read_file(path, uint64_t{1} << 30));
  Image image;
  int found = 0;
  unsigned char* pixels = stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()),
                                                static_cast<int>(bytes.size()), &image.width,
                                                &image.height, &found, channels);
  if (!pixels) return fail_at(path.string(), cat("is no image: ", stbi_failure_reason()));
  image.channels = channels;
  image.values.assign(pixels, pixels + static_cast<size_t>(image.width) *
                                           static_cast<size_t>(image.height) *
                                           static_cast<size_t>(channels));
  stbi_image_free(pixels);
  return image;
}

bool is_channels(int64_t extent) { return extent == 1 || extent == 3 || extent == 4; }

std::vector<double> per_channel(std::vector<double> given, double fallback, int channels) {
  if (given.empty()) given = {fallback};
  if (given.size() == 1) given.resize(static_cast<size_t>(channels), given[0]);
  return given;
}

}  // namespace

bool is_image_name(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  for (char& letter : extension) letter = static_cast<char>(std::tolower(letter));
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

Result<ops::TensorData> read_image(const std::filesystem::path& path, const Port& port,
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
  const int channels =
      static_cast<int>(port.shape[channel_axis] < 0 ? 3 : port.shape[channel_axis]);
  if (!is_channels(channels))
    return fail_at(where, cat("has ", channels, " channels, an image has 1, 3 or 4"),
                   "choose the layout by --layout, or give it as .npy or .pb");
  GS_ASSIGN(const Image decoded, decode(path, channels));
  const auto extent = [&](size_t axis, int given, int own) {
    return port.shape[axis] >= 0 ? static_cast<int>(port.shape[axis]) : given > 0 ? given : own;
  };
  const int height = extent(row_axis, options.height, decoded.height);
  const int width = extent(row_axis + 1, options.width, decoded.width);
  const Image image = resize(decoded, height, width);

  if ((options.mean.size() > 1 && options.mean.size() != static_cast<size_t>(channels)) ||
      (options.std.size() > 1 && options.std.size() != static_cast<size_t>(channels)))
    return fail_at(where, cat("has ", channels, " channels: give --mean and --std as many values"));
  const bool imagenet = channels == 3 && options.mean.empty() && options.std.empty();
  const auto mean =
      imagenet ? std::vector<double>{0.485, 0.456, 0.406} : per_channel(options.mean, 0, channels);
  const auto deviation =
      imagenet ? std::vector<double>{0.229, 0.224, 0.225} : per_channel(options.std, 1, channels);
  ops::TensorData tensor{port.dtype, std::vector<int64_t>(rank, 1), {}, {}};
  tensor.shape[channel_axis] = channels;
  tensor.shape[row_axis] = height;
  tensor.shape[row_axis + 1] = width;
  const auto size = static_cast<size_t>(ir::byte_size(port.dtype));
  tensor.bytes.resize(static_cast<size_t>(tensor.element_count()) * size);
  size_t offset = 0;
  const auto put = [&](int y, int x, int c) {
    const double raw = image.at(y, x, c);
    const auto channel = static_cast<size_t>(c);
    const double value = ir::is_float(port.dtype) ? (raw / 255 - mean[channel]) / deviation[channel]
                                                  : std::round(raw);
    ir::write_scalar(ir::Scalar::of_float(port.dtype, value), &tensor.bytes[offset]);
    offset += size;
  };
  if (first) {
    for (int c = 0; c < channels; ++c)
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) put(y, x, c);
  } else {
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        for (int c = 0; c < channels; ++c) put(y, x, c);
  }
  return tensor;
}

}  // namespace gossamer::command
