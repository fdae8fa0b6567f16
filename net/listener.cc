#include "net/listener.h"

#include <boost/throw_exception.hpp>

// Boost reports through error codes here; what it would throw all the same is memory that is full.
void boost::throw_exception(const std::exception& error, const boost::source_location&) {
  gossamer::check_failed(__FILE_NAME__, __LINE__, "no exception", error.what());
}
void boost::throw_exception(const std::exception& error) {
  gossamer::check_failed(__FILE_NAME__, __LINE__, "no exception", error.what());
}

namespace gossamer::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using Error = boost::system::error_code;

Result<uint16_t> Listener::listen(const std::string& host, uint16_t port) {
  Error error;
  const auto address = asio::ip::make_address(host, error);
  if (error) return fail_at(cat("--host ", host), "is no address", "such as 127.0.0.1 or ::1");
  const tcp::endpoint endpoint(address, port);
  // What each returns is the error that it also sets.
  static_cast<void>(acceptor_.open(endpoint.protocol(), error));
  if (!error)
    static_cast<void>(acceptor_.set_option(asio::socket_base::reuse_address(true), error));
  if (!error) static_cast<void>(acceptor_.bind(endpoint, error));
  if (!error) static_cast<void>(acceptor_.listen(asio::socket_base::max_listen_connections, error));
  if (error) return fail_at(cat(host, ":", port), error.message(), "choose another with --port");
  static_cast<void>(signals_.add(SIGINT, error));
  static_cast<void>(signals_.add(SIGTERM, error));
  return acceptor_.local_endpoint(error).port();
}

void Listener::accept(std::function<void(Socket)> take) {
  take_ = std::move(take);
  accept_next();
}

void Listener::accept_next() {
  acceptor_.async_accept([this](Error error, Socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      Error ignored;
      static_cast<void>(socket.set_option(tcp::no_delay(true), ignored));
      take_(std::move(socket));
      return accept_next();
    }
    // No descriptor is left: those that wait are taken when some are.
    retry_.expires_after(std::chrono::milliseconds(100));
    retry_.async_wait([this](Error stopped) {
      if (!stopped) accept_next();
    });
  });
}

void Listener::stop() {
  Error ignored;
  static_cast<void>(acceptor_.close(ignored));
  retry_.cancel();
}

void Listener::on_signal(std::function<void()> act) {
  signals_.async_wait([act = std::move(act)](Error failed, int) {
    if (!failed) act();
  });
}

}  // namespace gossamer::net
