#include <gtest/gtest.h>

#include <cstring>

#include "package/write.h"

namespace gossamer::package {
namespace {

constexpr std::byte data[200] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};

std::span<const std::byte> first(size_t count) { return {data, count}; }

TEST(Safetensors, AlignsEachConstantAndIndexesTheGaps) {
  const Constant constants[] = {{"a", ir::DType::f32, {2, 2}, first(16)},
                                {"empty", ir::DType::i64, {0, 5}, {}},
                                {"b", ir::DType::boolean, {3}, first(3)}};
  const auto file = write_safetensors(constants);
  ASSERT_TRUE(file.has_value()) << file.error().to_string();
  uint64_t length = 0;
  std::memcpy(&length, file->bytes.data(), 8);
  EXPECT_EQ((8 + length) % 64, 0u);
  std::string header(reinterpret_cast<const char*>(file->bytes.data()) + 8, length);
  header.resize(header.find_last_not_of(' ') + 1);
  EXPECT_EQ(header, R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                    R"("gossamer.padding.0":{"dtype":"U8","shape":[48],"data_offsets":[16,64]},)"
                    R"("empty":{"dtype":"I64","shape":[0,5],"data_offsets":[64,64]},)"
                    R"("b":{"dtype":"BOOL","shape":[3],"data_offsets":[64,67]}})");
  EXPECT_EQ(file->bytes.size(), 8 + length + 67);
  EXPECT_EQ(file->bytes[8 + length + 64 + 2], std::byte{3});
}

TEST(Safetensors, WritesAnEmptyFile) {
  const auto file = write_safetensors({});
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->bytes.size(), 64u);
}

void expect_error(const Constant& constant, std::string_view message) {
  const Constant constants[] = {{"other", ir::DType::i8, {1}, first(1)}, constant};
  const auto file = write_safetensors(constants);
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().message, message);
  EXPECT_EQ(file.error().where, cat("weight \"", constant.name, "\""));
}

TEST(Safetensors, SaysWhatIsWrong) {
  expect_error({"", ir::DType::i8, {1}, first(1)},
               "this name is not allowed in a safetensors file");
  expect_error({"other", ir::DType::i8, {1}, first(1)}, "this name is used twice");
  expect_error({"s", ir::DType::string, {1}, {}}, "type string cannot be stored");
  expect_error({"w", ir::DType::f32, {2, 3}, first(20)}, "its shape takes 24 bytes, it has 20");
  expect_error({"h", ir::DType::f32, {int64_t{1} << 40, int64_t{1} << 40}, {}},
               "its shape has no size in bytes");
}

}  // namespace
}  // namespace gossamer::package
