#include "options.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <map>

extern "C" __attribute__((import_module("gossamer"), import_name("progress"))) void
gs_report_progress(const char* text, uint32_t size, double fraction);
extern "C" __attribute__((import_module("gossamer"), import_name("kernel"))) void gs_report_kernel(
    const char* json, uint32_t size);

namespace gossamer::web {
namespace {

Result<std::string> text_member(const rapidjson::Value& value, std::string_view name) {
  if (!value.IsString()) return fail_at("options", cat(name, " is not a string"));
  return std::string(value.GetString(), value.GetStringLength());
}

Result<int64_t> extent(const rapidjson::Value& value, std::string_view name) {
  if (!value.IsInt64() || value.GetInt64() < -1)
    return fail_at("options", cat(name, ": no dimension"));
  return value.GetInt64();
}

Result<std::vector<int64_t>> extents(const rapidjson::Value& value, std::string_view name) {
  if (!value.IsArray()) return fail_at("options", cat(name, ": no shape"));
  std::vector<int64_t> shape;
  for (const auto& one : value.GetArray()) {
    GS_ASSIGN(const int64_t known, extent(one, name));
    shape.push_back(known);
  }
  return shape;
}

// {"dtype": "i64", "shape": [2], "bytes": [...]}
Result<ops::TensorData> tensor_in(const rapidjson::Value& value) {
  const auto failed = [] {
    return fail_at("options",
                   "constants: dtype, shape and data of a tensor are expected, with as many "
                   "bytes as the shape has");
  };
  const auto is = [&](const char* name) { return value.HasMember(name); };
  if (!value.IsObject() || !is("dtype") || !is("shape") || !is("bytes")) return failed();
  GS_ASSIGN(const std::string dtype, text_member(value["dtype"], "dtype"));
  const auto known = ir::dtype_named(dtype);
  if (!known || !value["bytes"].IsArray()) return failed();
  ops::TensorData tensor;
  tensor.dtype = *known;
  GS_ASSIGN(tensor.shape, extents(value["shape"], "constants"));
  for (const auto& byte : value["bytes"].GetArray())
    tensor.bytes.push_back(static_cast<std::byte>(byte.IsUint() ? byte.GetUint() : 0));
  if (std::ssize(tensor.bytes) != tensor.element_count() * ir::byte_size(*known)) return failed();
  return tensor;
}

Result<> assign(const rapidjson::Value& value, std::string_view name, std::string& option) {
  GS_ASSIGN(option, text_member(value, name));
  return {};
}
Result<> assign(const rapidjson::Value& value, std::string_view name, bool& option) {
  if (!value.IsBool()) return fail_at("options", cat(name, " is neither true nor false"));
  option = value.GetBool();
  return {};
}
Result<> assign(const rapidjson::Value& value, std::string_view name, uint64_t& option) {
  if (!value.IsUint64() || value.GetUint64() == 0)
    return fail_at("options", cat(name, " is no positive whole number"));
  option = value.GetUint64();
  return {};
}

// As CompiledKernel of web/compiler/src/call.ts.
void report_kernel(const package::KernelInfo& kernel, std::string_view origin) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  const auto string = [&](const char* key, std::string_view value) {
    json.Key(key);
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  const auto number = [&](const char* key, int value) {
    json.Key(key);
    json.Int(value);
  };
  json.StartObject();
  string("name", kernel.name);
  string("origin", origin);
  string("entry", kernel.entry);
  string("code", kernel.source);
  number("group", kernel.group_size);
  number("buffers", kernel.buffers);
  number("writes", kernel.writes);
  number("scalars", kernel.scalars);
  json.EndObject();
  gs_report_kernel(text.GetString(), static_cast<uint32_t>(text.GetSize()));
}

// f(option) of options.def that has this name; false: there is none.
template <class F>
bool option_named(compiler::Options& options, std::string_view wanted, F&& f) {
#define GS_WORDS(...)
#define GS_OPTION(Type, name, initial, choices, help) \
  if (wanted == #name) return f(options.name), true;
#include "gossamer/options.def"
  return false;
}

}  // namespace

Result<compiler::Options> read_options(std::string_view json) {
  compiler::Options options;
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError() || !document.IsObject())
    return fail_at("options", "they are not a JSON object");
  const std::map<std::string_view, bool compiler::Options::*> flags{
      {"fuse", &compiler::Options::fuse},
      {"hold_external", &compiler::Options::hold_external},
      {"share_weights", &compiler::Options::share_weights},
      {"pieces", &compiler::Options::pieces},
      {"expose", &compiler::Options::expose}};
  for (const auto& member : document.GetObject()) {
    const std::string_view name(member.name.GetString(), member.name.GetStringLength());
    Result<> read;
    if (name == "target") {
      GS_ASSIGN(options.target, text_member(member.value, name));
    } else if (option_named(options, name,
                            [&](auto& option) { read = assign(member.value, name, option); })) {
      GS_TRY(read);
    } else if (const auto flag = flags.find(name); flag != flags.end() && member.value.IsBool()) {
      options.*flag->second = member.value.GetBool();
    } else if (name == "on_kernel" && member.value.IsTrue()) {
      options.on_kernel = report_kernel;
    } else if (name == "shapes" && member.value.IsObject()) {
      for (const auto& shape : member.value.GetObject()) {
        GS_ASSIGN(options.known.shapes[shape.name.GetString()], extents(shape.value, "shapes"));
      }
    } else if (name == "dims" && member.value.IsObject()) {
      for (const auto& dim : member.value.GetObject()) {
        GS_ASSIGN(options.known.dims[dim.name.GetString()], extent(dim.value, "dims"));
      }
    } else if (name == "constants" && member.value.IsObject()) {
      for (const auto& tensor : member.value.GetObject()) {
        GS_ASSIGN(options.known.constants[tensor.name.GetString()], tensor_in(tensor.value));
      }
    } else if (name == "held" && member.value.IsObject()) {
      for (const auto& file : member.value.GetObject()) {
        if (!file.value.IsUint64()) return fail_at("options", "held: no size of a file");
        options.held[file.name.GetString()] = file.value.GetUint64();
      }
    } else if (name == "keep_inputs" && member.value.IsArray()) {
      for (const auto& kept : member.value.GetArray()) {
        GS_ASSIGN(std::string input, text_member(kept, name));
        options.known.kept.insert(std::move(input));
      }
    } else if (name == "lengths" && member.value.IsObject()) {
      for (const auto& length : member.value.GetObject()) {
        if (!length.value.IsInt())
          return fail_at("options", "a length of a sequence is no whole number");
        options.known.lengths[length.name.GetString()] = length.value.GetInt();
      }
    } else {
      return fail_at("options", cat("\"", name, "\" is not known"));
    }
  }
  options.progress = [](std::string_view step, double fraction) {
    gs_report_progress(step.data(), static_cast<uint32_t>(step.size()), fraction);
  };
  return options;
}

onnx::ExternalFiles::Open opener_of(std::span<const Entry> given) {
  return [given](const std::string& path) -> Result<std::span<const std::byte>> {
    std::vector<std::string> names;
    for (const Entry& entry : given) {
      names.emplace_back(entry.name, entry.name_size);
      if (path == onnx::normal_path(names.back())) return std::span(entry.bytes, entry.size);
    }
    return fail("was not given",
                cat("externalData has ", names.empty() ? "no files" : onnx::quoted_names(names),
                    ": add it by the name that the model wants"));
  };
}

}  // namespace gossamer::web
