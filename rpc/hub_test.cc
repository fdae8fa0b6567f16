#include "rpc/hub.h"

#include <gtest/gtest.h>

#include <random>

#include "rpc/connection.h"
#include "rpc/tensors.h"

namespace gossamer::rpc {
namespace {

struct FakeLink : Link {
  std::vector<Frame> got;
  bool closed = false;
  void send(Message message) override { got.push_back(parse_frame(*message).value()); }
  void close() override { closed = true; }
};

Message request(uint32_t peer, uint32_t id, std::string_view json, Kind kind = Kind::request) {
  return std::make_shared<std::vector<std::byte>>(write_frame(peer, id, kind, json));
}

std::string hello(const std::string& role, const std::string& rest = "") {
  return R"({"do":"hello","protocol":1,"token":"t","role":")" + role + "\"" + rest + "}";
}

class HubTest : public testing::Test {
 protected:
  uint32_t join(FakeLink& link, const std::string& json) {
    const uint32_t number = hub.join(link);
    hub.receive(number, request(0, 0, json));
    return number;
  }
  Hub hub{"t", {}};
  FakeLink client, device;
};

TEST_F(HubTest, PassesRequestsAndAnswersOn) {
  const uint32_t asker = join(client, hello("client"));
  const uint32_t worker = join(device, hello("device", R"(,"name":"d","targets":["cpu"])"));
  EXPECT_EQ(hub.receive(asker, request(worker, 5, "{}")), worker);
  ASSERT_EQ(device.got.size(), 2u);
  EXPECT_EQ(device.got[1].prefix.peer, asker);
  EXPECT_EQ(device.got[1].prefix.id, 5u);
  hub.receive(worker, request(asker, 5, "{}", Kind::progress));
  hub.receive(worker, request(asker, 5, "{}", Kind::answer));
  // Answered once: a second one is nobody's.
  hub.receive(worker, request(asker, 5, "{}", Kind::answer));
  ASSERT_EQ(client.got.size(), 3u);
  EXPECT_EQ(client.got[1].prefix.kind, Kind::progress);
  EXPECT_EQ(client.got[2].prefix.peer, worker);
}

TEST_F(HubTest, AnswersForWhoLeaves) {
  const uint32_t asker = join(client, hello("client"));
  const uint32_t worker = join(device, hello("device", R"(,"name":"d")"));
  hub.receive(asker, request(worker, 7, "{}"));
  hub.leave(worker);
  ASSERT_EQ(client.got.size(), 2u);
  EXPECT_EQ(client.got[1].prefix.id, 7u);
  const Fault fault = fault_of(client.got[1].json);
  EXPECT_TRUE(fault.left);
  EXPECT_NE(fault.message.find("d left while the request was under way"), std::string::npos);
  hub.receive(asker, request(worker, 8, "{}"));
  EXPECT_TRUE(fault_of(client.got[2].json).left);
}

TEST_F(HubTest, TellsDevicesOfClientsThatLeave) {
  const uint32_t asker = join(client, hello("client"));
  const uint32_t worker = join(device, hello("device"));
  hub.receive(asker, request(worker, 1, "{}"));
  hub.leave(asker);
  ASSERT_EQ(device.got.size(), 3u);
  EXPECT_EQ(device.got[2].prefix.kind, Kind::gone);
  EXPECT_EQ(device.got[2].prefix.peer, asker);
  hub.receive(worker, request(asker, 1, "{}", Kind::answer));  // nobody's
}

TEST_F(HubTest, ANewConnectionOfASessionTakesTheOldOnesName) {
  FakeLink again;
  join(device, hello("device", R"(,"name":"page","session":"s")"));
  join(again, hello("device", R"(,"name":"page","session":"s")"));
  EXPECT_TRUE(device.closed);
  EXPECT_NE(again.got[0].json.find("\"page\""), std::string::npos);
  FakeLink other;
  join(other, hello("device", R"(,"name":"page","session":"r")"));
  EXPECT_FALSE(again.closed);
  EXPECT_NE(other.got[0].json.find("\"page-2\""), std::string::npos);
}

TEST_F(HubTest, WhoSpeaksNonsenseIsToldAndClosed) {
  const uint32_t number = hub.join(client);
  hub.receive(number, request(0, 3, hello("client").replace(25, 1, "9")));
  EXPECT_TRUE(client.closed);
  EXPECT_EQ(client.got[0].prefix.kind, Kind::error);
  FakeLink broken;
  hub.receive(hub.join(broken), std::make_shared<std::vector<std::byte>>(5));
  EXPECT_TRUE(broken.closed);
}

TEST_F(HubTest, WaitsForDevices) {
  const uint32_t asker = join(client, hello("client"));
  hub.receive(asker, request(0, 1, R"({"do":"wait","name":"d","seconds":60})"));
  hub.receive(asker, request(0, 2, R"({"do":"wait","name":"e","seconds":1})"));
  EXPECT_EQ(client.got.size(), 1u);
  join(device, hello("device", R"(,"name":"d")"));
  ASSERT_EQ(client.got.size(), 2u);
  EXPECT_EQ(client.got[1].prefix.id, 1u);
  hub.expire(std::chrono::steady_clock::now() + std::chrono::seconds(2));
  ASSERT_EQ(client.got.size(), 3u);
  EXPECT_EQ(client.got[2].prefix.kind, Kind::error);
}

TEST(Tensors, AnyBytesAreReadOrRefused) {
  std::vector<std::byte> payload;
  const std::string json =
      write_tensors({{"x", {ir::DType::f32, {2, 3}, std::vector<std::byte>(24)}},
                     {"s", {ir::DType::string, {2}, {}, {"a", "\"b\""}}}},
                    payload);
  std::mt19937 random(3);
  int read = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string text = json;
    if (turn > 0) text[random() % text.size()] = "0123456789-[]{}\",:ex"[random() % 20];
    std::vector<std::byte> bytes = payload;
    if (random() % 4 == 0) bytes.resize(random() % (2 * payload.size()));
    rapidjson::Document document;
    document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
    if (document.HasParseError()) continue;
    const auto tensors = read_tensors(document, bytes);
    if (turn == 0) {
      ASSERT_TRUE(tensors);
      EXPECT_EQ(tensors->at(1).tensor.strings[1], "\"b\"");
    }
    read += tensors.has_value();
  }
  EXPECT_GT(read, 100);
}

TEST(Address, Parts) {
  const auto whole = parse_address("rpc://[::1]:99/page?token=abc");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->host, "::1");
  EXPECT_EQ(whole->port, "99");
  EXPECT_EQ(whole->device, "page");
  EXPECT_EQ(whole->token, "abc");
  EXPECT_EQ(parse_address("rpc://host")->port, "9190");
  for (const char* wrong : {"host:1", "rpc://", "rpc://:1", "rpc://h?x=1"})
    EXPECT_FALSE(parse_address(wrong)) << wrong;
}

}  // namespace
}  // namespace gossamer::rpc
