// The service as wasi:http calls it: one request, one response. Names and arguments are those that
// the component model's canonical ABI gives to the functions of service.wit.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "serve/component/model.h"
#include "serve/front.h"

namespace {

using gossamer::serve::Request;
using gossamer::serve::Response;
namespace component = gossamer::serve::component;

// Of a body; more is answered with 413.
constexpr size_t most_body_bytes = size_t{64} << 20;
constexpr uint64_t piece_bytes = 64 << 10;
constexpr size_t most_written = 4096;  // that blocking-write-and-flush takes

using Handle = int32_t;

// What functions with more than one result write.
struct Text {
  char* data;
  size_t size;
};
struct Outcome {  // of result<handle>, option<handle>
  uint8_t kind;
  Handle handle;
};
struct TextOutcome {  // option<string>, result<list<u8>, stream-error>
  uint8_t kind;
  union {
    Text text;
    struct {
      uint8_t kind;
      Handle error;
    } failed;
  };
};
struct alignas(8) Room {  // of any result that is not looked into but for its first byte
  uint8_t kind;
  unsigned char rest[63];
};

#define HTTP(name) __attribute__((import_module("wasi:http/types@0.2.0"), import_name(name)))
#define STREAMS(name) __attribute__((import_module("wasi:io/streams@0.2.0"), import_name(name)))
#define ERRORS(name) __attribute__((import_module("wasi:io/error@0.2.0"), import_name(name)))

extern "C" {
HTTP("[method]incoming-request.method") void request_method(Handle, TextOutcome*);
HTTP("[method]incoming-request.path-with-query") void request_path(Handle, TextOutcome*);
HTTP("[method]incoming-request.headers") Handle request_headers(Handle);
HTTP("[method]incoming-request.consume") void request_consume(Handle, Outcome*);
HTTP("[resource-drop]incoming-request") void drop_request(Handle);
HTTP("[constructor]fields") Handle fields();
HTTP("[method]fields.get") void fields_get(Handle, const char*, size_t, Text*);
HTTP("[method]fields.append")
void fields_append(Handle, const char*, size_t, const char*, size_t, Room*);
HTTP("[resource-drop]fields") void drop_fields(Handle);
HTTP("[method]incoming-body.stream") void body_stream(Handle, Outcome*);
HTTP("[resource-drop]incoming-body") void drop_incoming_body(Handle);
HTTP("[constructor]outgoing-response") Handle outgoing_response(Handle);
HTTP("[method]outgoing-response.set-status-code") int32_t set_status(Handle, int32_t);
HTTP("[method]outgoing-response.body") void response_body(Handle, Outcome*);
HTTP("[method]outgoing-body.write") void body_write(Handle, Outcome*);
HTTP("[static]outgoing-body.finish") void body_finish(Handle, int32_t, Handle, Room*);
HTTP("[static]response-outparam.set")
void set_response(Handle, int32_t, int32_t, int32_t, int64_t, int32_t, int32_t, int32_t, int32_t);
STREAMS("[method]input-stream.blocking-read") void stream_read(Handle, int64_t, TextOutcome*);
STREAMS("[resource-drop]input-stream") void drop_input(Handle);
STREAMS("[method]output-stream.blocking-write-and-flush")
void stream_write(Handle, const char*, size_t, TextOutcome*);
STREAMS("[resource-drop]output-stream") void drop_output(Handle);
ERRORS("[resource-drop]error") void drop_error(Handle);
}

// What the host has put into memory of ours; of nothing there is no memory.
void give_back(Text text) {
  if (text.size > 0) std::free(text.data);
}

std::string taken(Text text) {
  std::string copy(text.data, text.size);
  give_back(text);
  return copy;
}

std::string method_of(Handle request) {
  constexpr const char* names[] = {"GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                                   "CONNECT", "OPTIONS", "TRACE", "PATCH"};
  TextOutcome method;
  request_method(request, &method);
  return method.kind < std::size(names) ? names[method.kind] : taken(method.text);
}

std::optional<std::string> header(Handle headers, std::string_view name) {
  Text list;
  fields_get(headers, name.data(), name.size(), &list);
  std::optional<std::string> value;
  const auto* const values = reinterpret_cast<const Text*>(list.data);
  for (size_t at = 0; at < list.size; ++at) {
    std::string one = taken(values[at]);
    if (!value) value = std::move(one);
  }
  give_back(list);
  return value;
}

// The whole body; false where it is longer than may be or does not arrive.
bool read_body(Handle request, std::string& body) {
  Outcome consumed, opened;
  request_consume(request, &consumed);
  if (consumed.kind != 0) return false;
  body_stream(consumed.handle, &opened);
  bool whole = opened.kind == 0;
  while (whole) {
    TextOutcome piece;
    stream_read(opened.handle, piece_bytes, &piece);
    if (piece.kind != 0) {
      whole = piece.failed.kind == 1;  // closed: its end
      if (!whole) drop_error(piece.failed.error);
      break;
    }
    body.append(piece.text.data, piece.text.size);
    give_back(piece.text);
    whole = body.size() <= most_body_bytes;
  }
  if (opened.kind == 0) drop_input(opened.handle);
  drop_incoming_body(consumed.handle);
  return whole;
}

void append(Handle headers, std::string_view name, std::string_view value) {
  Room appended;
  fields_append(headers, name.data(), name.size(), value.data(), value.size(), &appended);
}

void send(Handle out, const Response& response, bool with_body) {
  const Handle headers = fields();
  append(headers, "content-type", response.type);
  append(headers, "content-length", gossamer::cat(response.body.size()));
  for (const auto& [name, value] : response.headers) append(headers, name, value);
  const Handle made = outgoing_response(headers);
  set_status(made, response.status);
  Outcome body, stream;
  response_body(made, &body);
  set_response(out, 0, made, 0, 0, 0, 0, 0, 0);
  if (body.kind != 0) return;
  body_write(body.handle, &stream);
  if (stream.kind == 0) {
    std::string_view rest = with_body ? std::string_view(response.body) : std::string_view();
    while (!rest.empty()) {
      const std::string_view piece = rest.substr(0, most_written);
      TextOutcome written;
      stream_write(stream.handle, piece.data(), piece.size(), &written);
      if (written.kind != 0) {  // nobody reads it any more
        if (written.failed.kind == 0) drop_error(written.failed.error);
        break;
      }
      rest.remove_prefix(piece.size());
    }
    drop_output(stream.handle);
  }
  Room finished;
  body_finish(body.handle, 0, 0, &finished);
}

Response infer(Request& request, Handle incoming) {
  if (!read_body(incoming, request.body))
    return gossamer::serve::failure(413, "the body is too large, or did not arrive");
  const auto& signature = component::signature();
  auto asked = gossamer::serve::read_infer(signature, request);
  if (!asked) return std::move(asked.error());
  const auto outputs = component::run(asked->feeds);
  if (!outputs) return gossamer::serve::failure(400, outputs.error().to_string());
  return gossamer::serve::answer_infer(signature, *asked, *outputs);
}

Response respond(Request& request, Handle incoming) {
  const auto to =
      gossamer::serve::route(request, {GOSSAMER_VERSION, "", true}, {&component::signature()});
  if (const auto* const response = std::get_if<Response>(&to)) return *response;
  if (std::holds_alternative<gossamer::serve::ToInfer>(to)) return infer(request, incoming);
  return gossamer::serve::failure(404, "the host of a component has its metrics");
}

}  // namespace

extern "C" {

// What the component exports; the linker is told these names (src/codegen/llvm/link.cc).
void __wasm_call_ctors();
void _initialize() { __wasm_call_ctors(); }

void* cabi_realloc(void* memory, size_t, size_t align, size_t bytes) {
  if (bytes == 0) return reinterpret_cast<void*>(align);
  void* const made = std::realloc(memory, bytes);
  if (!made) __builtin_trap();
  return made;
}

void handle(Handle incoming, Handle out) __asm__("wasi:http/incoming-handler@0.2.0#handle");
void handle(Handle incoming, Handle out) {
  Request request;
  request.method = method_of(incoming);
  TextOutcome path;
  request_path(incoming, &path);
  request.target = path.kind == 1 ? taken(path.text) : "/";
  const Handle headers = request_headers(incoming);
  request.authorization = header(headers, "authorization").value_or("");
  request.json_bytes = header(headers, "inference-header-content-length");
  request.content_encoding = header(headers, "content-encoding");
  drop_fields(headers);
  const Response response = respond(request, incoming);
  drop_request(incoming);
  send(out, response, request.method != "HEAD");
}

// The C library writes nowhere: a component of this world has no files.
constexpr int32_t no_such_file = 8;  // errno::badf
int32_t no_write(int32_t, int32_t, int32_t,
                 int32_t) __asm__("__imported_wasi_snapshot_preview1_fd_write");
int32_t no_write(int32_t, int32_t, int32_t, int32_t) { return no_such_file; }
int32_t no_seek(int32_t, int64_t, int32_t,
                int32_t) __asm__("__imported_wasi_snapshot_preview1_fd_seek");
int32_t no_seek(int32_t, int64_t, int32_t, int32_t) { return no_such_file; }
int32_t no_close(int32_t) __asm__("__imported_wasi_snapshot_preview1_fd_close");
int32_t no_close(int32_t) { return no_such_file; }
}
