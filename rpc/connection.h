// One end of the server's WebSocket: requests and their answers, many at a time, from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rpc/frame.h"

namespace gossamer::rpc {

// rpc://HOST:PORT[/NAME][?token=TOKEN]; without a token, the variable GOSSAMER_RPC_TOKEN. NAME is a
// device's; without one, whichever has joined first.
struct Address {
  std::string host, port = "9190", device, token;
};
Result<Address> parse_address(std::string_view text);

class Connection {
 public:
  // Who is asked: frames of kind request, and gone. Called on the connection's thread.
  using Serve = std::function<void(Frame)>;

  // Says hello, whose JSON is `hello` with the token in it. Errors: nobody listens there, a wrong
  // token, another version.
  static Result<std::unique_ptr<Connection>> open(const Address& address, std::string hello,
                                                  Serve serve = {});
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  struct Answer {
    std::string json;
    std::vector<std::byte> payload;
  };
  using Reply = std::expected<Answer, Fault>;
  // Waits for the answer, so long at most (0: as long as it takes). Errors: what the peer says, a
  // connection that has ended.
  Reply ask(uint32_t peer, std::string_view json, std::span<const std::byte> payload = {},
            double seconds = 0);
  // The same, not waiting: `done` is called on the connection's thread.
  void ask(uint32_t peer, std::string_view json, std::span<const std::byte> payload,
           std::function<void(Reply)> done);
  void send(std::vector<std::byte> message);
  // Until the other side ends it.
  void wait();
  void close();

 private:
  struct State;
  explicit Connection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gossamer::rpc
