#include "gossamer/devices/web_cases.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "api/files.h"
#include "compiler/compile.h"
#include "gossamer/files/model_file.h"
#include "gossamer/judge/compiled_once.h"
#include "gossamer/judge/kept_verdicts.h"
#include "gossamer/runners/isolate.h"
#include "gossamer/runners/specialize.h"
#include "ir/build.h"
#include "runtime/manifest.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

// Compiles the case into folder/package and writes its inputs beside it. Returns what the parent
// needs to know, as {"inputs": [...], "outputs": [...], "traits": ...}, or a kept verdict as "="
// and to_message(), with nothing written; throws nothing.
//
// `asked`: what runs of earlier packages of the case asked for, each of which is passed over.
Result<std::string> prepare(const TestCase& test, const WebTestOptions& options,
                            const CompiledOnce& once, const fs::path& folder,
                            const std::vector<Diagnostic>& asked) {
  GS_ASSIGN(CaseContent content, load_case(test));
  const ModelFile& model = content.model;
  const std::vector<Port> ports = ports_of(model.graph);
  GS_ASSIGN(const auto feeds, order_feeds(ports, std::move(content.inputs)));
  const ModelTraits traits = traits_of(model);
  compiler::Options compile_options;
  compile_options.target = options.target;
  compile_options.limits = options.browser.limits;
  compile_options.adapters = options.adapters;
  compile_options.records = options.records;
  compile_options.f16 = options.f16;
  compile_options.relaxed_simd = options.relaxed_simd;
  compile_options.external = model.external.get();
  onnx::Known known;
  package::Files files;
  size_t compiled = 0;
  const auto compile = [&](const onnx::Known& tried) -> Result<> {
    compile_options.known = known = tried;
    compile_options.known.add(model.known);
    const auto make = [&] { return compiler::compile(model.bytes, compile_options); };
    GS_ASSIGN(files, names_of(tried).empty() ? once.files(test, ports, "", make) : make());
    if (compiled++ < asked.size()) return std::unexpected(asked[compiled - 1]);
    return {};
  };
  GS_TRY(options.open ? compile({}) : specialize(ports, model.graph.groups, feeds, compile));
  std::vector<Port> open_ports;
  for (const Port& port : ports)
    if (!known.constants.contains(port.name)) open_ports.push_back(port);
  const std::vector<ops::TensorData> open_feeds = left_of(ports, feeds, known);
  GS_TRY(check_feeds(open_ports, open_feeds));

  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  if (options.kept) {
    const std::string key = options.kept->package_key(files, open_feeds, content, traits);
    if (auto verdict = options.kept->find(key, test.name)) {
      verdict->known = names_of(known);
      verdict->package_key = key;
      return "=" + to_message(*verdict);
    }
    json.Key("package_key");
    json.String(key);
  }
  std::error_code error;
  fs::create_directories(folder, error);
  GS_TRY(write_package(folder / "package", files));
  GS_ASSIGN(const std::string inputs, write_inputs(open_ports, open_feeds, folder));
  json.Key("inputs");
  json.RawValue(inputs.data(), inputs.size(), rapidjson::kArrayType);
  const std::vector<std::byte>& bytes =
      std::ranges::find(files, "manifest.json", &package::File::name)->bytes;
  GS_ASSIGN(const runtime::Manifest manifest,
            runtime::parse_manifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  json.Key("outputs");
  json.StartArray();
  bool lengths = false;  // of the strings before
  for (const package::Port& port : manifest.module.outputs) {
    if (!lengths) json.String(port.name);
    lengths = port.strings;
  }
  json.EndArray();
  json.Key("groups");
  json.StartArray();
  for (const package::Group& group : manifest.module.groups) {
    if (!group.outputs) continue;
    json.StartArray();
    json.String(group.name);
    json.Bool(group.kind == "sequence");
    json.Int(group.outputs->first);
    json.Int(group.outputs->second);
    json.EndArray();
  }
  json.EndArray();
  if (const std::string names = names_of(known); !names.empty()) {
    json.Key("known");
    json.String(names);
  }
  json.Key("quantized");
  json.Bool(traits.quantized);
  json.Key("traits");
  json.StartArray();
  for (const OutputTraits& output : traits.outputs) {
    json.StartArray();
    json.Int(output.tolerated_steps);
    json.Double(output.step);
    json.EndArray();
  }
  json.EndArray();
  json.EndObject();
  return std::string(text.GetString());
}

std::string request_line(const rapidjson::Value& prepared, const fs::path& folder, size_t id,
                         const WebTestOptions& options) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  json.Key("id");
  json.Uint64(id);
  json.Key("package_dir");
  json.String((folder / "package").string());
  json.Key("inputs");
  prepared["inputs"].Accept(json);
  json.Key("options");
  json.StartObject();
  json.Key("device");
  json.String(options.target);
  if (options.threads > 0) {
    json.Key("threads");
    json.Int(options.threads);
  }
  if (options.timeout > 0) {
    json.Key("timeout_s");
    json.Double(options.timeout);
  }
  json.EndObject();
  json.EndObject();
  return text.GetString();
}

