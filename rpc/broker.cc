#include "rpc/broker.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>

#include "net/listener.h"
#include "rpc/hub.h"

namespace gossamer::rpc {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using Error = beast::error_code;

// What may wait for one connection before those who send to it wait.
constexpr size_t most_waiting_bytes = size_t{64} << 20;
constexpr auto handshake_time = std::chrono::seconds(30);
constexpr auto idle_time =
    std::chrono::seconds(60);  // until a silent peer is asked whether it lives

class Socket;

struct Shared {
  const BrokerOptions& options;
  asio::io_context io{1};
  Hub hub;
  std::map<uint32_t, Socket*> sockets;  // by the hub's numbers
  explicit Shared(const BrokerOptions& chosen)
      : options(chosen), hub(chosen.token, chosen.on_notice) {}
};

// A connection that speaks frames.
class Socket : public Link, public std::enable_shared_from_this<Socket> {
 public:
  Socket(Shared& shared, tcp::socket socket) : shared_(shared), stream_(std::move(socket)) {}
  ~Socket() override = default;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void start(const http::request<http::string_body>& request) {
    auto timeout = websocket::stream_base::timeout::suggested(beast::role_type::server);
    timeout.handshake_timeout = handshake_time;
    timeout.idle_timeout = idle_time;
    stream_.set_option(timeout);
    stream_.binary(true);
    stream_.read_message_max(most_hello_bytes);
    stream_.write_buffer_bytes(1 << 20);
    auto kept = std::make_shared<http::request<http::string_body>>(request);
    stream_.async_accept(*kept, [self = shared_from_this(), kept](Error error) {
      if (error) return;
      self->number_ = self->shared_.hub.join(*self);
      self->shared_.sockets[self->number_] = self.get();
      self->read();
    });
  }

  void send(Message message) override {
    waiting_bytes_ += message->size();
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) write();
  }
  void close() override {
    closing_ = true;
    if (outgoing_.empty()) end();
  }

 private:
  void read() {
    buffer_.clear();
    stream_.async_read(buffer_, [self = shared_from_this()](Error error, size_t) {
      if (error) return self->leave();
      const auto* data = static_cast<const std::byte*>(self->buffer_.data().data());
      auto message =
          std::make_shared<std::vector<std::byte>>(data, data + self->buffer_.data().size());
      const uint32_t to = self->shared_.hub.receive(self->number_, std::move(message));
      if (self->shared_.hub.knows(self->number_)) self->stream_.read_message_max(most_frame_bytes);
      const auto other = self->shared_.sockets.find(to);
      if (other != self->shared_.sockets.end() &&
          other->second->waiting_bytes_ > most_waiting_bytes)
        other->second->held_back_.push_back(self);
      else
        self->read();
    });
  }

  void write() {
    stream_.async_write(asio::buffer(*outgoing_.front()),
                        [self = shared_from_this()](Error error, size_t) {
                          if (error) return self->leave();
                          self->waiting_bytes_ -= self->outgoing_.front()->size();
                          self->outgoing_.pop_front();
                          if (self->waiting_bytes_ <= most_waiting_bytes / 2) self->let_go();
                          if (!self->outgoing_.empty()) return self->write();
                          if (self->closing_) self->end();
                        });
  }

  void end() {
    stream_.async_close(websocket::close_code::policy_error,
                        [self = shared_from_this()](Error) { self->leave(); });
  }

  void let_go() {
    for (const auto& other : std::exchange(held_back_, {})) other->read();
  }

  void leave() {
    if (std::exchange(left_, true)) return;
    shared_.sockets.erase(number_);
    shared_.hub.leave(number_);
    let_go();
  }

  Shared& shared_;
  websocket::stream<beast::tcp_stream, false> stream_;
  beast::flat_buffer buffer_;
  std::deque<Message> outgoing_;
  size_t waiting_bytes_ = 0;
  std::vector<std::shared_ptr<Socket>> held_back_;  // who waits for this one to take what it has
  uint32_t number_ = 0;
  bool closing_ = false, left_ = false;
};

