#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/strings.h"
#include "ir/scalar.h"
#include "serve/protocol.h"

namespace gossamer::serve {
namespace {

using ir::DType;
using runtime::HostTensor;
using Json = rapidjson::Value;

std::string_view text_of(const Json& json) { return {json.GetString(), json.GetStringLength()}; }

const Json* field(const Json& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

// The parameter of a request, an input or an output.
const Json* parameter(const Json& object, const char* name) {
  const Json* parameters = field(object, "parameters");
  return parameters ? field(*parameters, name) : nullptr;
}

// A parameter that is a boolean.
Result<std::optional<bool>> flag(const Json& object, const char* name, std::string_view where) {
  const Json* json = parameter(object, name);
  if (!json) return std::optional<bool>();
  if (!json->IsBool())
    return fail_at(std::string(where), cat("parameter ", name, " is true or false"));
  return std::optional<bool>(json->GetBool());
}

std::string input_named(std::string_view name) { return cat("input \"", one_line(name), "\""); }

Result<std::vector<int64_t>> shape_of(const Json& input, const std::string& where) {
  const Json* json = field(input, "shape");
  if (!json || !json->IsArray()) return fail_at(where, "has no list \"shape\"");
  std::vector<int64_t> shape;
  for (const Json& extent : json->GetArray()) {
    if (!extent.IsInt64() || extent.GetInt64() < 0)
      return fail_at(where, "a shape is of integers, 0 or greater");
    shape.push_back(extent.GetInt64());
  }
  return shape;
}

// As far as the model says it before it runs: shapes that depend on each other are the run time's.
Result<> check_port(const runtime::Port& port, DType dtype, const std::vector<int64_t>& shape,
                    const std::string& where) {
  if (dtype != port.dtype)
    return fail_at(where, cat("is ", datatype_of(dtype).value_or("?"), ", the model takes ",
                              datatype_of(port.dtype).value_or(ir::name_of(port.dtype))));
  bool fits = shape.size() == port.shape.size();
  for (size_t axis = 0; fits && axis < shape.size(); ++axis)
    fits = port.shape[axis] < 0 || port.shape[axis] == shape[axis];
  if (!fits)
    return fail_at(where, cat("has shape ", runtime::shape_text(shape), ", the model takes ",
                              runtime::shape_text(port.shape)));
  return {};
}

// How many elements; nothing where more than memory could hold.
std::optional<size_t> element_count(const std::vector<int64_t>& shape) {
  constexpr uint64_t most = uint64_t{1} << 48;
  uint64_t count = 1;
  for (const int64_t extent : shape)
    if (extent == 0) return 0;
  for (const int64_t extent : shape) {
    if (static_cast<uint64_t>(extent) > most / count) return std::nullopt;
    count *= static_cast<uint64_t>(extent);
  }
  return count;
}

// JSON's numbers, true and false, and texts, flat or nested as the shape is.
class ElementReader {
 public:
  ElementReader(HostTensor& tensor, std::string where)
      : tensor_(tensor), where_(std::move(where)) {}

  Result<> read(const Json& data, size_t count) {
    if (!data.IsArray()) return fail_at(where_, "\"data\" is a list");
    // One element has at least one character of the body, so memory grows with the body.
    if (count > 0 && data.Empty()) return wrong_count(count);
    const bool nested = !data.Empty() && data[0].IsArray();
    GS_TRY(nested ? rows(data, 0) : flat(data));
    if (found_ != count) return wrong_count(count);
    return {};
  }

 private:
  std::unexpected<Diagnostic> wrong_count(size_t count) const {
    return fail_at(where_, cat("has ", found_, " elements, its shape ",
                               runtime::shape_text(tensor_.shape), " has ", count));
  }

  Result<> flat(const Json& data) {
    const size_t bytes = static_cast<size_t>(ir::byte_size(tensor_.dtype));
    if (tensor_.dtype != DType::string) tensor_.bytes.resize((found_ + data.Size()) * bytes);
    for (const Json& item : data.GetArray()) {
      if (tensor_.dtype == DType::string) {
        if (!item.IsString()) return fail_at(where_, "an element of BYTES is a text");
        tensor_.strings.emplace_back(text_of(item));
      } else {
        GS_ASSIGN(const ir::Scalar value, number(item));
        ir::write_scalar(value, tensor_.bytes.data() + found_ * bytes);
      }
      ++found_;
    }
    return {};
  }

  // No deeper than the shape, which bounds the recursion.
  Result<> rows(const Json& data, size_t axis) {
    if (!data.IsArray() || axis >= tensor_.shape.size() ||
        static_cast<int64_t>(data.Size()) != tensor_.shape[axis])
      return fail_at(
          where_,
          cat("its lists are not nested as its shape ", runtime::shape_text(tensor_.shape), " is"),
          "a flat list is taken too");
    if (axis + 1 == tensor_.shape.size()) return flat(data);
    for (const Json& row : data.GetArray()) GS_TRY(rows(row, axis + 1));
    return {};
  }

  Result<ir::Scalar> number(const Json& item) const {
    const DType dtype = tensor_.dtype;
    if (dtype == DType::boolean) {
      if (item.IsBool()) return ir::Scalar::of_int(dtype, item.GetBool());
      if (item.IsInt() && (item.GetInt() == 0 || item.GetInt() == 1))
        return ir::Scalar::of_int(dtype, item.GetInt());
      return fail_at(where_, "an element of BOOL is true or false");
    }
    if (ir::is_float(dtype)) {
      if (item.IsNull()) return ir::Scalar::of_float(dtype, std::nan(""));
      if (!item.IsNumber()) return fail_at(where_, "has an element that is no number");
      return ir::Scalar::of_float(dtype, item.GetDouble());
    }
    std::optional<ir::Scalar> value;
    if (item.IsInt64()) {
      value = ir::Scalar::of_int(dtype, item.GetInt64());
      if (dtype == DType::u64 ? item.GetInt64() < 0 : value->i != item.GetInt64()) value.reset();
    } else if (item.IsUint64() && dtype == DType::u64) {
      value = ir::Scalar::of_int(dtype, static_cast<int64_t>(item.GetUint64()));
    }
    if (!value) return fail_at(where_, cat("has an element that is no ", *datatype_of(dtype)));
    return *value;
  }

  HostTensor& tensor_;
  std::string where_;
  size_t found_ = 0;
};

// The protocol's BYTES: for each element its length in four bytes, little-endian, and its bytes.
Result<> read_strings(HostTensor& tensor, std::string_view bytes, size_t count,
                      const std::string& where) {
  while (!bytes.empty()) {
    uint32_t length = 0;
    if (bytes.size() < sizeof length) return fail_at(where, "its bytes end inside of a length");
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes.remove_prefix(sizeof length);
    if (bytes.size() < length) return fail_at(where, "its bytes end inside of an element");
    tensor.strings.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  if (tensor.strings.size() != count)
    return fail_at(where, cat("has ", tensor.strings.size(), " elements, its shape ",
                              runtime::shape_text(tensor.shape), " has ", count));
  return {};
}

class RequestReader {
 public:
  RequestReader(const Signature& model, std::string_view binary) : model_(model), binary_(binary) {}

  Result<InferRequest> read(const Json& json) {
    InferRequest request;
    if (!json.IsObject()) return fail("the body is no JSON object");
    if (const Json* id = field(json, "id")) {
      if (!id->IsString()) return fail("\"id\" is a text");
      request.id = text_of(*id);
    }
    GS_TRY(read_inputs(json, request));
    GS_TRY(read_outputs(json, request));
    return request;
  }

 private:
  Result<> read_inputs(const Json& json, InferRequest& request) {
    const Json* inputs = field(json, "inputs");
    if (!inputs || !inputs->IsArray()) return fail("the body has no list \"inputs\"");
    std::vector<bool> given(model_.inputs.size());
    request.feeds.resize(model_.inputs.size());
    for (const Json& input : inputs->GetArray()) {
      const Json* name = field(input, "name");
      if (!name || !name->IsString()) return fail("an input has no \"name\"");
      GS_ASSIGN(const size_t at, port_named(model_.inputs, text_of(*name), "input"));
      if (given[at]) return fail_at(input_named(text_of(*name)), "is given twice");
      given[at] = true;
      GS_TRY(read_input(input, model_.inputs[at], request.feeds[at]));
    }
    for (size_t at = 0; at < given.size(); ++at)
      if (!given[at]) return fail_at(input_named(model_.inputs[at].name), "is missing");
    if (!binary_.empty())
      return fail(cat("the body has ", binary_.size(), " bytes behind its last binary tensor"));
    return {};
  }

  Result<> read_input(const Json& json, const runtime::Port& port, HostTensor& tensor) {
    const std::string where = input_named(port.name);
    const Json* datatype = field(json, "datatype");
    if (!datatype || !datatype->IsString()) return fail_at(where, "has no \"datatype\"");
    const auto dtype = dtype_of(text_of(*datatype));
    if (!dtype)
      return fail_at(where, cat("datatype ", one_line(text_of(*datatype)), " is unknown"),
                     "BOOL, INT8 to INT64, UINT8 to UINT64, FP16, BF16, FP32, FP64 or BYTES");
    tensor.dtype = *dtype;
    GS_ASSIGN(tensor.shape, shape_of(json, where));
    GS_TRY(check_port(port, *dtype, tensor.shape, where));
    const auto count = element_count(tensor.shape);
    if (!count) return fail_at(where, "its shape has too many elements");
    const Json* size = parameter(json, "binary_data_size");
    const Json* data = field(json, "data");
    if (size && data) return fail_at(where, "has both \"data\" and binary_data_size");
    if (size) return read_binary(*size, tensor, *count, where);
    if (!data) return fail_at(where, "has neither \"data\" nor binary_data_size");
    return ElementReader(tensor, where).read(*data, *count);
  }

  Result<> read_binary(const Json& size, HostTensor& tensor, size_t count,
                       const std::string& where) {
    if (!size.IsUint64()) return fail_at(where, "binary_data_size is a number of bytes");
    if (size.GetUint64() > binary_.size())
      return fail_at(where,
                     cat("binary_data_size is ", size.GetUint64(), ", ", binary_.size(),
                         " bytes are left of the body"),
                     "is the header Inference-Header-Content-Length right?");
    const std::string_view bytes = binary_.substr(0, size.GetUint64());
    binary_.remove_prefix(bytes.size());
    if (tensor.dtype == DType::string) return read_strings(tensor, bytes, count, where);
    const size_t expected = count * static_cast<size_t>(ir::byte_size(tensor.dtype));
    if (bytes.size() != expected)
      return fail_at(where, cat("has ", bytes.size(), " bytes, its shape ",
                                runtime::shape_text(tensor.shape), " has ", expected));
    const auto raw = std::as_bytes(std::span(bytes));
    tensor.bytes.assign(raw.begin(), raw.end());
    if (tensor.dtype == DType::boolean)
      for (std::byte& element : tensor.bytes)
        if (element != std::byte{0}) element = std::byte{1};
    return {};
  }

  Result<> read_outputs(const Json& json, InferRequest& request) const {
    GS_ASSIGN(const auto all_binary, flag(json, "binary_data_output", "the request"));
    const Json* outputs = field(json, "outputs");
    if (!outputs || (outputs->IsArray() && outputs->Empty())) {
      for (size_t port = 0; port < model_.outputs.size(); ++port)
        request.outputs.push_back({port, all_binary.value_or(false)});
      return {};
    }
    if (!outputs->IsArray()) return fail("\"outputs\" is a list");
    std::vector<bool> given(model_.outputs.size());
    for (const Json& output : outputs->GetArray()) {
      const Json* name = field(output, "name");
      if (!name || !name->IsString()) return fail("an output has no \"name\"");
      GS_ASSIGN(const size_t port, port_named(model_.outputs, text_of(*name), "output"));
      const std::string where = cat("output \"", model_.outputs[port].name, "\"");
      if (given[port]) return fail_at(where, "is asked for twice");
      given[port] = true;
      if (const Json* classes = parameter(output, "classification"); classes)
        return fail_at(where, "classification is not supported", "take the scores");
      GS_ASSIGN(const auto binary, flag(output, "binary_data", where));
      request.outputs.push_back({port, binary.value_or(all_binary.value_or(false))});
    }
    return {};
  }

  static Result<size_t> port_named(const std::vector<runtime::Port>& ports, std::string_view name,
                                   std::string_view kind) {
    std::string known;
    for (size_t at = 0; at < ports.size(); ++at) {
      if (ports[at].name == name) return at;
      known += cat(at ? ", \"" : "\"", one_line(ports[at].name), "\"");
    }
    return fail(cat("the model has no ", kind, " \"", one_line(name), "\""),
                cat("it has ", known.empty() ? "none" : known));
  }

  const Signature& model_;
  std::string_view binary_;  // what no tensor has taken yet
};

}  // namespace

Result<InferRequest> parse_infer(const Signature& model, std::string_view body,
                                 std::optional<size_t> json_bytes) {
  const size_t length = json_bytes.value_or(body.size());
  if (length > body.size())
    return fail(cat("Inference-Header-Content-Length is ", length, ", the body has ", body.size(),
                    " bytes"));
  rapidjson::Document json;
  // Iterative: no depth of the text can overflow the stack.
  constexpr unsigned flags = rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag |
                             rapidjson::kParseFullPrecisionFlag;
  json.Parse<flags>(body.data(), length);
  if (json.HasParseError())
    return fail(cat("the body is no JSON: ", rapidjson::GetParseError_En(json.GetParseError()),
                    " (at byte ", json.GetErrorOffset(), ")"));
  return RequestReader(model, body.substr(length)).read(json);
}

}  // namespace gossamer::serve