Result<ops::TensorData> read_output(const rapidjson::Value& output) {
  ops::TensorData tensor;
  const auto dtype = ir::dtype_named(output["dtype"].GetString());
  if (!dtype) return fail(cat("the run time answered with type ", output["dtype"].GetString()));
  tensor.dtype = *dtype;
  for (const auto& extent : output["shape"].GetArray()) tensor.shape.push_back(extent.GetInt64());
  GS_ASSIGN(tensor.bytes, read_file(output["file"].GetString()));
  if (tensor.dtype == ir::DType::string) {
    rapidjson::Document strings;
    strings.Parse(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    if (strings.HasParseError() || !strings.IsArray() ||
        strings.Size() != static_cast<uint64_t>(tensor.element_count()))
      return fail(cat("output \"", output["name"].GetString(), "\" is no list of its strings"));
    for (const auto& string : strings.GetArray())
      tensor.strings.emplace_back(string.GetString(), string.GetStringLength());
    tensor.bytes.clear();
    return tensor;
  }
  const uint64_t expected =
      static_cast<uint64_t>(tensor.element_count()) * static_cast<uint64_t>(ir::byte_size(*dtype));
  if (tensor.bytes.size() != expected)
    return fail(cat("output \"", output["name"].GetString(), "\" has ", tensor.bytes.size(),
                    " bytes, its shape ", shape_text(tensor.shape), " takes ", expected));
  return tensor;
}

// Of the run time's report: launches on another device than the target.
int launches_elsewhere(const rapidjson::Document& answer, const std::string& target) {
  if (!answer.HasMember("report")) return 0;
  int count = 0;
  for (const auto& kernel : answer["report"]["kernels"].GetArray())
    count += target != kernel["device"].GetString();
  return count;
}

Result<> judge_answer(const rapidjson::Document& answer, const rapidjson::Value& prepared,
                      const TestCase& test, const std::string& target, const JudgeOptions& judging,
                      Verdict& verdict) {
  if (!answer.HasMember("ok") || !answer["ok"].IsTrue())
    return fail(answer.HasMember("error") && answer["error"].IsString()
                    ? answer["error"].GetString()
                    : "the run time gave no answer");
  if (answer.HasMember("ms") && answer["ms"].IsNumber())
    verdict.milliseconds = answer["ms"].GetDouble();
  std::vector<Port> ports;
  std::vector<ops::TensorData> outputs;
  for (const auto& name : prepared["outputs"].GetArray()) {
    ports.push_back({name.GetString(), ir::DType::f32, {}});
    bool found = false;
    for (const auto& output : answer["outputs"].GetArray()) {
      if (found || ports.back().name != output["name"].GetString()) continue;
      GS_ASSIGN(ops::TensorData tensor, read_output(output));
      outputs.push_back(std::move(tensor));
      found = true;
    }
    if (!found) return fail(cat("output \"", ports.back().name, "\" is missing"));
  }
  ModelTraits traits;
  traits.quantized = prepared["quantized"].GetBool();
  for (const auto& output : prepared["traits"].GetArray())
    traits.outputs.push_back({output[0].GetInt(), output[1].GetDouble()});
  verdict.elsewhere = launches_elsewhere(answer, target);
  GS_ASSIGN(const CaseContent content, load_case(test));
  std::vector<stages::PortGroup> groups;
  for (const auto& group : prepared["groups"].GetArray())
    groups.push_back(
        {group[0].GetString(), group[1].GetBool(), true, group[2].GetInt(), group[3].GetInt()});
  judge(outputs, ports, groups, content, traits, judging, verdict);
  return {};
}

}  // namespace

