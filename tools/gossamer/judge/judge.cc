#include "gossamer/judge/judge.h"

#include "gossamer/files/model_file.h"
#include "gossamer/runners/specialize.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "gossamer/judge/compare.h"
#include "gossamer/judge/compiled_once.h"
#include "gossamer/judge/kept_verdicts.h"
#include "gossamer/judge/sample_file.h"

namespace gossamer::command {

std::string_view name_of(Verdict::Status status) {
  switch (status) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "FAIL";
    case Verdict::error:
      break;
  }
  return "error";
}

Result<std::vector<ops::TensorData>> order_feeds(const std::vector<Port>& ports,
                                                 std::vector<NamedTensor> tensors) {
  if (tensors.size() != ports.size())
    return fail(cat("the model has ", ports.size(), " inputs, the case has ", tensors.size()));
  const auto find = [&](const std::string& name) {
    return std::find_if(tensors.begin(), tensors.end(),
                        [&](const NamedTensor& tensor) { return tensor.name == name; });
  };
  const bool named = std::all_of(ports.begin(), ports.end(), [&](const Port& port) {
    return find(port.name) != tensors.end();
  });
  std::vector<ops::TensorData> feeds;
  for (size_t at = 0; at < ports.size(); ++at)
    feeds.push_back(std::move(named ? find(ports[at].name)->data : tensors[at].data));
  return feeds;
}

namespace {

// Empty where the outputs that are expected have the form that they should.
std::string other_form(const std::vector<stages::PortGroup>& groups, const CaseContent& content) {
  const auto text = [](const stages::PortGroup& group) {
    return group.sequence ? cat("a sequence of ", group.count, " elements") : "nothing";
  };
  size_t at = 0;
  for (const stages::PortGroup& group : groups) {
    if (!group.output) continue;
    if (at == content.groups.size()) {
      // Later outputs may be left out of a case.
      if (static_cast<size_t>(group.first) >= content.expected.size()) break;
      return cat("output \"", group.name, "\" is ", text(group), ", one tensor is expected");
    }
    const stages::PortGroup& wanted = content.groups[at++];
    if (group.sequence != wanted.sequence || group.count != wanted.count)
      return cat("output \"", group.name, "\" is ", text(group), ", ", text(wanted),
                 " is expected");
    if (group.first != wanted.first)
      return cat("output \"", group.name, "\" comes after ", group.first, " tensors, ",
                 wanted.first, " are expected");
  }
  return at == content.groups.size()
             ? ""
             : cat(text(content.groups[at]), " is expected, a tensor was made");
}

}  // namespace

void judge(const std::vector<ops::TensorData>& outputs, const std::vector<Port>& ports,
           const std::vector<stages::PortGroup>& groups, const CaseContent& content,
           const ModelTraits& traits, const JudgeOptions& options, Verdict& verdict) {
  const std::vector<Expected>& expected = content.expected;
  verdict.status = Verdict::fail;
  if (std::string form = other_form(groups, content); !form.empty()) {
    verdict.message = std::move(form);
    return;
  }
  if (expected.empty() && content.groups.empty()) {
    verdict.status = Verdict::error;
    verdict.message = "the case has no expected output";
    return;
  }
  if (expected.size() > outputs.size()) {
    verdict.message =
        cat("the model has ", outputs.size(), " outputs, the case expects ", expected.size());
    return;
  }
  for (size_t at = 0; at < expected.size(); ++at) {
    const ops::TensorData& wanted = expected[at].tensor.data;
    if (wanted.shape == std::vector<int64_t>{-1}) continue;  // a gap: not compared
    const OutputTraits output = at < traits.outputs.size() ? traits.outputs[at] : OutputTraits{};
    const bool by_classes = options.classes > 0 && traits.quantized && !expected[at].sample;
    const Tolerance tolerance = tolerance_of(wanted.dtype, output.tolerated_steps);
    const Difference difference = by_classes ? compare_classes(outputs[at], wanted, options.classes)
                                  : expected[at].sample
                                      ? compare_sample(outputs[at], expected[at], tolerance)
                                      : compare(outputs[at], wanted, tolerance);
    verdict.ratio = std::max(verdict.ratio, difference.ratio);
    std::string distance;
    if (by_classes) {
      char text[96];
      if (output.step > 0)
        std::snprintf(text, sizeof text, "values within %.2f steps of %.4g",
                      difference.largest / output.step, output.step);
      else
        std::snprintf(text, sizeof text, "values within %.4g", difference.largest);
      distance = text;
    }
    if (!difference.agrees) {
      verdict.message = cat("output \"", ports[at].name, "\": ", difference.mismatch,
                            distance.empty() ? "" : "; ", distance);
      return;
    }
    if (by_classes) verdict.message = cat("classes agree, ", distance);
  }
  verdict.status = Verdict::pass;
}

