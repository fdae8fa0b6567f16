// The recorder's calls from JavaScript (src/tensor/recorder.h), one recorder an instance. Numbers
// travel in a row of words, which both sides fill and read:
//
//   gs_row(words)            where the row is, with room for so many words
//   gs_leaf(dtype, rank)     row: extents. -> id, spec
//   gs_constant(dtype, rank, bytes, size)   row: extents. -> id, spec
//   gs_operation(op, size, attributes, size)   attributes as JSON -> number
//   gs_record(operation, inputs, outputs)   row: ids of inputs. -> id, spec of each output
//   gs_gradient(xs, seeded)  row: ids of xs, y, a seed. -> id, spec of each
//   gs_spec(number)          -> dtype, rank, extents
//   gs_freeze(id, token)     a weight of programs from here on; 0: fed again
//   gs_plan(wanted, frozen)  row: ids. -> program, general one or -1, number of feeds, ids of feeds
//   gs_weights(number)       -> number of tokens; row: them
//   gs_program(number, parts)   -> Answer*: one file, an ONNX model; parts: with what is learnt
//                            (onnx/write_model.h)
//   gs_traced(json, size, elements, count)   a function as it was traced (tensor::Traced): {"name",
//                            "programs": [numbers], "ports": [{"name", "dtype", "shape", "feed"}],
//                            "feeds": [{"name", "learnt", "traces"}], "outputs": [names], "dims":
//                            [{"name", "places": [[port, axis]], "extents": [one a trace]}],
//                            "opensParameters"}; an Entry a trace of each feed. -> Answer*: one
//                            file, an ONNX model
//   gs_import(bytes, size)   an ONNX model -> number
//   gs_signature(number)     of it -> Answer*: "signature" (JSON), then a file a leaf: its elements
//   gs_apply(number, inputs, leaves)   row: ids of both. -> id, spec of each output
//   gs_settle(id, history)
//   gs_elements(id)          of a constant -> number, -1 of others
//   gs_drop(id)              -> number of ids whose elements may go; row: them
//   gs_fault()               -> Answer*: why the last call gave -1
//
// dtype: ONNX's code. Attributes: {"axis": 1, "perm": [0, 1], "mode": "linear", "keys": ["a"],
// "alpha": {"f": 0.5}, "scales": {"fs": [1, 2]}}
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <optional>

#include "answer.h"
#include "ir/build.h"
#include "onnx/reader.h"
#include "onnx/write_model.h"
#include "tensor/model.h"
#include "tensor/recorder.h"

namespace {

using gossamer::Diagnostic;
using gossamer::Result;
using gossamer::tensor::Id;
using gossamer::tensor::Recorder;
using gossamer::web::Answer;
using gossamer::web::Entry;
namespace graph = gossamer::graph;
namespace ops = gossamer::ops;

struct State {
  Recorder recorder;
  std::vector<int32_t> row = std::vector<int32_t>(256);
  Diagnostic fault;
  std::vector<gossamer::tensor::Model> models;
};
// Made at the first call; an instance lives as long as its memory.
State& state() {
  static State* const made = new State;
  return *made;
}

int32_t fault(Diagnostic diagnostic) {
  state().fault = std::move(diagnostic);
  return -1;
}
int32_t fault(std::string message) { return fault(Diagnostic{"recorder", std::move(message), ""}); }

bool is_held(int32_t id) { return id >= 0 && state().recorder.is_held(static_cast<Id>(id)); }

std::vector<int64_t> extents(uint32_t rank) {
  const std::vector<int32_t>& row = state().row;
  return {row.begin(), row.begin() + rank};
}

// The ids at the front of the row; none where one of them is not held.
std::optional<std::vector<Id>> ids(uint32_t count) {
  std::vector<Id> found;
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t id = state().row[i];
    if (id != -1 && !is_held(id)) return std::nullopt;
    found.push_back(static_cast<Id>(id));
  }
  return found;
}

void tell(std::span<const Id> made) {
  std::vector<int32_t>& row = state().row;
  if (row.size() < 2 * made.size()) row.resize(2 * made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    row[2 * i] = static_cast<int32_t>(made[i]);
    row[2 * i + 1] = state().recorder.spec_number(made[i]);
  }
}

