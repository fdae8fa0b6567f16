#include "rpc/connection.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <cstdlib>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <thread>

namespace gossamer::rpc {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using Error = beast::error_code;

Result<Address> parse_address(std::string_view text) {
  constexpr std::string_view scheme = "rpc://";
  const std::string where(text);
  const auto wrong = [&] {
    return fail_at(where, "is no address of a server", "rpc://HOST:PORT/DEVICE?token=TOKEN");
  };
  if (!text.starts_with(scheme)) return wrong();
  text.remove_prefix(scheme.size());
  Address address;
  if (const size_t query = text.find('?'); query != std::string_view::npos) {
    if (!text.substr(query).starts_with("?token=")) return wrong();
    address.token = text.substr(query + 7);
    text = text.substr(0, query);
  } else if (const char* token = std::getenv("GOSSAMER_RPC_TOKEN")) {
    address.token = token;
  }
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    address.device = text.substr(slash + 1);
    text = text.substr(0, slash);
  }
  if (const size_t colon = text.rfind(':');
      colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos) {
    address.port = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  address.host = text;
  if (address.host.empty() || address.port.empty()) return wrong();
  return address;
}

struct Connection::State {
  asio::io_context io{1};
  websocket::stream<beast::tcp_stream, false> stream{io};
  beast::flat_buffer buffer;
  std::deque<std::vector<std::byte>> outgoing;  // of the thread, as are the two above
  Serve serve;
  std::thread thread;
  std::mutex mutex;
  std::map<uint32_t, std::function<void(Reply)>> asked;  // under the mutex, as the rest
  uint32_t next = 1;
  bool ended = false;
  std::string why;

  void read() {
    buffer.clear();
    stream.async_read(buffer, [this](Error error, size_t) {
      if (error) return end(error.message());
      const auto data = buffer.data();
      auto frame = parse_frame({static_cast<const std::byte*>(data.data()), data.size()});
      if (!frame) return end(frame.error().message);
      receive(std::move(*frame));
      read();
    });
  }

  void receive(Frame frame) {
    const Kind kind = frame.prefix.kind;
    if (kind == Kind::request || kind == Kind::gone) {
      if (serve) serve(std::move(frame));
      return;
    }
    if (kind == Kind::progress) return;
    std::function<void(Reply)> done;
    {
      const std::lock_guard lock(mutex);
      const auto found = asked.find(frame.prefix.id);
      if (found == asked.end()) return;
      done = std::move(found->second);
      asked.erase(found);
    }
    if (kind == Kind::error)
      done(std::unexpected(fault_of(frame.json)));
    else
      done(Answer{std::move(frame.json), std::move(frame.payload)});
  }

  void write() {
    stream.async_write(asio::buffer(outgoing.front()), [this](Error error, size_t) {
      if (error) return end(error.message());
      outgoing.pop_front();
      if (!outgoing.empty()) write();
    });
  }

  void end(const std::string& reason) {
    std::map<uint32_t, std::function<void(Reply)>> left;
    {
      const std::lock_guard lock(mutex);
      if (ended) return;
      ended = true;
      why = cat("the connection to the RPC server has ended (", reason, ")");
      left.swap(asked);
    }
    for (auto& [id, done] : left) done(std::unexpected(Fault{why}));
    beast::get_lowest_layer(stream).close();
  }
};

Connection::Connection(std::unique_ptr<State> state) : state_(std::move(state)) {}

Connection::~Connection() {
  close();
  if (state_->thread.joinable()) state_->thread.join();
}

void Connection::close() {
  asio::post(state_->io, [state = state_.get()] { state->end("closed here"); });
}

void Connection::wait() {
  if (state_->thread.joinable()) state_->thread.join();
}

Result<std::unique_ptr<Connection>> Connection::open(const Address& address, std::string hello,
                                                     Serve serve) {
  const std::string where = cat(address.host, ":", address.port);
  auto state = std::make_unique<State>();
  state->serve = std::move(serve);
  Error error;
  tcp::resolver resolver(state->io);
  const auto found = resolver.resolve(address.host, address.port, error);
  if (error) return fail_at(where, error.message());
  auto& socket = beast::get_lowest_layer(state->stream).socket();
  asio::connect(socket, found, error);
  if (error) return fail_at(where, error.message(), "is `gossamer rpc` running there?");
  static_cast<void>(socket.set_option(tcp::no_delay(true), error));
  state->stream.binary(true);
  state->stream.read_message_max(most_frame_bytes);
  state->stream.write_buffer_bytes(1 << 20);
  state->stream.handshake(where, "/rpc", error);
  if (error)
    return fail_at(where, cat("answers, but not as an RPC server (", error.message(), ")"));
  auto connection = std::unique_ptr<Connection>(new Connection(std::move(state)));
  State* const running = connection->state_.get();
  running->thread = std::thread([running] {
    running->read();
    running->io.run();
  });
  const auto answer = connection->ask(0, hello);
  if (!answer) return fail_at(where, answer.error().message);
  return connection;
}

void Connection::send(std::vector<std::byte> message) {
  asio::post(state_->io, [state = state_.get(), message = std::move(message)]() mutable {
    if (state->ended) return;
    state->outgoing.push_back(std::move(message));
    if (state->outgoing.size() == 1) state->write();
  });
}

void Connection::ask(uint32_t peer, std::string_view json, std::span<const std::byte> payload,
                     std::function<void(Reply)> done) {
  uint32_t id = 0;
  std::string why;
  {
    const std::lock_guard lock(state_->mutex);
    why = state_->why;
    if (!state_->ended) {
      id = state_->next++;
      state_->asked[id] = done;
    }
  }
  if (id == 0) return done(std::unexpected(Fault{why}));
  send(write_frame(peer, id, Kind::request, json, payload));
}

Connection::Reply Connection::ask(uint32_t peer, std::string_view json,
                                  std::span<const std::byte> payload, double seconds) {
  // Shared, as an answer may come when nobody waits any more.
  auto promise = std::make_shared<std::promise<Reply>>();
  auto future = promise->get_future();
  ask(peer, json, payload, [promise](Reply reply) { promise->set_value(std::move(reply)); });
  if (seconds > 0 &&
      future.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::timeout)
    return std::unexpected(Fault{cat("no answer within ", seconds, " s")});
  return future.get();
}

}  // namespace gossamer::rpc