Verdict run_case(const TestCase& test, const std::string& target, const RunnerOptions& runner,
                 const JudgeOptions& options, const CompiledOnce& once, const KeptVerdicts* kept) {
  Verdict verdict;
  verdict.name = test.name;
  const auto attempt = [&]() -> Result<> {
    GS_ASSIGN(CaseContent content, load_case(test));
    const std::vector<Port> ports = ports_of(content.model.graph);
    GS_ASSIGN(const auto given, order_feeds(ports, std::move(content.inputs)));
    const ModelTraits traits = traits_of(content.model);
    RunnerOptions chosen = runner;
    std::vector<ops::TensorData> feeds;
    std::unique_ptr<Runner> model;
    // Compiles, and loads the package unless a verdict on it is kept.
    const auto make = [&](const onnx::Known& known) -> Result<> {
      chosen.known = known;
      feeds = left_of(ports, given, known);
      if (!runs_here_on(target, native_device)) {
        GS_ASSIGN(model, make_runner(target, content.model, chosen));
        return {};
      }
      const auto files_of = [&](compiler::CodeForm code) {
        const auto compile = [&] { return compile_native(target, content.model, chosen, code); };
        const bool finished = code == compiler::CodeForm::finished;
        return names_of(known).empty() ? once.files(test, ports, finished ? "" : "bitcode", compile)
                                       : compile();
      };
      const auto is_kept = [&](const package::Files& files) {
        std::string key = kept->package_key(files, feeds, content, traits);
        auto found = kept->find(key, test.name);
        if (found) verdict = *std::move(found);
        verdict.package_key = std::move(key);
        return found.has_value();
      };
      const bool takes_bitcode = kept && kept->takes_bitcode();
      if (takes_bitcode) {
        GS_ASSIGN(const package::Files bitcode, files_of(compiler::CodeForm::bitcode));
        if (is_kept(bitcode)) return {};
      }
      GS_ASSIGN(const package::Files files, files_of(compiler::CodeForm::finished));
      if (kept && !takes_bitcode && is_kept(files)) return {};
      GS_ASSIGN(model, load_native_runner(files, chosen));
      return {};
    };
    const auto make_and_run = [&](const onnx::Known& known) -> Result<> {
      GS_TRY(make(known));
      verdict.known = names_of(known);
      if (verdict.kept) return {};
      GS_TRY(check_feeds(model->inputs(), feeds));
      const auto begin = std::chrono::steady_clock::now();
      GS_ASSIGN(const auto outputs, model->run(feeds));
      verdict.elsewhere = model->elsewhere();
      const std::chrono::duration<double, std::milli> time =
          std::chrono::steady_clock::now() - begin;
      verdict.milliseconds = time.count();
      judge(outputs, model->outputs(), model->groups(), content, traits, options, verdict);
      return {};
    };
    if (options.open || target == "interp") return make_and_run({});
    return specialize(ports, content.model.graph.groups, given, make_and_run);
  };
  if (auto result = attempt(); !result) verdict.message = result.error().to_string();
  return verdict;
}

std::string to_json(const Verdict& verdict) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  json.StartObject();
  json.Key("name");
  json.String(verdict.name);
  json.Key("status");
  const std::string_view status = name_of(verdict.status);
  json.String(status.data(), static_cast<rapidjson::SizeType>(status.size()));
  if (!verdict.message.empty()) {
    json.Key("message");
    json.String(verdict.message);
  }
  if (!verdict.known.empty()) {
    json.Key("known");
    json.String(verdict.known);
  }
  if (verdict.elsewhere > 0) {
    json.Key("elsewhere");
    json.Int(verdict.elsewhere);
  }
  json.Key("ratio");
  if (std::isfinite(verdict.ratio))
    json.Double(verdict.ratio);
  else
    json.Null();
  json.Key("ms");
  json.Double(verdict.milliseconds);
  if (verdict.kept) {
    json.Key("kept");
    json.Bool(true);
  }
  json.EndObject();
  return text.GetString();
}

std::optional<Verdict> verdict_from_json(const std::string& json) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(json.data(),
                                                                                      json.size());
  if (document.HasParseError() || !document.IsObject()) return std::nullopt;
  const auto member = [&](const char* key) -> const rapidjson::Value* {
    const auto found = document.FindMember(key);
    return found == document.MemberEnd() ? nullptr : &found->value;
  };
  Verdict verdict;
  if (const auto* name = member("name"); name && name->IsString()) verdict.name = name->GetString();
  if (const auto* message = member("message"); message && message->IsString())
    verdict.message = message->GetString();
  if (const auto* known = member("known"); known && known->IsString())
    verdict.known = known->GetString();
  if (const auto* count = member("elsewhere"); count && count->IsInt())
    verdict.elsewhere = count->GetInt();
  if (const auto* status = member("status"); status && status->IsString())
    for (const auto known : {Verdict::pass, Verdict::fail, Verdict::error})
      if (name_of(known) == status->GetString()) verdict.status = known;
  const auto* ratio = member("ratio");
  verdict.ratio = ratio && ratio->IsNumber() ? ratio->GetDouble() : INFINITY;
  if (const auto* time = member("ms"); time && time->IsNumber())
    verdict.milliseconds = time->GetDouble();
  if (const auto* kept = member("kept"); kept && kept->IsBool()) verdict.kept = kept->GetBool();
  return verdict;
}

std::string to_message(const Verdict& verdict) {
  return cat(verdict.package_key, "\n", to_json(verdict));
}

Verdict verdict_from_message(const std::string& message) {
  const size_t end = message.find('\n');
  auto verdict = verdict_from_json(message.substr(end + 1));
  GS_CHECK(end != std::string::npos && verdict.has_value(), message);
  verdict->package_key = message.substr(0, end);
  return *std::move(verdict);
}

}  // namespace gossamer::command
