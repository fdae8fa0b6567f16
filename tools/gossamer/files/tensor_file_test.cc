#include "gossamer/files/tensor_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "gossamer/judge/compare.h"

namespace gossamer::command {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(TensorFile, OpenDimensionsAreQuestionMarks) {
  EXPECT_EQ(shape_text(std::vector<int64_t>{-1, 4}), "[?, 4]");
}

TEST(TensorFile, NpyRoundTrip) {
  for (const ops::TensorData& tensor :
       {ops::floats({2, 3}, {1, 2, 3, 4, 5, 6}), ops::int64s({3}, {-1, 0, int64_t{1} << 60}),
        ops::floats({}, {7}), ops::floats({0, 4}, {}), ops::booleans({2}, {1, 0})}) {
    const std::string file = write_npy(tensor);
    EXPECT_EQ((file.size() - tensor.bytes.size()) % 64, 0u);
    const auto read = parse_npy(bytes_of(file));
    ASSERT_TRUE(read.has_value()) << read.error().to_string();
    EXPECT_EQ(read->dtype, tensor.dtype);
    EXPECT_EQ(read->shape, tensor.shape);
    EXPECT_EQ(read->bytes, tensor.bytes);
  }
}

TEST(TensorFile, NpyOfTypesThatNumpyLacks) {
  ops::TensorData brain{ir::DType::bf16, {2}, {}, {}};
  for (int byte : {0x80, 0x3f, 0x20, 0xc0}) brain.bytes.push_back(static_cast<std::byte>(byte));
  const auto floats = parse_npy(bytes_of(write_npy(brain)));
  ASSERT_TRUE(floats.has_value());
  EXPECT_EQ(floats->dtype, ir::DType::f32);
  EXPECT_EQ(floats->bytes, ops::floats({2}, {1, -2.5}).bytes);
  const ops::TensorData nibbles{ir::DType::i4, {1}, {std::byte{0xff}}, {}};
  const auto small = parse_npy(bytes_of(write_npy(nibbles)));
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(element(*small, 0), -1);
}

TEST(TensorFile, NpyOfColumnMajorOrder) {
  std::string file = write_npy(ops::floats({2, 3}, {1, 4, 2, 5, 3, 6}));
  const std::string order = "'fortran_order': False";
  file.replace(file.find(order), order.size(), "'fortran_order': True ");
  const auto read = parse_npy(bytes_of(file));
  ASSERT_TRUE(read.has_value()) << read.error().to_string();
  EXPECT_EQ(read->bytes, ops::floats({2, 3}, {1, 2, 3, 4, 5, 6}).bytes);
}

TEST(TensorFile, MalformedNpyIsAnError) {
  const std::string whole = write_npy(ops::floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parse_npy(bytes_of(whole.substr(0, length))).has_value()) << length;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = whole;
    changed.replace(changed.find(from), from.size(), to);
    return parse_npy(bytes_of(changed)).has_value();
  };
  EXPECT_FALSE(with("'<f4'", "'>f4'"));
  EXPECT_FALSE(with("'<f4'", "'|O8'"));
  EXPECT_FALSE(with("(2, 3)", "(9, 3)"));
  EXPECT_FALSE(with("(2, 3)", "(2, x)"));
}

TEST(TensorFile, TruncatedTensorProtoIsAnError) {
  // dims 2, data_type float, raw_data of 8 bytes.
  const std::string proto("\x08\x02\x10\x01\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40", 14);
  const auto read = parse_pb(bytes_of(proto));
  ASSERT_TRUE(read.has_value()) << read.error().to_string();
  EXPECT_EQ(read->data.bytes, ops::floats({2}, {1, 2}).bytes);
  for (size_t length = 1; length < proto.size(); ++length)
    EXPECT_FALSE(parse_pb(bytes_of(proto.substr(0, length))).has_value()) << length;
}

TEST(Compare, ToleranceIsOfTheWholeTensor) {
  const auto expected = ops::floats({3}, {0, 1, 100});
  EXPECT_TRUE(
      compare(ops::floats({3}, {0.01f, 1, 100}), expected, tolerance_of(ir::DType::f32)).agrees);
  const Difference far =
      compare(ops::floats({3}, {0.02f, 1, 100}), expected, tolerance_of(ir::DType::f32));
  EXPECT_FALSE(far.agrees);
  EXPECT_NEAR(far.ratio, 0.02 / (1e-5 + 1e-2), 1e-3);
  EXPECT_NE(far.mismatch.find("element 0"), std::string::npos);
}

TEST(Compare, ShapesTypesAndSpecialNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const Tolerance tolerance = tolerance_of(ir::DType::f32);
  const auto expected = ops::floats({3}, {nan, inf, -inf});
  EXPECT_TRUE(compare(expected, expected, tolerance).agrees);
  EXPECT_FALSE(compare(ops::floats({3}, {0, inf, -inf}), expected, tolerance).agrees);
  EXPECT_FALSE(compare(ops::floats({3}, {nan, inf, inf}), expected, tolerance).agrees);
  EXPECT_FALSE(compare(ops::floats({3, 1}, {nan, inf, -inf}), expected, tolerance).agrees);
  EXPECT_FALSE(compare(ops::int32s({1}, {1}), ops::int64s({1}, {1}), {}).agrees);
}

TEST(Compare, IntegersAreExactBeyondDoubles) {
  const int64_t big = (int64_t{1} << 60) + 1;
  EXPECT_TRUE(compare(ops::int64s({1}, {big}), ops::int64s({1}, {big}), {}).agrees);
  EXPECT_FALSE(compare(ops::int64s({1}, {big}), ops::int64s({1}, {big + 1}), {}).agrees);
  EXPECT_TRUE(
      compare(ops::uint8s({1}, {4}), ops::uint8s({1}, {5}), tolerance_of(ir::DType::u8, 1)).agrees);
}

TEST(Compare, ClassesMaySwapOnlyWhereScoresAreEqual) {
  const auto expected = ops::floats({1, 4}, {1, 5, 5, 3});
  EXPECT_TRUE(compare_classes(ops::floats({1, 4}, {1, 4, 6, 3}), expected, 3).agrees);
  EXPECT_FALSE(compare_classes(ops::floats({1, 4}, {1, 5, 2, 3}), expected, 3).agrees);
  EXPECT_EQ(top_classes(expected, 2), (std::vector<int64_t>{1, 2}));
}

}  // namespace
}  // namespace gossamer::command
