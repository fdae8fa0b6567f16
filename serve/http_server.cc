#include "serve/http_server.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <mutex>
#include <set>

#include <sys/resource.h>

#include "net/listener.h"

namespace gossamer::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Error = beast::error_code;

constexpr uint32_t header_bytes = 16 << 10;
constexpr size_t drained_bytes = 64 << 10;
constexpr double linger_seconds = 2;

asio::steady_timer::duration seconds(double count) {
  return std::chrono::duration_cast<asio::steady_timer::duration>(
      std::chrono::duration<double>(count));
}

class Session;

// What the sessions share.
struct Shared {
  Service& service;
  const HttpOptions options;
  asio::io_context io{1};  // of one thread, as `ending` is
  asio::thread_pool workers;
  std::mutex mutex;
  std::set<Session*> sessions;  // under the mutex: the last to hold one may be any thread
  bool ending = false;

  Shared(Service& served, const HttpOptions& chosen)
      : service(served), options(chosen), workers(static_cast<size_t>(chosen.threads)) {}
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Shared& shared, tcp::socket socket) : shared_(shared), stream_(std::move(socket)) {
    const std::lock_guard lock(shared_.mutex);
    shared_.sessions.insert(this);
    shared_.service.set_connections(shared_.sessions.size());
  }
  ~Session() {
    const std::lock_guard lock(shared_.mutex);
    shared_.sessions.erase(this);
    shared_.service.set_connections(shared_.sessions.size());
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void read() {
    busy_ = false;
    if (shared_.ending) return;
    parser_.emplace();
    parser_->header_limit(header_bytes);
    parser_->body_limit(shared_.options.body_bytes);
    stream_.expires_after(seconds(shared_.options.read_seconds));
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](Error error, size_t) { self->on_header(error); });
  }
  // The server ends: a connection that waits for its next request goes, or any.
  void end(bool any) {
    if (any || !busy_) stream_.close();
  }

 private:
  void on_header(Error error) {
    if (error) return fail_reading(error);
    busy_ = true;
    const auto& header = parser_->get();
    if (parser_->content_length() && *parser_->content_length() > shared_.options.body_bytes)
      return fail_reading(http::error::body_limit);
    if (beast::iequals(header[http::field::expect], "100-continue")) {
      auto proceed = std::make_shared<http::response<http::empty_body>>(http::status::continue_,
                                                                        header.version());
      http::async_write(stream_, *proceed,
                        [self = shared_from_this(), proceed](Error failed, size_t) {
                          if (!failed) self->read_body();
                        });
      return;
    }
    read_body();
  }

  void read_body() {
    stream_.expires_after(seconds(shared_.options.read_seconds));
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](Error error, size_t) {
      if (error)
        self->fail_reading(error);
      else
        self->serve();
    });
  }

  void serve() {
    stream_.expires_never();
    auto message = parser_->release();
    keep_alive_ = message.keep_alive();
    version_ = message.version();
    head_ = message.method() == http::verb::head;
    Request request{std::string(message.method_string()),
                    std::string(message.target()),
                    {},
                    std::string(message[http::field::authorization]),
                    {},
                    {}};
    if (const auto at = message.find("Inference-Header-Content-Length"); at != message.end())
      request.json_bytes = std::string(at->value());
    if (const auto at = message.find(http::field::content_encoding); at != message.end())
      request.content_encoding = std::string(at->value());
    request.body = std::move(message.body());
    // Bodies are read and written as tensors by the workers, so that a large one holds up nobody.
    asio::post(
        shared_.workers, [self = shared_from_this(), request = std::move(request)]() mutable {
          self->shared_.service.handle(std::move(request), [self](Response response) mutable {
            asio::post(self->shared_.io, [self, response = std::move(response)]() mutable {
              self->write(std::move(response));
            });
          });
        });
  }

  void write(Response response) {
    auto message = std::make_shared<http::response<http::string_body>>(
        static_cast<http::status>(response.status), version_);
    message->set(http::field::server, "gossamer");
    message->set(http::field::content_type, response.type);
    for (const auto& [name, value] : response.headers) message->set(name, value);
    message->body() = std::move(response.body);
    message->keep_alive(keep_alive_ && !shared_.ending);
    message->prepare_payload();
    if (head_) message->body().clear();
    stream_.expires_after(seconds(shared_.options.read_seconds));
    http::async_write(stream_, *message, [self = shared_from_this(), message](Error error, size_t) {
      if (error) return;
      if (message->keep_alive())
        self->read();
      else
        self->close();
    });
  }

  // What a client can still be told, it is told; then the connection ends.
  void fail_reading(Error error) {
    int status = 400;
    std::string reason = cat("the request is malformed: ", error.message());
    if (error == http::error::end_of_stream) return close();
    // Nobody is there; where it took too long, the socket is closed already.
    if (error == asio::error::operation_aborted || error == asio::error::connection_reset ||
        error == asio::error::eof || error == http::error::partial_message ||
        error == beast::error::timeout)
      return;
    if (error == http::error::body_limit) {
      status = 413;
      reason = cat("the body is longer than ", shared_.options.body_bytes, " bytes");
    } else if (error == http::error::header_limit) {
      status = 431;
      reason = cat("the headers are longer than ", header_bytes, " bytes");
    }
    keep_alive_ = false;
    busy_ = true;
    version_ = 11;
    write({status, "application/json", error_body(reason), {}});
  }

  // What the client still sends is read for a while: a socket closed before that would take back
  // the answer that is on its way.
  void close() {
    Error ignored;
    static_cast<void>(stream_.socket().shutdown(tcp::socket::shutdown_send, ignored));
    stream_.expires_after(seconds(linger_seconds));
    busy_ = false;
    drain();
  }
  void drain() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(drained_bytes),
                            [self = shared_from_this()](Error error, size_t) {
                              if (!error && !self->shared_.ending) self->drain();
                            });
  }

  Shared& shared_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  bool busy_ = false, keep_alive_ = false, head_ = false;
  unsigned version_ = 11;
};

