#include "gossamer/judge/operator_file.h"

#include <rapidjson/document.h>

#include <cmath>
#include <cstring>
#include <map>

#include "gossamer/files/model_file.h"
#include "ir/scalar.h"
#include "onnx/model_writer.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;
using JsonValue = rapidjson::Value;
using onnx::Message;

// Tests that name no opset mean the newest one of their time.
constexpr int default_opset = 21;

struct ElementType {
  std::string_view name;
  int onnx;         // TensorProto.DataType
  ir::DType dtype;  // of one element as the raw data hold it
  int bits;
};
constexpr ElementType element_types[] = {
    {"float32", 1, ir::DType::f32, 32},  {"uint8", 2, ir::DType::u8, 8},
    {"int8", 3, ir::DType::i8, 8},       {"uint16", 4, ir::DType::u16, 16},
    {"int16", 5, ir::DType::i16, 16},    {"int32", 6, ir::DType::i32, 32},
    {"int64", 7, ir::DType::i64, 64},    {"string", 8, ir::DType::string, 0},
    {"bool", 9, ir::DType::boolean, 8},  {"float16", 10, ir::DType::f16, 16},
    {"float64", 11, ir::DType::f64, 64}, {"uint32", 12, ir::DType::u32, 32},
    {"uint64", 13, ir::DType::u64, 64},  {"bfloat16", 16, ir::DType::bf16, 16},
    {"uint4", 21, ir::DType::u8, 4},     {"int4", 22, ir::DType::i8, 4},
};

const JsonValue* member(const JsonValue& object, const char* key) {
  const auto found = object.FindMember(key);
  return found == object.MemberEnd() || found->value.IsNull() ? nullptr : &found->value;
}

std::string text_of(const JsonValue& object, const char* key) {
  const JsonValue* text = member(object, key);
  return text && text->IsString() ? std::string(text->GetString(), text->GetStringLength())
                                  : std::string();
}

Result<rapidjson::Document> parse(const fs::path& file) {
  GS_ASSIGN(const std::string text, read_text(file));
  rapidjson::Document document;
  constexpr unsigned flags = rapidjson::kParseIterativeFlag | rapidjson::kParseCommentsFlag |
                             rapidjson::kParseTrailingCommasFlag | rapidjson::kParseNanAndInfFlag |
                             rapidjson::kParseFullPrecisionFlag;
  document.Parse<flags>(text.data(), text.size());
  if (document.HasParseError())
    return fail_at(file.string(), cat("is not JSON: error at byte ", document.GetErrorOffset()));
  return document;
}

// An array of objects that have an operator and cases.
bool has_the_form(const JsonValue& tests) {
  if (!tests.IsArray() || tests.Empty()) return false;
  for (const JsonValue& test : tests.GetArray()) {
    if (!test.IsObject() || text_of(test, "operator").empty()) return false;
    const JsonValue* cases = member(test, "cases");
    if (!cases || !cases->IsArray()) return false;
    for (const JsonValue& one : cases->GetArray())
      if (!one.IsObject()) return false;
  }
  return true;
}

std::string printable(std::string text) {
  for (char& letter : text)
    if (static_cast<unsigned char>(letter) < ' ') letter = ' ';
  return text;
}

Result<const ElementType*> type_of(const JsonValue& tensor) {
  const std::string name = text_of(tensor, "type");
  for (const ElementType& type : element_types)
    if (type.name == name) return &type;
  return fail(cat("element type \"", name, "\" is not known"));
}

Result<ir::Scalar> number_of(const JsonValue& value, ir::DType dtype) {
  if (value.IsBool()) return ir::Scalar::of_int(dtype, value.GetBool());
  if (value.IsInt64()) return ir::Scalar::of_int(dtype, value.GetInt64());
  if (value.IsUint64()) return ir::Scalar::of_int(dtype, static_cast<int64_t>(value.GetUint64()));
  if (value.IsDouble()) return ir::Scalar::of_float(dtype, value.GetDouble());
  if (value.IsString()) {
    const std::string_view text(value.GetString(), value.GetStringLength());
    if (text == "NaN") return ir::Scalar::of_float(dtype, std::nan(""));
    if (text == "Infinity") return ir::Scalar::of_float(dtype, INFINITY);
    if (text == "-Infinity") return ir::Scalar::of_float(dtype, -INFINITY);
  }
  return fail("an element is no number");
}

