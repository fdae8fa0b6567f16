#include "tune/text.h"

#include <algorithm>
#include <map>

#include "tune/features.h"
#include "tune/json.h"

namespace gossamer::tune {
namespace {

// What a line says: `point` of a record or, where it is a search's, of a trial.
struct Line {
  Trial trial;
  bool best = false;
  std::string kernel, shipped;
};

bool is_of_layouts(const rapidjson::Document& line) {
  return !line.HasParseError() && line.IsObject() &&
         (line.HasMember("layout") || line.HasMember("algorithm") || line.HasMember("layouts"));
}

Result<> read_layout(const rapidjson::Document& document, Recorded& read) {
  GS_ASSIGN(std::string machine, text_of(document, "class"));
  if (!document.HasMember("layouts")) {
    records::LayoutRecord record;
    record.machine = std::move(machine);
    GS_ASSIGN(record.key, text_of(document, "key"));
    GS_ASSIGN(const records::StageChoice choice, choice_of(document));
    if (number_of(document, "ratio") < 1) record.choice = choice;
    if (document.HasMember("shipped")) {
      GS_ASSIGN(record.shipped, text_of(document, "shipped"));
    }
    read.records.add(std::move(record));
    return {};
  }
  const Value& list = document["layouts"];
  if (!list.IsArray()) return fail("\"layouts\" is no list");
  LayoutTrial trial;
  for (const Value& one : list.GetArray()) {
    if (!one.IsObject()) return fail("a layout is no object");
    GS_ASSIGN(std::string key, text_of(one, "key"));
    GS_ASSIGN(const records::StageChoice choice, choice_of(one));
    trial.layouts.push_back({std::move(key), machine, choice});
  }
  GS_ASSIGN(trial.adapter, text_of(document, "adapter"));
  if (document.HasMember("failed")) {
    GS_ASSIGN(trial.failure, text_of(document, "failed"));
  }
  trial.ms = number_of(document, "ms");
  trial.ratio = number_of(document, "ratio");
  trial.spread = number_of(document, "spread");
  if (trial.failure.empty() && !(trial.ratio > 0)) return fail("is a trial without its \"ratio\"");
  read.layout_trials.push_back(std::move(trial));
  return {};
}

// Null: there is none.
const Value* bench_of(const rapidjson::Document& answer) {
  if (answer.HasParseError() || !answer.IsObject()) return nullptr;
  const auto bench = answer.FindMember("bench");
  return bench != answer.MemberEnd() && bench->value.IsObject() ? &bench->value : nullptr;
}

Result<std::vector<int64_t>> extents_of(const Value& object) {
  const auto member = object.FindMember("extents");
  if (member == object.MemberEnd() || !member->value.IsArray())
    return fail("has a \"structure\" and no \"extents\"");
  std::vector<int64_t> extents;
  for (const Value& extent : member->value.GetArray()) {
    if (!extent.IsInt64() || extent.GetInt64() < 0)
      return fail("\"extents\" are whole numbers, 0 where one is not known");
    extents.push_back(extent.GetInt64());
  }
  return extents;
}

Result<LearnedCosts> read_costs(const rapidjson::Document& document) {
  LearnedCosts costs;
  GS_ASSIGN(costs.machine, text_of(document, "costs"));
  GS_ASSIGN(costs.adapter, text_of(document, "adapter"));
  costs.kernels = static_cast<int>(number_of(document, "kernels"));
  costs.points = static_cast<int>(number_of(document, "points"));
  if (number_of(document, "features") != double{feature_count})
    return fail(cat("costs are of ", number_of(document, "features"),
                    " features of a point, of which there are ", feature_count),
                "`gossamer cost-model --output` learns them anew");
  if (!document.HasMember("trees") || !document["trees"].IsArray())
    return fail("has \"costs\" and no \"trees\"");
  std::vector<BoostedTrees::Walk> walks;
  for (const Value& tree : document["trees"].GetArray()) {
    BoostedTrees::Walk& walk = walks.emplace_back();
    if (!tree.IsArray()) return fail("a tree is no list of numbers");
    for (const Value& number : tree.GetArray()) {
      if (!number.IsNumber()) return fail("a tree is no list of numbers");
      walk.push_back(number.GetDouble());
    }
  }
  GS_ASSIGN(costs.trees, BoostedTrees::of_walks(number_of(document, "base"), walks, feature_count));
  return costs;
}

Result<Line> read_line(const rapidjson::Document& document) {
  if (document.HasParseError() || !document.IsObject()) return fail("is no JSON object");
  Line read;
  read.best = !document.HasMember("trial");
  GS_ASSIGN(read.trial.key, text_of(document, "key"));
  GS_ASSIGN(read.trial.machine, text_of(document, "class"));
  GS_ASSIGN(const std::string words, text_of(document, read.best ? "point" : "trial"));
  GS_ASSIGN(read.trial.point, schedule::parse_point(words));
  read.trial.ms = number_of(document, "ms");
  read.trial.ratio = number_of(document, "ratio");
  read.trial.spread = number_of(document, "spread");
  if (document.HasMember("adapter")) {
    GS_ASSIGN(read.trial.adapter, text_of(document, "adapter"));
  }
  if (document.HasMember("structure")) {
    GS_ASSIGN(read.trial.likeness.structure, text_of(document, "structure"));
    GS_ASSIGN(read.trial.likeness.extents, extents_of(document));
  }
  if (document.HasMember("kernel")) {
    GS_ASSIGN(read.kernel, text_of(document, "kernel"));
  }
  if (document.HasMember("shipped")) {
    GS_ASSIGN(read.shipped, text_of(document, "shipped"));
  }
  if (document.HasMember("failed")) {
    GS_ASSIGN(read.trial.failure, text_of(document, "failed"));
  }
  if (!read.best && read.trial.failure.empty() && !(read.trial.ratio > 0))
    return fail("is a trial without its \"ratio\"");
  return read;
}

}  // namespace

Recorded read_records(std::string_view text, std::string_view where) {
  Recorded read;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos || line.starts_with('#'))
      continue;
    const auto leave_out = [&](Diagnostic why) {
      why.where = cat(where, ":", number);
      read.left_out.push_back(std::move(why));
    };
    const rapidjson::Document document = parse(line);
    if (is_of_layouts(document)) {
      if (auto done = read_layout(document, read); !done) leave_out(std::move(done).error());
      continue;
    }
    if (!document.HasParseError() && document.IsObject() && document.HasMember("costs")) {
      auto costs = read_costs(document);
      if (costs) {
        read.costs.push_back(*std::move(costs));
      } else {
        leave_out(std::move(costs).error());
      }
      continue;
    }
    auto one = read_line(document);
    if (!one) {
      leave_out(std::move(one).error());
    } else if (one->best) {
      Trial& trial = one->trial;
      std::optional<schedule::Point> point;
      if (trial.ratio < 1) point = trial.point;
      // Kernels' names say little: "conv".
      std::string name = cat(one->kernel, one->kernel.empty() ? "" : " ", trial.key.substr(0, 8));
      read.records.add({std::move(trial.key), std::move(trial.machine), point, std::move(name),
                        std::move(trial.likeness), std::move(one->shipped)});
    } else {
      read.trials.push_back(std::move(one->trial));
    }
  }
  return read;
}

