// What tuner.wasm has besides: views of a model, as `gossamer inspect` prints them.
//
//   gs_inspect               -> Answer*: the file "text", and with "dump" those of --dump
//
// `options`: as of gs_compile, without a target. `request`: JSON {"targets": [...], "records":
// {TARGET: lines}, "stages", "kernels", "space", "points", "json", "dump", "document"}, of which
// all but the first may be absent. With "document" the text is that of inspect/document.h.
#include <rapidjson/document.h>

#include "inspect/document.h"
#include "inspect/view.h"
#include "native/options.h"
#include "tune/text.h"

namespace gossamer::web {
namespace {

struct Request {
  std::vector<std::string> targets;
  std::map<std::string, std::string> records;
  inspect::Details details;
  bool json = false, dump = false, document = false;
};

Result<Request> read_request(std::string_view text) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  const auto is = [&](const char* name) {
    return json.HasMember(name) && json[name].IsBool() && json[name].GetBool();
  };
  if (json.HasParseError() || !json.IsObject() || !json.HasMember("targets") ||
      !json["targets"].IsArray())
    return fail("inspect: the request has no targets");
  Request request{{},         {},         {is("stages"), is("kernels"), is("space")},
                  is("json"), is("dump"), is("document")};
  for (const auto& target : json["targets"].GetArray())
    if (target.IsString()) request.targets.emplace_back(target.GetString());
  if (json.HasMember("points") && json["points"].IsUint())
    request.details.points = json["points"].GetUint();
  if (json.HasMember("records") && json["records"].IsObject()) {
    for (const auto& one : json["records"].GetObject())
      if (one.value.IsString()) request.records[one.name.GetString()] = one.value.GetString();
  }
  return request;
}

Result<package::Files> inspect_model(std::span<const std::byte> model, std::string_view options,
                                     std::span<const Entry> given, std::string_view text) {
  GS_ASSIGN(const Request request, read_request(text));
  GS_ASSIGN(compiler::Options compile, read_options(options));
  onnx::ExternalFiles external(opener_of(given));
  onnx::ExternalFiles* const files_of_weights = given.empty() ? nullptr : &external;
  inspect::Examined examined;
  if (request.document) {
    GS_ASSIGN(examined, inspect::examine(model, files_of_weights, compile.known));
  } else {
    GS_ASSIGN(examined.subject, inspect::read(model, files_of_weights, compile.known));
  }
  const inspect::Subject& subject = examined.subject;
  std::vector<inspect::View> views;
  package::Files files(1);
  for (const std::string& target : request.targets) {
    compile.target = target;
    const auto lines = request.records.find(target);
    const auto recorded =
        tune::read_records(lines == request.records.end() ? "" : lines->second, "records");
    views.push_back(inspect::view(subject, compile, recorded.records, request.details));
    if (!request.dump || !views.back().problem.empty()) continue;
    GS_ASSIGN(package::Files dumped, inspect::dump(views.back()));
    std::ranges::move(dumped, std::back_inserter(files));
  }
  const std::string said = request.document ? inspect::to_document(examined, views)
                           : request.json ? inspect::to_json(subject, views, request.details) + "\n"
                                          : inspect::to_text(subject, views, request.details);
  const auto bytes = std::as_bytes(std::span(said));
  files.front() = {"text", {bytes.begin(), bytes.end()}};
  return files;
}

}  // namespace
}  // namespace gossamer::web

GS_EXPORT(gs_inspect)
gossamer::web::Answer* gs_inspect(const std::byte* model, uint32_t model_size, const char* options,
                                  uint32_t options_size, const gossamer::web::Entry* given,
                                  uint32_t given_count, const char* request,
                                  uint32_t request_size) {
  return gossamer::web::answer(gossamer::web::inspect_model(
      {model, model_size}, {options, options_size}, {given, given_count}, {request, request_size}));
}