// A TensorProto, so that it becomes what the same tensor in a .pb file would become.
Result<NamedTensor> tensor_of(const JsonValue& tensor, const std::string& name) {
  GS_ASSIGN(const ElementType* type, type_of(tensor));
  const JsonValue *data = member(tensor, "data"), *dims = member(tensor, "dims");
  if (!data || !data->IsArray() || !dims || !dims->IsArray())
    return fail(cat("\"", name, "\" has no data or no dims"));
  Message proto;
  for (const JsonValue& extent : dims->GetArray()) {
    if (!extent.IsInt64()) return fail(cat("\"", name, "\" has dims that are no numbers"));
    proto.integer(1, extent.GetInt64());
  }
  proto.integer(2, type->onnx).text(8, name);
  std::string raw;
  if (type->bits == 4) raw.resize((data->Size() + 1) / 2);
  const auto size = static_cast<size_t>(type->bits / 8);
  for (rapidjson::SizeType at = 0; at < data->Size(); ++at) {
    const JsonValue& value = (*data)[at];
    if (type->dtype == ir::DType::string) {
      if (!value.IsString()) return fail(cat("\"", name, "\" has an element that is no text"));
      proto.text(6, {value.GetString(), value.GetStringLength()});
      continue;
    }
    auto number = number_of(value, type->dtype);
    if (!number) return fail(cat("\"", name, "\": ", number.error().message));
    std::byte bytes[8];
    ir::write_scalar(*number, bytes);
    if (type->bits == 4)
      raw[at / 2] =
          static_cast<char>(raw[at / 2] | ((std::to_integer<int>(bytes[0]) & 15) << (at % 2 * 4)));
    else
      raw.append(reinterpret_cast<const char*>(bytes), size);
  }
  if (type->dtype != ir::DType::string) proto.text(9, raw);
  auto parsed = parse_pb(onnx::bytes_of(proto));
  if (!parsed) return fail_at(cat("\"", name, "\""), parsed.error().to_string());
  return std::move(*parsed);
}

Result<Message> attribute_of(const JsonValue& attribute) {
  const std::string name = text_of(attribute, "name"), type = text_of(attribute, "type");
  const JsonValue* data = member(attribute, "data");
  if (!data) return fail(cat("attribute \"", name, "\" has no data"));
  const bool list = data->IsArray();
  Message message = Message().text(1, name);
  const auto fill = [&](auto add) {
    if (!list) return add(*data);
    for (const JsonValue& value : data->GetArray())
      if (!add(value)) return false;
    return true;
  };
  const auto real = [&](uint32_t field) {
    return [&message, field](const JsonValue& value) {
      if (value.IsNumber()) message.real(field, static_cast<float>(value.GetDouble()));
      return value.IsNumber();
    };
  };
  const auto integer = [&](uint32_t field) {
    return [&message, field](const JsonValue& value) {
      const bool whole = value.IsInt64() || value.IsBool();
      if (whole) message.integer(field, value.IsBool() ? value.GetBool() : value.GetInt64());
      return whole;
    };
  };
  const auto text = [&](uint32_t field) {
    return [&message, field](const JsonValue& value) {
      if (value.IsString()) message.text(field, {value.GetString(), value.GetStringLength()});
      return value.IsString();
    };
  };
  bool known = false;
  if (type == "float" && !list) known = fill(real(2)), message.integer(20, 1);
  if (type == "int" && !list) known = fill(integer(3)), message.integer(20, 2);
  if (type == "string" && !list) known = fill(text(4)), message.integer(20, 3);
  if (type == "floats" && list) known = fill(real(7)), message.integer(20, 6);
  if (type == "ints" && list) known = fill(integer(8)), message.integer(20, 7);
  if (type == "strings" && list) known = fill(text(9)), message.integer(20, 8);
  if (!known) return fail(cat("attribute \"", name, "\" is no ", type));
  return message;
}

// The shape that the model states for input `at`: what the test defines, else the case's own.
std::vector<std::string> shape_of(const JsonValue& test, size_t at, const ops::TensorData& tensor) {
  std::vector<std::string> shape;
  for (int64_t extent : tensor.shape) shape.push_back(cat(extent));
  const JsonValue* definitions = member(test, "inputShapeDefinitions");
  if (!definitions) return shape;
  if (definitions->IsString() && std::string_view(definitions->GetString()) == "rankOnly")
    for (size_t axis = 0; axis < shape.size(); ++axis) shape[axis] = cat("_", at, "_d", axis);
  if (!definitions->IsArray() || at >= definitions->Size()) return shape;
  const JsonValue& defined = (*definitions)[static_cast<rapidjson::SizeType>(at)];
  if (!defined.IsArray()) return shape;
  shape.clear();
  for (const JsonValue& extent : defined.GetArray())
    shape.push_back(extent.IsString() ? extent.GetString()
                                      : cat(extent.IsInt64() ? extent.GetInt64() : 0));
  return shape;
}