std::string line_of(const Trial& trial, const std::string& kernel, bool best) {
  Writer line;
  line.json().StartObject();
  line.text("key", trial.key);
  line.text("class", trial.machine);
  line.text(best ? "point" : "trial", to_string(trial.point));
  if (!trial.failure.empty()) {
    line.text("failed", trial.failure);
  } else {
    line.number("ms", trial.ms);
    line.number("ratio", trial.ratio);
    line.number("spread", trial.spread);
  }
  if (best && !trial.likeness.structure.empty()) {
    line.text("structure", trial.likeness.structure);
    line.json().Key("extents");
    line.json().StartArray();
    for (const int64_t extent : trial.likeness.extents) line.json().Int64(extent);
    line.json().EndArray();
  }
  line.text("kernel", kernel);
  line.text("adapter", trial.adapter);
  line.text("version", GOSSAMER_VERSION);
  line.json().EndObject();
  return line.take();
}

std::string line_of(const LearnedCosts& costs) {
  Writer line;
  auto& json = line.json();
  json.StartObject();
  line.text("costs", costs.machine);
  line.text("adapter", costs.adapter);
  line.count("kernels", costs.kernels);
  line.count("points", costs.points);
  line.count("features", static_cast<int>(feature_count));
  line.text("version", GOSSAMER_VERSION);
  line.number("base", costs.trees.base());
  json.Key("trees");
  json.StartArray();
  for (const BoostedTrees::Walk& walk : costs.trees.walks()) {
    json.StartArray();
    for (size_t at = 0; at < walk.size(); ++at) {
      if (at % 2 == 0) {
        json.Int(static_cast<int>(walk[at]));
      } else {
        json.Double(std::round(walk[at] * 1e4) / 1e4);
      }
    }
    json.EndArray();
  }
  json.EndArray();
  json.EndObject();
  return line.take();
}

namespace {

void write_times(Writer& line, const LayoutTrial& trial, const std::string& name) {
  if (!trial.failure.empty()) {
    line.text("failed", trial.failure);
  } else {
    line.number("ms", trial.ms);
    line.number("ratio", trial.ratio);
    line.number("spread", trial.spread);
  }
  line.text("stage", name);
  line.text("adapter", trial.adapter);
  line.text("version", GOSSAMER_VERSION);
}

}  // namespace

std::string line_of(const LayoutTrial& trial, const std::string& name) {
  Writer line;
  line.json().StartObject();
  line.json().Key("layouts");
  line.json().StartArray();
  for (const PlacedLayout& one : trial.layouts) {
    line.json().StartObject();
    line.text("key", one.key);
    line.text(name_of(one.choice.of), to_string(one.choice));
    line.json().EndObject();
  }
  line.json().EndArray();
  line.text("class", trial.layouts.empty() ? "" : trial.layouts[0].machine);
  write_times(line, trial, name);
  line.json().EndObject();
  return line.take();
}

