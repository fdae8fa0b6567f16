// A port that takes connections until a signal says stop: what `serve` and `rpc` have in common.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "base/result.h"

namespace gossamer::net {

class Listener {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  explicit Listener(boost::asio::io_context& io) : acceptor_(io), retry_(io), signals_(io) {}

  // host: an address, not a name; port 0 takes a free one. Gives the port. Errors: an address that
  // is none or in use.
  Result<uint16_t> listen(const std::string& host, uint16_t port);
  // Each connection, until stop().
  void accept(std::function<void(Socket)> take);
  void stop();
  // SIGINT or SIGTERM, the next one.
  void on_signal(std::function<void()> act);

 private:
  void accept_next();

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  boost::asio::signal_set signals_;
  std::function<void(Socket)> take_;
};

}  // namespace gossamer::net
