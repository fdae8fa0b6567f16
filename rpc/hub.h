// Who is there and who waits for whom, without any socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "rpc/frame.h"

namespace gossamer::rpc {

using Message = std::shared_ptr<std::vector<std::byte>>;

// A connection as the hub knows it. One thread calls everything here.
class Link {
 public:
  virtual ~Link() = default;
  virtual void send(Message message) = 0;
  // After what was sent.
  virtual void close() = 0;
};

class Hub {
 public:
  Hub(std::string token, std::function<void(const std::string&)> on_notice)
      : token_(std::move(token)), on_notice_(std::move(on_notice)) {}

  // Gives the link's number, from 1 on; no number comes twice.
  uint32_t join(Link& link);
  void leave(uint32_t number);
  // Whether it has said hello, with the token.
  bool knows(uint32_t number) const;
  // A message from it. Gives the number of the link that it went to, 0 for none: who sends faster
  // than that one takes should wait. A link that sends nonsense is told so and closed.
  uint32_t receive(uint32_t number, Message message);
  // Answers those who waited for a device for too long.
  void expire(std::chrono::steady_clock::time_point now);

 private:
  struct Peer {
    Link* link = nullptr;
    enum { unknown, client, device } role = unknown;
    std::string name, about, session;
    std::vector<std::string> targets;
    // Requests under way: of a device, who asked and by which id; of a client, whom.
    std::set<std::pair<uint32_t, uint32_t>> pending = {};
  };
  struct Awaited {
    uint32_t client = 0, id = 0;
    std::string name;
    std::chrono::steady_clock::time_point until;
  };

  void hello(uint32_t number, Peer& peer, const Frame& frame);
  void serve(uint32_t number, const Frame& frame);
  uint32_t forward(uint32_t number, Peer& peer, const Prefix& prefix, const Message& message);
  void refuse(Peer& peer, uint32_t id, std::string_view message);
  void answer(uint32_t number, uint32_t id, std::string_view json);
  void tell_awaiting();
  // A device of this name, or any where it is empty; 0 if there is none.
  uint32_t device_named(std::string_view name) const;
  std::string device_json(uint32_t number) const;
  std::string free_name(const std::string& wanted) const;
  void notice(const std::string& line) const;

  const std::string token_;
  const std::function<void(const std::string&)> on_notice_;
  std::map<uint32_t, Peer> peers_;
  std::vector<Awaited> awaited_;
  uint32_t next_ = 1;
};

}  // namespace gossamer::rpc
