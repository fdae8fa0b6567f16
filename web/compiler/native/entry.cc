// The compiler's calls from JavaScript. Addresses and sizes are 32-bit; strings are UTF-8.
//
//   gs_alloc, gs_free        memory for the arguments
//   gs_compile               -> Answer*, which stays the caller's until gs_release; files of
//   external
//                            data are entries, by their paths from the model
//
// Progress goes to the imported gossamer.progress(text, size, fraction).
#include <rapidjson/document.h>

#include <cstdlib>
#include <map>

#include "answer.h"
#include "compiler/compile.h"

extern "C" __attribute__((import_module("gossamer"), import_name("progress"))) void
gs_report_progress(const char* text, uint32_t size, double fraction);

namespace {

using gossamer::Result;
using gossamer::web::Answer;
using gossamer::web::Entry;

Result<std::string> text_member(const rapidjson::Value& value, std::string_view name) {
  if (!value.IsString())
    return gossamer::fail_at("options", gossamer::cat(name, " is not a string"));
  return std::string(value.GetString(), value.GetStringLength());
}

Result<int64_t> extent(const rapidjson::Value& value, std::string_view name) {
  if (!value.IsInt64() || value.GetInt64() < -1)
    return gossamer::fail_at("options", gossamer::cat(name, ": no dimension"));
  return value.GetInt64();
}

Result<std::vector<int64_t>> extents(const rapidjson::Value& value, std::string_view name) {
  if (!value.IsArray()) return gossamer::fail_at("options", gossamer::cat(name, ": no shape"));
  std::vector<int64_t> shape;
  for (const auto& one : value.GetArray()) {
    GS_ASSIGN(const int64_t known, extent(one, name));
    shape.push_back(known);
  }
  return shape;
}

Result<gossamer::compiler::Options> read_options(std::string_view json) {
  gossamer::compiler::Options options;
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError() || !document.IsObject())
    return gossamer::fail_at("options", "they are not a JSON object");
  using gossamer::compiler::Options;
  const std::map<std::string_view, bool Options::*> flags{
      {"relaxed_simd", &Options::relaxed_simd},
      {"f16", &Options::f16},
      {"fuse", &Options::fuse},
      {"hold_external", &Options::hold_external},
      {"state", &Options::state},
      {"expose", &Options::expose}};
  for (const auto& member : document.GetObject()) {
    const std::string_view name(member.name.GetString(), member.name.GetStringLength());
    if (name == "target") {
      GS_ASSIGN(options.target, text_member(member.value, name));
    } else if (name == "name") {
      GS_ASSIGN(options.name, text_member(member.value, name));
    } else if (const auto flag = flags.find(name); flag != flags.end() && member.value.IsBool()) {
      options.*flag->second = member.value.GetBool();
    } else if (name == "shard_bytes" && member.value.IsUint64() && member.value.GetUint64() > 0) {
      options.shard_bytes = member.value.GetUint64();
    } else if (name == "shapes" && member.value.IsObject()) {
      for (const auto& shape : member.value.GetObject()) {
        GS_ASSIGN(options.known.shapes[shape.name.GetString()], extents(shape.value, "shapes"));
      }
    } else if (name == "dims" && member.value.IsObject()) {
      for (const auto& dim : member.value.GetObject()) {
        GS_ASSIGN(options.known.dims[dim.name.GetString()], extent(dim.value, "dims"));
      }
    } else if (name == "lengths" && member.value.IsObject()) {
      for (const auto& length : member.value.GetObject()) {
        if (!length.value.IsInt())
          return gossamer::fail_at("options", "a length of a sequence is no whole number");
        options.known.lengths[length.name.GetString()] = length.value.GetInt();
      }
    } else {
      return gossamer::fail_at("options", gossamer::cat("\"", name, "\" is not known"));
    }
  }
  options.progress = [](std::string_view step, double fraction) {
    gs_report_progress(step.data(), static_cast<uint32_t>(step.size()), fraction);
  };
  return options;
}

Result<gossamer::package::Files> compile_model(std::span<const std::byte> model,
                                               std::string_view json,
                                               std::span<const Entry> given) {
  GS_ASSIGN(auto options, read_options(json));
  gossamer::onnx::ExternalFiles external(
      [given](const std::string& path) -> Result<std::span<const std::byte>> {
        for (const Entry& entry : given) {
          if (path == std::string_view(entry.name, entry.name_size))
            return std::span(entry.bytes, entry.size);
        }
        return gossamer::fail("was not given", "add it to externalData");
      });
  if (!given.empty()) options.external = &external;
  return gossamer::compiler::compile(model, options);
}

}  // namespace

GS_EXPORT(gs_alloc) void* gs_alloc(uint32_t size) { return std::malloc(size > 0 ? size : 1); }

GS_EXPORT(gs_free) void gs_free(void* memory) { std::free(memory); }

GS_EXPORT(gs_compile)
Answer* gs_compile(const std::byte* model, uint32_t model_size, const char* options,
                   uint32_t options_size, const Entry* given, uint32_t given_count) {
  return gossamer::web::answer(
      compile_model({model, model_size}, {options, options_size}, {given, given_count}));
}

GS_EXPORT(gs_release) void gs_release(Answer* answer) { delete answer; }