// From the first connection to the last answer.
class Server {
 public:
  explicit Server(Shared& shared) : shared_(shared), listener_(shared.io), deadline_(shared.io) {}

  Result<std::string> listen() {
    const HttpOptions& options = shared_.options;
    GS_ASSIGN(const uint16_t port, listener_.listen(options.host, options.port));
    const bool v6 = options.host.find(':') != std::string::npos;
    return v6 ? cat("http://[", options.host, "]:", port) : cat("http://", options.host, ":", port);
  }

  size_t open_sessions() const {
    const std::lock_guard lock(shared_.mutex);
    return shared_.sessions.size();
  }

  void run() {
    listener_.on_signal([this] { end(); });
    listener_.accept([this](tcp::socket socket) {
      if (open_sessions() < shared_.options.connections)
        std::make_shared<Session>(shared_, std::move(socket))->read();
    });
    shared_.io.run();
  }

 private:
  void end() {
    shared_.ending = true;
    shared_.service.set_ready(false);
    listener_.stop();
    end_sessions(false);
    listener_.on_signal([this] { abandon(); });
    wait_for_sessions(std::chrono::steady_clock::now() + seconds(shared_.options.end_seconds));
  }

  void wait_for_sessions(std::chrono::steady_clock::time_point until) {
    if (open_sessions() == 0 || std::chrono::steady_clock::now() >= until) return abandon();
    deadline_.expires_after(std::chrono::milliseconds(20));
    deadline_.async_wait([this, until](Error stopped) {
      if (!stopped) wait_for_sessions(until);
    });
  }

  void abandon() {
    deadline_.cancel();
    end_sessions(true);
    shared_.io.stop();
  }

  void end_sessions(bool any) {
    const std::lock_guard lock(shared_.mutex);
    for (Session* session : shared_.sessions) session->end(any);
  }

  Shared& shared_;
  net::Listener listener_;
  asio::steady_timer deadline_;
};

// As many descriptors as the system lets this process have.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Result<bool> serve_http(Service& service, const HttpOptions& options,
                        const std::function<void(const std::string& url)>& on_listen) {
  raise_descriptor_limit();
  auto shared = std::make_unique<Shared>(service, options);
  Server server(*shared);
  GS_ASSIGN(const std::string url, server.listen());
  on_listen(url);
  server.run();
  if (server.open_sessions() == 0) return true;
  // Runs that go on still refer to it.
  static_cast<void>(shared.release());
  return false;
}

}  // namespace gossamer::serve
