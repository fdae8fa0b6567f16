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

// Frames of a client and a device with some bytes changed, cut off or added: each is passed on,
// answered or ends its own connection, and whoever behaves is served as before.
TEST_F(HubTest, AnyFramesLeaveOthersAlone) {
  std::mt19937 random(7);
  const uint32_t good = join(client, hello("client"));
  const uint32_t worker = join(device, hello("device", R"(,"name":"d")"));
  int closed = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    FakeLink link;
    const uint32_t number = hub.join(link);
    const std::string greeting = hello(turn % 2 == 0 ? "client" : "device",
                                       R"(,"name":"n","session":"s","targets":["cpu"])");
    if (turn % 3 > 0) hub.receive(number, request(0, 1, greeting));
    const Message seeds[] = {request(0, 2, greeting), request(0, 2, R"({"do":"list"})"),
                             request(0, 2, R"({"do":"wait","name":"n","seconds":1e3})"),
                             request(worker, 3, R"({"do":"free","model":1})"),
                             request(good, 4, "{}", Kind::answer)};
    const Message message = seeds[random() % std::size(seeds)];
    for (unsigned change = random() % 4; change > 0; --change) {
      // Half of them in the prefix.
      const size_t most = random() % 2 == 0 ? prefix_bytes : message->size();
      if (most > 0 && message->size() >= most)
        (*message)[random() % most] = static_cast<std::byte>(random());
      if (random() % 4 == 0) message->resize(random() % (message->size() + 9));
    }
    hub.receive(number, message);
    closed += link.closed;
    hub.expire(std::chrono::steady_clock::now() + std::chrono::hours(random() % 2));
    hub.leave(number);
    hub.leave(number);
    EXPECT_FALSE(hub.knows(number));
  }
  EXPECT_GT(closed, 1000);
  EXPECT_FALSE(client.closed);
  EXPECT_FALSE(device.closed);
  client.got.clear();
  EXPECT_EQ(hub.receive(good, request(worker, 5, "{}")), worker);
  hub.receive(worker, request(good, 5, R"({"last":1})", Kind::answer));
  ASSERT_FALSE(client.got.empty());
  EXPECT_EQ(client.got.back().json, R"({"last":1})");
}

TEST_F(HubTest, KnowsWhoSaidHello) {
  const uint32_t number = hub.join(client);
  EXPECT_FALSE(hub.knows(number));
  hub.receive(number, request(0, 1, hello("client")));
  EXPECT_TRUE(hub.knows(number));
  for (const char* token : {"", "T", "tt"}) {
    FakeLink link;
    const uint32_t wrong = hub.join(link);
    hub.receive(wrong, request(0, 1,
                               cat(R"({"do":"hello","protocol":1,"role":"client","token":")", token,
                                   "\"}")));
    EXPECT_FALSE(hub.knows(wrong)) << token;
    EXPECT_TRUE(link.closed) << token;
  }
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