Result<ops::Attribute> numbers(const rapidjson::Value& list, const std::string& name, bool whole) {
  std::vector<int64_t> ints;
  std::vector<double> floats;
  for (const auto& one : list.GetArray()) {
    if (!one.IsNumber() || (whole && !one.IsInt64()))
      return gossamer::fail_at("attributes", gossamer::cat(name, ": a list of other things"));
    if (whole) ints.push_back(one.GetInt64());
    floats.push_back(one.GetDouble());
  }
  if (whole) return ints;
  return floats;
}

Result<ops::Attribute> attribute(const rapidjson::Value& value, const std::string& name) {
  if (value.IsInt64()) return value.GetInt64();
  if (value.IsString()) return std::string(value.GetString(), value.GetStringLength());
  if (value.IsArray() && !value.Empty() && value[0].IsString()) {
    std::vector<std::string> texts;
    for (const auto& one : value.GetArray()) {
      if (one.IsString()) texts.emplace_back(one.GetString(), one.GetStringLength());
    }
    return texts;
  }
  if (value.IsArray()) return numbers(value, name, true);
  if (value.IsObject() && value.HasMember("f") && value["f"].IsNumber())
    return value["f"].GetDouble();
  if (value.IsObject() && value.HasMember("fs") && value["fs"].IsArray())
    return numbers(value["fs"], name, false);
  return gossamer::fail_at("attributes", gossamer::cat(name, " is of no known kind"));
}

Result<ops::Attributes> attributes(std::string_view json) {
  ops::Attributes made;
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError() || !document.IsObject())
    return gossamer::fail_at("attributes", "they are not a JSON object");
  for (const auto& member : document.GetObject()) {
    const std::string name(member.name.GetString(), member.name.GetStringLength());
    GS_ASSIGN(made[name], attribute(member.value, name));
  }
  return made;
}

// Lists and members of JSON that the other side of these calls writes.
std::vector<int64_t> whole_numbers(const rapidjson::Value& list) {
  std::vector<int64_t> made;
  for (const auto& each : list.GetArray()) made.push_back(each.GetInt64());
  return made;
}
std::string text(const rapidjson::Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

gossamer::tensor::Traced traced_of(const rapidjson::Value& json, std::span<const Entry> elements) {
  gossamer::tensor::Traced made;
  made.name = text(json["name"]);
  made.opens_parameters = json["opensParameters"].GetBool();
  for (const int64_t program : whole_numbers(json["programs"]))
    made.programs.push_back(static_cast<int>(program));
  for (const auto& port : json["ports"].GetArray())
    made.ports.push_back(
        {text(port["name"]),
         {*ops::dtype_of_onnx(port["dtype"].GetInt64()), whole_numbers(port["shape"])},
         port["feed"].GetInt()});
  size_t next = 0;
  for (const auto& feed : json["feeds"].GetArray()) {
    auto& one = made.feeds.emplace_back(text(feed["name"]), feed["learnt"].GetBool());
    for (int64_t trace = 0; trace < feed["traces"].GetInt64() && next < elements.size();
         ++trace, ++next)
      one.elements.emplace_back(elements[next].bytes, elements[next].size);
  }
  for (const auto& output : json["outputs"].GetArray()) made.outputs.push_back(text(output));
  for (const auto& dim : json["dims"].GetArray()) {
    auto& one = made.dims.emplace_back();
    one.name = text(dim["name"]);
    one.extents = whole_numbers(dim["extents"]);
    for (const auto& place : dim["places"].GetArray())
      one.places.emplace_back(place[0].GetUint(), place[1].GetUint());
  }
  return made;
}

Result<int32_t> import_model(const std::byte* bytes, uint32_t size) {
  std::vector<std::byte> file(bytes, bytes + size);
  GS_ASSIGN(graph::Graph read, gossamer::onnx::read_model(file));
  GS_ASSIGN(auto model, gossamer::tensor::Model::make(std::move(read), std::move(file)));
  state().models.push_back(std::move(model));
  return static_cast<int32_t>(state().models.size()) - 1;
}

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

void write_port(Json& json, const graph::Value& value) {
  json.Key("name");
  json.String(value.name);
  json.Key("dtype");
  json.Int64(ops::onnx_of_dtype(value.dtype));
  json.Key("shape");
  json.StartArray();
  for (const auto& extent : value.shape) {
    const auto* var = gossamer::ir::as<gossamer::ir::VarNode>(extent);
    if (var) {
      json.String(var->name);
    } else {
      json.Int64(gossamer::ir::as_int(extent).value_or(-1));
    }
  }
  json.EndArray();
}

std::string signature_of(const gossamer::tensor::Model& model) {
  const graph::Graph& graph = model.graph();
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  json.Key("name");
  json.String(graph.name);
  json.Key("inputs");
  json.StartArray();
  for (graph::ValueId id : graph.inputs) {
    json.StartObject();
    write_port(json, graph.values[id]);
    json.EndObject();
  }
  json.EndArray();
  json.Key("outputs");
  json.StartArray();
  for (graph::ValueId id : graph.outputs) json.String(graph.values[id].name);
  json.EndArray();
  json.Key("leaves");
  json.StartArray();
  for (const gossamer::tensor::ModelLeaf& leaf : model.leaves()) {
    const gossamer::stages::ConstantSource& source = *graph.values[leaf.value].constant;
    json.StartObject();
    json.Key("name");
    json.String(leaf.name);
    json.Key("dtype");
    json.Int64(ops::onnx_of_dtype(source.dtype));
    json.Key("shape");
    json.StartArray();
    for (int64_t extent : source.shape) json.Int64(extent);
    json.EndArray();
    json.Key("trainable");
    json.Bool(leaf.trainable);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return {text.GetString(), text.GetSize()};
}

gossamer::package::File file_of(std::string name, std::span<const std::byte> bytes) {
  return {std::move(name), {bytes.begin(), bytes.end()}};
}

Result<gossamer::package::Files> write_program(const graph::Graph& made, bool parts) {
  GS_ASSIGN(const std::string model, gossamer::onnx::write_model(made, {}, parts));
  return gossamer::package::Files{file_of("model.onnx", std::as_bytes(std::span(model)))};
}

Result<gossamer::package::Files> write_traced(std::string_view json,
                                              std::span<const Entry> elements) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  GS_ASSIGN(const graph::Graph made, state().recorder.traced(traced_of(document, elements)));
  return write_program(made, true);
}

}  // namespace

