#include "runtime/string_ports.h"

#include <gtest/gtest.h>

namespace gossamer::runtime {
namespace {

using ir::DType;

// Words [n] between two tensors of numbers.
std::vector<Port> example_ports() {
  std::vector<Port> ports{{"a", DType::f32, {2}, {""}},
                          {"words", DType::u8, {-1, -1}, {"n", "words.width"}},
                          {"words.lengths", DType::i32, {-1}, {"n"}},
                          {"b", DType::f32, {2}, {""}}};
  std::vector<package::Port> entries(4);
  entries[1].strings = true;
  return joined_ports(ports, entries);
}

TEST(StringPorts, AreOneToUsers) {
  const std::vector<Port> ports = example_ports();
  ASSERT_EQ(ports.size(), 3u);
  EXPECT_EQ(ports[1].name, "words");
  EXPECT_EQ(ports[1].dtype, DType::string);
  EXPECT_EQ(ports[1].shape, std::vector<int64_t>{-1});
  EXPECT_EQ(ports[1].symbols, std::vector<std::string>{"n"});
  EXPECT_EQ(ports[2].name, "b");
}

TEST(StringPorts, PackAndUnpack) {
  const std::vector<Port> ports = example_ports();
  const HostTensor number{DType::f32, {2}, std::vector<std::byte>(8)};
  const HostTensor words{DType::string, {2}, {}, {"x", "longer than 8"}};
  const auto packed =
      pack_feeds(ports, std::vector<TensorView>{view_of(number), view_of(words), view_of(number)});
  ASSERT_TRUE(packed) << packed.error().to_string();
  ASSERT_EQ(packed->feeds.size(), 4u);
  EXPECT_EQ(packed->feeds[0].bytes.data(), number.bytes.data());  // no copy
  ASSERT_EQ(packed->strings.size(), 2u);
  EXPECT_EQ(packed->strings[0].shape, (std::vector<int64_t>{2, 16}));
  EXPECT_EQ(packed->feeds[2].bytes.data(), packed->strings[1].bytes.data());
  const auto back = unpack_outputs(ports, {number, packed->strings[0], packed->strings[1], number});
  ASSERT_TRUE(back);
  EXPECT_EQ((*back)[1].strings, words.strings);
  EXPECT_EQ((*back)[1].shape, words.shape);
}

TEST(StringPorts, RefuseWhatDoesNotFit) {
  const std::vector<Port> ports = example_ports();
  const HostTensor number{DType::f32, {2}, std::vector<std::byte>(8)};
  const auto error_of = [&](HostTensor words) {
    const auto packed = pack_feeds(
        ports, std::vector<TensorView>{view_of(number), view_of(words), view_of(number)});
    return packed ? "" : packed.error().to_string();
  };
  EXPECT_EQ(error_of(number), "input \"words\": is string, the tensor given is f32");
  EXPECT_NE(error_of({DType::string, {3}, {}, {"a", "b"}}), "");
  EXPECT_NE(error_of({DType::string, {1, 2}, {}, {"a", "b"}}), "");
  EXPECT_NE(error_of({DType::string, {-2}, {}, {"a", "b"}}), "");
  HostTensor many{DType::string, {65536}, {}, std::vector<std::string>(65536)};
  many.strings[0] = std::string(32768, 'x');
  EXPECT_TRUE(error_of(many).starts_with("input \"words\": has 65536 strings, the longest"));
}

}  // namespace
}  // namespace gossamer::runtime