// A connection before it is known what it wants: one GET of a file, or a WebSocket.
class Visitor : public std::enable_shared_from_this<Visitor> {
 public:
  Visitor(Shared& shared, tcp::socket socket) : shared_(shared), stream_(std::move(socket)) {}

  void start() {
    stream_.expires_after(handshake_time);
    http::async_read(stream_, buffer_, request_, [self = shared_from_this()](Error error, size_t) {
      if (error) return;
      if (websocket::is_upgrade(self->request_)) {
        if (!self->is_of_here()) return self->answer(http::status::forbidden);
        // The WebSocket keeps its own time.
        self->stream_.expires_never();
        std::make_shared<Socket>(self->shared_, self->stream_.release_socket())
            ->start(self->request_);
        return;
      }
      self->answer(http::status::ok);
    });
  }

 private:
  // Browsers say whose page it is that connects; other programs say nothing.
  bool is_of_here() const {
    const auto found = request_.find(http::field::origin);
    if (found == request_.end()) return true;
    const std::string_view origin = found->value();
    const size_t scheme = origin.find("://");
    return scheme != std::string_view::npos &&
           origin.substr(scheme + 3) == std::string_view(request_[http::field::host]);
  }

  static std::string_view type_of(std::string_view path) {
    if (path.ends_with(".js")) return "text/javascript";
    if (path.ends_with(".css")) return "text/css";
    return path.ends_with(".wasm") ? "application/wasm" : "text/html; charset=utf-8";
  }

  // With a file of the page, where all is well.
  void answer(http::status status) {
    const std::string target(request_.target());
    const auto found = shared_.options.files.find(target.substr(0, target.find('?')));
    const bool well = status == http::status::ok;
    const bool there =
        well && request_.method() == http::verb::get && found != shared_.options.files.end();
    response_.result(well && !there ? http::status::not_found : status);
    response_.set(http::field::content_type, there ? type_of(found->first) : "text/plain");
    // A page with threads; nobody else's page may look into it.
    response_.set("Cross-Origin-Opener-Policy", "same-origin");
    response_.set("Cross-Origin-Embedder-Policy", "require-corp");
    response_.set("Cross-Origin-Resource-Policy", "same-origin");
    response_.set(http::field::cache_control, "no-cache");
    response_.body() = there  ? found->second
                       : well ? "there is nothing at this address\n"
                              : "only the server's own page and programs may connect\n";
    response_.keep_alive(false);
    response_.prepare_payload();
    http::async_write(stream_, response_, [self = shared_from_this()](Error, size_t) {
      Error ignored;
      static_cast<void>(self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored));
    });
  }

  Shared& shared_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response<http::string_body> response_;
};

// Answers those who have waited for a device for too long.
class Clock {
 public:
  explicit Clock(Shared& shared) : shared_(shared), timer_(shared.io) {}
  void tick() {
    timer_.expires_after(std::chrono::milliseconds(50));
    timer_.async_wait([this](Error stopped) {
      if (stopped) return;
      shared_.hub.expire(std::chrono::steady_clock::now());
      tick();
    });
  }

 private:
  Shared& shared_;
  asio::steady_timer timer_;
};

}  // namespace

Result<> run_broker(const BrokerOptions& options, const std::function<void(uint16_t)>& on_listen) {
  Shared shared(options);
  net::Listener listener(shared.io);
  GS_ASSIGN(const uint16_t port, listener.listen(options.host, options.port));
  on_listen(port);
  listener.accept(
      [&](tcp::socket socket) { std::make_shared<Visitor>(shared, std::move(socket))->start(); });
  listener.on_signal([&] { shared.io.stop(); });
  Clock clock(shared);
  clock.tick();
  shared.io.run();
  return {};
}

}  // namespace gossamer::rpc