GS_EXPORT(gs_row) int32_t* gs_row(uint32_t words) {
  std::vector<int32_t>& row = state().row;
  if (row.size() < words) row.resize(words);
  return row.data();
}

GS_EXPORT(gs_leaf) int32_t gs_leaf(int32_t dtype, uint32_t rank) {
  const auto known = ops::dtype_of_onnx(dtype);
  if (!known) return fault("no element type");
  const Id id = state().recorder.leaf(*known, extents(rank));
  tell({&id, 1});
  return 0;
}

GS_EXPORT(gs_constant)
int32_t gs_constant(int32_t dtype, uint32_t rank, const std::byte* bytes, uint32_t size) {
  const auto known = ops::dtype_of_onnx(dtype);
  if (!known) return fault("no element type");
  auto id = state().recorder.constant({*known, extents(rank), {bytes, bytes + size}});
  if (!id) return fault(std::move(id).error());
  tell({&*id, 1});
  return 0;
}

GS_EXPORT(gs_operation)
int32_t gs_operation(const char* op, uint32_t op_size, const char* json, uint32_t size) {
  auto given = attributes({json, size});
  if (!given) return fault(std::move(given).error());
  auto number = state().recorder.operation({op, op_size}, *given);
  return number ? *number : fault(std::move(number).error());
}

GS_EXPORT(gs_record) int32_t gs_record(int32_t operation, uint32_t inputs, uint32_t outputs) {
  const auto given = ids(inputs);
  if (!given) return fault("an input was disposed");
  auto made = state().recorder.record(operation, *given, outputs);
  if (!made) return fault(std::move(made).error());
  tell(*made);
  return 0;
}

GS_EXPORT(gs_gradient) int32_t gs_gradient(uint32_t xs, uint32_t seeded) {
  const auto given = ids(xs + 1 + seeded);
  if (!given) return fault("a tensor was disposed");
  const std::span<const Id> all(*given);
  const Id seed = seeded ? all.back() : gossamer::tensor::no_tensor;
  auto made = state().recorder.gradient(all[xs], all.first(xs), seed);
  if (!made) return fault(std::move(made).error());
  tell(*made);
  return 0;
}