std::string line_of(const PlacedLayout& layout, const LayoutTrial& trial, const std::string& name) {
  Writer line;
  line.json().StartObject();
  line.text("key", layout.key);
  line.text("class", layout.machine);
  line.text(name_of(layout.choice.of), to_string(layout.choice));
  write_times(line, trial, name);
  line.json().EndObject();
  return line.take();
}

Result<Timing> read_profile(std::string_view answer) {
  const rapidjson::Document document = parse(answer);
  const Value* bench = bench_of(document);
  const auto wrong = [] { return fail("the device answered without a profile"); };
  if (!bench || !bench->HasMember("profile") || !(*bench)["profile"].IsObject()) return wrong();
  const Value& profile = (*bench)["profile"];
  Timing timing;
  if (profile.HasMember("adapter") && profile["adapter"].IsString())
    timing.adapter = profile["adapter"].GetString();
  timing.run_ms = number_of(profile, "runMs");
  double copy = 0, arithmetic = 0;  // a millisecond
  if (profile.HasMember("limits") && profile["limits"].IsArray() && !profile["limits"].Empty()) {
    copy = 1e6 * number_of(profile["limits"][0], "copyRate");
    arithmetic = 1e6 * number_of(profile["limits"][0], "arithmeticRate");
  }
  if (!profile.HasMember("launches") || !profile["launches"].IsArray()) return wrong();
  std::map<int, KernelTime> kernels;
  for (const Value& launch : profile["launches"].GetArray()) {
    const auto kernel = static_cast<int>(number_of(launch, "kernel"));
    KernelTime& time = kernels[kernel];
    time.kernel = kernel;
    time.ms += number_of(launch, "ms");
    const double moving = copy > 0 ? number_of(launch, "bytes") / copy : 0;
    const double computing = arithmetic > 0 ? number_of(launch, "operations") / arithmetic : 0;
    time.share += std::max(moving, computing);
  }
  for (auto& [kernel, time] : kernels) {
    if (time.ms > 0) time.share /= time.ms;
    timing.kernels.push_back(time);
  }
  return timing;
}

Result<double> read_time(std::string_view answer) {
  const rapidjson::Document document = parse(answer);
  const Value* bench = bench_of(document);
  double fastest = 0;
  if (bench && bench->HasMember("times") && (*bench)["times"].IsArray()) {
    for (const Value& time : (*bench)["times"].GetArray())
      if (time.IsNumber() && (fastest == 0 || time.GetDouble() < fastest))
        fastest = time.GetDouble();
  }
  if (fastest == 0) return fail("the device answered without times");
  return fastest;
}

namespace {

// Of a kernel or a layout that was tuned.
void write_change(Writer& text, const auto& of, const std::string& before,
                  const std::string& after) {
  text.text("key", of.key);
  text.text("class", of.machine);
  text.text("name", of.name);
  text.text("origin", of.origin);
  text.text("before", before);
  text.text("after", after);
}

}  // namespace

std::string to_json(const Outcome& outcome) {
  Writer text;
  auto& json = text.json();
  json.StartObject();
  text.text("adapter", outcome.adapter);
  text.number("runMsBefore", outcome.run_ms_before);
  text.number("runMsAfter", outcome.run_ms_after);
  text.count("trials", outcome.trials);
  text.count("failures", outcome.failures);
  text.number("compileSeconds", outcome.compile_seconds);
  text.number("loadSeconds", outcome.load_seconds);
  text.number("measureSeconds", outcome.measure_seconds);
  text.count("layoutTrials", outcome.layout_trials);
  text.count("layoutFailures", outcome.layout_failures);
  json.Key("layoutsGivenUp");
  json.Bool(outcome.layouts_given_up);
  json.Key("layouts");
  json.StartArray();
  for (const TunedLayout& one : outcome.layouts) {
    json.StartObject();
    write_change(text, one, to_string(one.before), to_string(one.after));
    json.EndObject();
  }
  json.EndArray();
  json.Key("kernels");
  json.StartArray();
  for (const Tuned& kernel : outcome.kernels) {
    json.StartObject();
    write_change(text, kernel, to_string(kernel.before), to_string(kernel.after));
    text.number("msBefore", kernel.ms_before);
    text.number("msAfter", kernel.ms_after);
    text.count("trials", kernel.trials);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return text.take();
}

std::string to_json(const Progress& progress) {
  Writer text;
  text.json().StartObject();
  text.number("seconds", progress.seconds);
  text.count("layouts", progress.layouts);
  text.number("layoutGain", progress.layout_gain);
  text.count("trials", progress.trials);
  text.number("gain", progress.gain);
  text.text("kernel", progress.kernel);
  text.number("kernelGain", progress.kernel_gain);
  text.number("share", progress.share);
  text.json().Key("kernels");
  text.json().StartArray();
  for (const Progress::Kernel& kernel : progress.kernels) {
    text.json().StartObject();
    text.text("name", kernel.name);
    text.text("origin", kernel.origin);
    text.number("msBefore", kernel.ms_before);
    text.number("ms", kernel.ms);
    text.json().EndObject();
  }
  text.json().EndArray();
  text.json().EndObject();
  return text.take();
}

}  // namespace gossamer::tune