Result<CaseContent> content_of(const JsonValue& test, const JsonValue& one) {
  const JsonValue *inputs = member(one, "inputs"), *outputs = member(one, "outputs");
  if (!inputs || !inputs->IsArray() || !outputs || !outputs->IsArray())
    return fail("the case has no inputs or no outputs");
  std::string domain;
  int version = default_opset;
  if (const JsonValue* opset = member(test, "opset"); opset && opset->IsObject()) {
    domain = text_of(*opset, "domain");
    if (const JsonValue* number = member(*opset, "version"); number && number->IsInt())
      version = number->GetInt();
  }
  CaseContent content;
  onnx::GraphParts parts;
  std::vector<std::string> input_names, output_names;
  // An input or output without data is one that the node does not have.
  for (rapidjson::SizeType at = 0; at < inputs->Size(); ++at) {
    const JsonValue& given = (*inputs)[at];
    input_names.push_back(member(given, "data") ? cat("input_", at) : "");
    if (input_names.back().empty()) continue;
    GS_ASSIGN(NamedTensor tensor, tensor_of(given, input_names.back()));
    GS_ASSIGN(const ElementType* type, type_of(given));
    parts.inputs.push_back(
        onnx::value(input_names.back(), shape_of(test, at, tensor.data), type->onnx));
    content.inputs.push_back(std::move(tensor));
  }
  for (rapidjson::SizeType at = 0; at < outputs->Size(); ++at) {
    const JsonValue& given = (*outputs)[at];
    output_names.push_back(member(given, "data") ? cat("output_", at) : "");
    if (output_names.back().empty()) continue;
    GS_ASSIGN(NamedTensor tensor, tensor_of(given, output_names.back()));
    GS_ASSIGN(const ElementType* type, type_of(given));
    // Without a shape: finding it is the compiler's task.
    parts.outputs.push_back(Message()
                                .text(1, output_names.back())
                                .add(2, Message().add(1, Message().integer(1, type->onnx))));
    content.expected.push_back({std::move(tensor), std::nullopt});
  }
  std::vector<Message> attributes;
  if (const JsonValue* given = member(test, "attributes"); given && given->IsArray())
    for (const JsonValue& attribute : given->GetArray()) {
      if (!attribute.IsObject()) return fail("an attribute is no object");
      GS_ASSIGN(Message message, attribute_of(attribute));
      attributes.push_back(std::move(message));
    }
  const std::string op = text_of(test, "operator");
  parts.nodes.push_back(onnx::node(op, input_names, output_names, attributes, op, domain));
  const Message model =
      Message().integer(1, 10).add(8, onnx::opset(version, domain)).add(7, onnx::graph(parts));
  const auto bytes = onnx::bytes_of(model);
  GS_ASSIGN(content.model, read_model({bytes.begin(), bytes.end()}, {}, nullptr));
  return content;
}

}  // namespace

Result<std::vector<std::string>> list_operator_cases(const fs::path& file) {
  GS_ASSIGN(const rapidjson::Document tests, parse(file));
  std::vector<std::string> names;
  if (!has_the_form(tests)) return names;
  std::map<std::string, int> used;
  for (const JsonValue& test : tests.GetArray())
    for (const JsonValue& one : test["cases"].GetArray()) {
      std::string name = printable(cat(text_of(test, "name"), "/", text_of(one, "name")));
      if (const int turn = ++used[name]; turn > 1) name += cat(" #", turn);
      names.push_back(std::move(name));
    }
  return names;
}

std::optional<std::string> operator_of_case(const fs::path& file, size_t index) {
  const auto tests = parse(file);
  if (!tests || !has_the_form(*tests)) return std::nullopt;
  for (const JsonValue& test : tests->GetArray()) {
    if (index < test["cases"].Size()) return text_of(test, "operator");
    index -= test["cases"].Size();
  }
  return std::nullopt;
}

Result<CaseContent> load_operator_case(const fs::path& file, size_t index) {
  GS_ASSIGN(const rapidjson::Document tests, parse(file));
  if (has_the_form(tests))
    for (const JsonValue& test : tests.GetArray()) {
      const JsonValue& cases = test["cases"];
      if (index < cases.Size())
        return content_of(test, cases[static_cast<rapidjson::SizeType>(index)]);
      index -= cases.Size();
    }
  return fail_at(file.string(), "has no such case");
}

}  // namespace gossamer::command
