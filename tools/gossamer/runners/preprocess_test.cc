#include "gossamer/runners/preprocess.h"

#include <gtest/gtest.h>

#include <cstring>

#include "gossamer/files/exif.h"
#include "gossamer/files/tensor_file.h"

namespace gossamer::command {
namespace {

Picture picture(int width, int height, std::vector<uint8_t> rgba) { return {width, height, rgba}; }

std::vector<double> values(const Picture& given, const Port& port, const ImageOptions& options) {
  const auto tensor = preprocess(given, port, options);
  EXPECT_TRUE(tensor.has_value());
  std::vector<double> all;
  for (int64_t at = 0; tensor && at < tensor->element_count(); ++at)
    all.push_back(element(*tensor, at));
  return all;
}

const ImageOptions bytes{.mean = {}, .std = {}, .scale = 1, .layout = "", .height = 0, .width = 0};

TEST(Preprocess, ChannelsAreOverWhiteOrTheirLuma) {
  const Picture two = picture(2, 1, {255, 0, 0, 255, 0, 0, 100, 51});
  ImageOptions last;
  last.layout = "nhwc";
  EXPECT_EQ(values(two, {"x", ir::DType::u8, {1, 1, 2, 3}}, last),
            (std::vector<double>{255, 0, 0, 204, 204, 224}));
  EXPECT_EQ(values(two, {"x", ir::DType::u8, {1, 1, 1, 2}}, {}), (std::vector<double>{76, 206}));
  EXPECT_EQ(values(two, {"x", ir::DType::u8, {1, 4, 1, 2}}, {}),
            (std::vector<double>{255, 0, 0, 0, 0, 100, 255, 51}));
}

TEST(Preprocess, TheMiddleIsCutOutAndScaledByATriangle) {
  // Of 4 x 2 pixels the middle 2 x 2 make one pixel; its triangle is two pixels wide on each side.
  std::vector<uint8_t> rgba;
  for (int grey : {0, 80, 160, 240, 0, 80, 160, 240})
    for (int c = 0; c < 4; ++c) rgba.push_back(c == 3 ? 255 : static_cast<uint8_t>(grey));
  EXPECT_EQ(values(picture(4, 2, rgba), {"x", ir::DType::f32, {1, 1, 1, 1}}, bytes),
            (std::vector<double>{120}));
  EXPECT_EQ(values(picture(4, 2, rgba), {"x", ir::DType::f32, {1, 1, 2, 4}}, bytes),
            (std::vector<double>{0, 80, 160, 240, 0, 80, 160, 240}));
  // Growing is bilinear, with the edge repeated: 0.25 and 0.75 between the middles.
  EXPECT_EQ(values(picture(2, 1, {0, 0, 0, 255, 100, 100, 100, 255}),
                   {"x", ir::DType::f32, {1, 1, 2, 4}}, bytes),
            (std::vector<double>{0, 25, 75, 100, 0, 25, 75, 100}));
}

TEST(Preprocess, DefaultsDependOnTheType) {
  const Picture grey = picture(1, 1, {51, 51, 51, 255});
  const auto three = values(grey, {"x", ir::DType::f32, {1, 3, 1, 1}}, {});
  EXPECT_FLOAT_EQ(static_cast<float>(three[0]), (0.2f - 0.485f) / 0.229f);
  EXPECT_FLOAT_EQ(static_cast<float>(three[2]), (0.2f - 0.406f) / 0.225f);
  const auto one = values(grey, {"x", ir::DType::f32, {1, 1, 1, 1}}, {});
  EXPECT_FLOAT_EQ(static_cast<float>(one[0]), 0.2f);
  EXPECT_EQ(values(grey, {"x", ir::DType::i8, {1, 1, 1, 1}},
                   {.mean = {128}, .std = {}, .scale = {}, .layout = "", .height = 0, .width = 0}),
            (std::vector<double>{-77}));
}

TEST(Preprocess, ErrorsNameTheInput) {
  const Picture grey = picture(1, 1, {51, 51, 51, 255});
  const Port port{"photo", ir::DType::f32, {1, 3, 1, 1}};
  ImageOptions options;
  options.std = {1, 0, 1};
  const auto nothing = preprocess(grey, port, options);
  ASSERT_FALSE(nothing.has_value());
  EXPECT_EQ(nothing.error().where, "input \"photo\"");
  options.std = {1, 1};
  EXPECT_FALSE(preprocess(grey, port, options).has_value());
  EXPECT_FALSE(preprocess(grey, {"photo", ir::DType::f32, {3, 7}}, {}).has_value());
  EXPECT_FALSE(preprocess(grey, {"photo", ir::DType::f32, {1, 5, 8, 8}}, {}).has_value());
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto span = std::as_bytes(std::span(text));
  return {span.begin(), span.end()};
}

TEST(Exif, OrientationOfEitherByteOrder) {
  using namespace std::string_view_literals;
  const auto little =
      "\xff\xd8\xff\xe1\x00\x22"
      "Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"sv;
  EXPECT_EQ(exif_orientation(bytes_of(little)), 6);
  const auto big =
      "\xff\xd8\xff\xe0\x00\x04JF\xff\xe1\x00\x22"
      "Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0"sv;
  EXPECT_EQ(exif_orientation(bytes_of(big)), 8);
  // Whatever is cut off or out of range is upright.
  for (size_t size = 0; size < big.size() - 8; ++size)
    EXPECT_EQ(exif_orientation(bytes_of(big.substr(0, size))), 1) << size;
}

}  // namespace
}  // namespace gossamer::command