Result<> run_web_cases(const std::vector<TestCase>& cases, const WebTestOptions& options,
                       const JudgeOptions& judging, const Done& done) {
  GS_ASSIGN(const TemporaryFolder temporary, TemporaryFolder::create());
  GS_ASSIGN(const CompiledOnce once, CompiledOnce::create(cases));
  std::unique_ptr<Harness> harness;
  const auto start = [&]() -> Result<> {
    if (!harness) {
      GS_ASSIGN(harness, start_harness(options.browser, temporary.path() / "outputs"));
    }
    return {};
  };
  if (!options.kept) GS_TRY(start());
  const auto folder_of = [&](size_t at) { return temporary.path() / cat("case", at); };
  Result<> status;
  std::vector<std::vector<Diagnostic>> asked(cases.size());
  std::vector<size_t> left(cases.size());
  std::iota(left.begin(), left.end(), 0);
  // Those whose run asks for their feeds are compiled again by them.
  while (!left.empty()) {
    const std::vector<size_t> now = std::exchange(left, {});
    run_isolated(
        now.size(), options.jobs, options.timeout,
        [&](size_t job) {
          const size_t at = now[job];
          auto prepared = prepare(cases[at], options, once, folder_of(at), asked[at]);
          return prepared ? *prepared : "!" + prepared.error().to_string();
        },
        [&](size_t job, const JobOutcome& outcome) {
          const size_t at = now[job];
          Verdict verdict;
          verdict.name = cases[at].name;
          bool answered = false;
          const auto attempt = [&]() -> Result<> {
            if (!status) return std::unexpected(status.error());
            if (!outcome.finished) return fail(cat("compiling ", outcome.text));
            if (outcome.text.starts_with("!")) return fail(outcome.text.substr(1));
            if (outcome.text.starts_with("=")) {
              verdict = verdict_from_message(outcome.text.substr(1));
              return {};
            }
            rapidjson::Document prepared;
            prepared.Parse<rapidjson::kParseIterativeFlag>(outcome.text.c_str());
            GS_CHECK(!prepared.HasParseError(), outcome.text);
            if (prepared.HasMember("package_key"))
              verdict.package_key = prepared["package_key"].GetString();
            if (prepared.HasMember("known")) verdict.known = prepared["known"].GetString();
            status = start();
            if (!status) return status;
            auto line = harness->ask(request_line(prepared, folder_of(at), at, options));
            if (!line) {
              status = std::unexpected(line.error());
              return status;
            }
            answered = true;
            rapidjson::Document answer;
            answer.Parse<rapidjson::kParseIterativeFlag>(line->c_str());
            if (answer.HasParseError() || !answer.IsObject())
              return fail(cat("the harness answered ", line->substr(0, 80)));
            return judge_answer(answer, prepared, cases[at], options.target, judging, verdict);
          };
          if (auto result = attempt(); !result) {
            if (answered && !options.open && asks_for_feeds(result.error())) {
              asked[at].push_back(std::move(result).error());
              left.push_back(at);
              return;
            }
            verdict.message = result.error().to_string();
          }
          std::error_code error;
          fs::remove_all(folder_of(at), error);
          done(at, verdict);
        });
  }
  return status;
}

}  // namespace gossamer::command