GS_EXPORT(gs_spec) void gs_spec(int32_t number) {
  const gossamer::tensor::Spec& spec = state().recorder.spec_at(number);
  int32_t* row = gs_row(static_cast<uint32_t>(2 + spec.shape.size()));
  row[0] = static_cast<int32_t>(ops::onnx_of_dtype(spec.dtype));
  row[1] = static_cast<int32_t>(spec.shape.size());
  for (size_t i = 0; i < spec.shape.size(); ++i) row[2 + i] = static_cast<int32_t>(spec.shape[i]);
}

GS_EXPORT(gs_freeze) void gs_freeze(int32_t id, int32_t token) {
  if (is_held(id)) state().recorder.freeze(static_cast<Id>(id), token);
}

GS_EXPORT(gs_weights) uint32_t gs_weights(int32_t number) {
  const std::vector<int32_t> tokens = state().recorder.weights(number);
  std::copy(tokens.begin(), tokens.end(), gs_row(static_cast<uint32_t>(tokens.size())));
  return static_cast<uint32_t>(tokens.size());
}

GS_EXPORT(gs_plan) int32_t gs_plan(uint32_t wanted, int32_t frozen) {
  const auto given = ids(wanted);
  if (!given) return fault("a tensor was disposed");
  const Recorder::Plan plan = state().recorder.plan(*given, frozen != 0);
  int32_t* row = gs_row(static_cast<uint32_t>(3 + plan.feeds.size()));
  row[0] = plan.program;
  row[1] = plan.general;
  row[2] = static_cast<int32_t>(plan.feeds.size());
  for (size_t i = 0; i < plan.feeds.size(); ++i) row[3 + i] = static_cast<int32_t>(plan.feeds[i]);
  return 0;
}

GS_EXPORT(gs_program) Answer* gs_program(int32_t number, int32_t parts) {
  return gossamer::web::answer(write_program(state().recorder.program(number), parts != 0));
}

GS_EXPORT(gs_traced)
Answer* gs_traced(const char* json, uint32_t size, const Entry* elements, uint32_t count) {
  return gossamer::web::answer(write_traced({json, size}, {elements, count}));
}

GS_EXPORT(gs_import) int32_t gs_import(const std::byte* bytes, uint32_t size) {
  auto number = import_model(bytes, size);
  return number ? *number : fault(std::move(number).error());
}

GS_EXPORT(gs_signature) Answer* gs_signature(uint32_t number) {
  const gossamer::tensor::Model& model = state().models[number];
  const std::string text = signature_of(model);
  gossamer::package::Files files{file_of("signature", std::as_bytes(std::span(text)))};
  for (const gossamer::tensor::ModelLeaf& leaf : model.leaves())
    files.push_back(file_of(leaf.name, model.bytes_of(leaf.value)));
  return gossamer::web::answer(std::move(files));
}

GS_EXPORT(gs_apply) int32_t gs_apply(uint32_t number, uint32_t inputs, uint32_t leaves) {
  const auto given = ids(inputs + leaves);
  if (!given) return fault("a tensor was disposed");
  const std::span<const Id> all(*given);
  auto made =
      state().models[number].record(state().recorder, all.first(inputs), all.subspan(inputs));
  if (!made) return fault(std::move(made).error());
  tell(*made);
  return 0;
}

GS_EXPORT(gs_settle) void gs_settle(int32_t id, int32_t history) {
  if (is_held(id)) state().recorder.settle(static_cast<Id>(id), history != 0);
}

GS_EXPORT(gs_elements) int32_t gs_elements(int32_t id) {
  return is_held(id) ? state().recorder.elements_number(static_cast<Id>(id)) : -1;
}

GS_EXPORT(gs_drop) uint32_t gs_drop(int32_t id) {
  if (is_held(id)) state().recorder.release(static_cast<Id>(id));
  const std::vector<Id> unused = state().recorder.take_unused();
  std::copy(unused.begin(), unused.end(), gs_row(static_cast<uint32_t>(unused.size())));
  return static_cast<uint32_t>(unused.size());
}

GS_EXPORT(gs_fault) Answer* gs_fault() {
  return gossamer::web::answer(std::unexpected(state().fault));
}
