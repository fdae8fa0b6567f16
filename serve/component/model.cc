#include "serve/component/model.h"

#include <rapidjson/document.h>

#include <cstring>

#include "runtime/string_ports.h"

extern "C" {
#include "runtime/embedded/component.h"
}

namespace gossamer::serve::component {
namespace {

std::vector<runtime::Port> ports_of(const rapidjson::Value& list) {
  std::vector<runtime::Port> ports;
  for (const auto& entry : list.GetArray()) {
    runtime::Port& port = ports.emplace_back();
    port.name.assign(entry["name"].GetString(), entry["name"].GetStringLength());
    port.dtype = ir::dtype_named(entry["dtype"].GetString()).value();
    for (const auto& extent : entry["shape"].GetArray()) port.shape.push_back(extent.GetInt64());
  }
  return ports;
}

Signature read_signature() {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(gossamer_component_signature());
  return {json["name"].GetString(), "gossamer_wasm", ports_of(json["inputs"]),
          ports_of(json["outputs"])};
}

// A row of the program's tables (runtime/embedded/program.h).
const int64_t* row_of(int table, size_t at) {
  const int64_t* const program = gossamer_component_program();
  return program + program[table] + static_cast<int64_t>(at) * GS_PORT_WORDS;
}

gossamer_model* loaded(std::string& problem) {
  static gossamer_model* model = nullptr;
  if (!model)
    if (const int code = gossamer_model_init_inside(&model, 1); code != 0)
      problem = gossamer_model_message(code);
  return model;
}

// As a run takes them: the dimensions, then {pointer, bytes} a port.
struct Values {
  std::vector<int64_t> words;
  size_t dims = 0;

  Values(size_t sizes, size_t ports)
      : words(sizes + (ports * 2 * sizeof(void*) + 7) / 8, 0), dims(sizes) {
    std::fill_n(words.begin(), sizes, -1);
  }
  void set(size_t port, const void* data, size_t bytes) {
    auto* const at = reinterpret_cast<unsigned char*>(words.data() + dims) +
                     port * (sizeof(void*) + sizeof(size_t));
    std::memcpy(at, &data, sizeof data);
    std::memcpy(at + sizeof data, &bytes, sizeof bytes);
  }
};

Result<> set_dimensions(Values& values, const int64_t* row, const runtime::TensorView& feed,
                        const std::string& name) {
  const std::string where = cat("input \"", name, "\"");
  if (static_cast<int64_t>(feed.shape.size()) != row[2])
    return fail_at(where, cat("has ", row[2], " dimensions, not ", feed.shape.size()));
  for (size_t axis = 0; axis < feed.shape.size(); ++axis) {
    const int64_t* const extent =
        gossamer_component_program() + row[3] + 2 * static_cast<int64_t>(axis);
    const int64_t given = feed.shape[axis];
    int64_t known = extent[1];
    if (extent[0] >= 0) {
      int64_t& size = values.words[static_cast<size_t>(extent[0])];
      if (size < 0) size = given;
      known = size;
    }
    if (known != given)
      return fail_at(where, cat("dimension ", axis, " is ", given, ", not ", known));
  }
  return {};
}

}  // namespace

const Signature& signature() {
  static const Signature read = read_signature();
  return read;
}

Result<std::vector<runtime::HostTensor>> run(const std::vector<runtime::HostTensor>& feeds) {
  std::string problem;
  gossamer_model* const model = loaded(problem);
  if (!model) return fail(problem);
  std::vector<runtime::TensorView> views;
  for (const runtime::HostTensor& feed : feeds) views.push_back(runtime::view_of(feed));
  GS_ASSIGN(const runtime::PackedFeeds packed, runtime::pack_feeds(signature().inputs, views));
  const int64_t* const program = gossamer_component_program();
  const auto count = [&](int word) { return static_cast<size_t>(program[word]); };
  Values values(count(GS_DIMS), count(GS_INPUTS) + count(GS_OUTPUTS));
  for (size_t at = 0; at < packed.feeds.size(); ++at) {
    const runtime::TensorView& feed = packed.feeds[at];
    const int64_t* const row = row_of(GS_INPUTS_AT, at);
    GS_TRY(set_dimensions(values, row, feed, gossamer_component_text(row[4])));
    values.set(at, feed.bytes.data(), feed.bytes.size());
  }
  if (gossamer_model_compute(model, values.words.data()) != 0)
    return fail(gossamer_model_error(model));
  std::vector<runtime::HostTensor> outputs;
  for (size_t at = 0; at < count(GS_OUTPUTS); ++at) {
    const int64_t* const row = row_of(GS_OUTPUTS_AT, at);
    runtime::HostTensor& output = outputs.emplace_back();
    output.shape.resize(static_cast<size_t>(row[2]));
    int64_t bytes = 0;
    const auto* const data = reinterpret_cast<const std::byte*>(
        gossamer_model_output(model, static_cast<int64_t>(at), output.shape.data(), &bytes));
    output.bytes.assign(data, data + bytes);
  }
  GS_ASSIGN(auto given, runtime::unpack_outputs(signature().outputs, std::move(outputs)));
  for (size_t at = 0; at < given.size(); ++at) given[at].dtype = signature().outputs[at].dtype;
  return given;
}

}  // namespace gossamer::serve::component
