#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "package/sha256.h"
#include "package/write.h"

namespace gossamer::package {
namespace {

constexpr size_t kib = 1024;

// Constants of f32, each of other content.
class Constants {
 public:
  explicit Constants(std::vector<size_t> sizes) {
    for (size_t size : sizes) bytes_.emplace_back(size, static_cast<std::byte>(1 + bytes_.size()));
    for (const auto& bytes : bytes_)
      list_.push_back({cat("w", list_.size()),
                       ir::DType::f32,
                       {static_cast<int64_t>(bytes.size() / 4)},
                       bytes});
  }
  WeightFiles write(uint64_t most, bool shared) const {
    auto made = write_weights(list_, {.most = most, .shared = shared});
    GS_CHECK(made.has_value(), "weights");
    return *std::move(made);
  }
  const std::vector<Constant>& list() const { return list_; }

 private:
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<Constant> list_;
};

bool has(const File& file, std::string_view piece) {
  return std::string_view(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size())
             .find(piece) != std::string_view::npos;
}

std::string name_of(const File& file) {
  return cat("weights.", sha256(file.bytes).substr(0, 16), ".safetensors");
}

TEST(Shards, WhatFitsIsOneFile) {
  const Constants constants({4 * kib, 60 * kib});
  const WeightFiles made = constants.write(64 * kib, false);
  ASSERT_EQ(made.files.size(), 1u);
  EXPECT_EQ(made.files[0].name, "weights.safetensors");
  EXPECT_FALSE(made.files[0].above);
  EXPECT_EQ(made.files[0].sha256, sha256(made.files[0].bytes));
  EXPECT_EQ(made.files[0].bytes, write_safetensors(constants.list())->bytes);
  EXPECT_EQ(made.file_of, std::vector<int>({0, 0}));
}

TEST(Shards, FilesHoldAtMostSoMuchOrOneConstant) {
  const Constants constants({4 * kib, 60 * kib, 4 * kib, 100 * kib, 4 * kib, 0});
  const WeightFiles made = constants.write(64 * kib, false);
  EXPECT_EQ(made.file_of, std::vector<int>({0, 0, 1, 2, 3, 3}));
  ASSERT_EQ(made.files.size(), 4u);
  std::set<std::string> names;
  for (const File& file : made.files) {
    EXPECT_EQ(file.name, name_of(file));
    EXPECT_FALSE(file.above);
    names.insert(file.name);
  }
  EXPECT_EQ(names.size(), 4u);
  EXPECT_TRUE(has(made.files[2], "\"w3\""));
  EXPECT_FALSE(has(made.files[2], "\"w2\""));
}

// What two targets have besides differs; what they share is the same file.
TEST(Shards, SharedFilesHoldTheLargeConstants) {
  const Constants one({64 * kib, 4 * kib, 80 * kib, 200 * kib});
  const Constants other({64 * kib, 8 * kib, 80 * kib, 200 * kib});
  const WeightFiles made = one.write(150 * kib, true);
  EXPECT_EQ(made.file_of, std::vector<int>({0, 2, 0, 1}));
  ASSERT_EQ(made.files.size(), 3u);
  EXPECT_TRUE(made.files[0].above && made.files[1].above && !made.files[2].above);
  EXPECT_EQ(made.files[0].name, name_of(made.files[0]));
  EXPECT_EQ(made.files[2].name, "weights.safetensors");
  const WeightFiles also = other.write(150 * kib, true);
  EXPECT_EQ(also.files[0].name, made.files[0].name);
  EXPECT_EQ(also.files[1].name, made.files[1].name);
  EXPECT_NE(also.files[2].sha256, made.files[2].sha256);
}

TEST(Shards, LargerFilesHaveHashesOfTheirPieces) {
  const Constants constants({10 * kib * kib, kib});
  const WeightFiles made = constants.write(10 * kib * kib, false);
  ASSERT_EQ(made.files.size(), 2u);
  const std::span<const std::byte> bytes = made.files[0].bytes;
  EXPECT_EQ(made.files[0].pieces, (std::vector{sha256(bytes.first(piece_bytes)),
                                               sha256(bytes.subspan(piece_bytes, piece_bytes)),
                                               sha256(bytes.subspan(2 * piece_bytes))}));
  EXPECT_TRUE(made.files[1].pieces.empty());
  EXPECT_TRUE(
      write_weights(constants.list(), {.most = 1 << 30, .pieces = false})->files[0].pieces.empty());
}

TEST(Shards, ViewsGiveTheSameFiles) {
  const Constants constants({10 * kib * kib, 60, 100 * kib, 64, 5 * kib * kib, 20});
  const WeightFiles made = constants.write(15 * kib * kib, true);
  size_t read = 0, bytes = 0;
  std::vector<Constant> list = constants.list();
  for (Constant& constant : list) constant.viewed = true;
  const auto views = write_weights(
      list,
      {.most = 15 * kib * kib, .shared = true, .on_read = [&](auto now) { read += now.size(); }});
  ASSERT_EQ(views->files.size(), made.files.size());
  for (size_t at = 0; at < made.files.size(); ++at) {
    const File &file = views->files[at], &expected = made.files[at];
    std::vector<std::byte> whole;
    file.each([&](auto part) { whole.insert(whole.end(), part.begin(), part.end()); });
    EXPECT_EQ(whole, expected.bytes);
    EXPECT_EQ(file.length(), whole.size());
    EXPECT_EQ(file.name, expected.name);
    EXPECT_EQ(file.sha256, expected.sha256);
    EXPECT_EQ(file.xxh3, expected.xxh3);
    EXPECT_EQ(file.pieces, expected.pieces);
    bytes += whole.size();
  }
  EXPECT_EQ(read, bytes);
  EXPECT_LT(views->files[0].bytes.size(), kib);
}

TEST(Shards, ErrorsAreThoseOfTheFiles) {
  const Constant unnamed[] = {{"", ir::DType::i8, {0}, {}}};
  EXPECT_FALSE(write_weights(unnamed, {.most = 64}).has_value());
}

}  // namespace
}  // namespace gossamer::package
