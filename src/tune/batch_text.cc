#include "tune/batch_text.h"

#include "tune/json.h"

#include <algorithm>
#include <array>

namespace gossamer::tune {
namespace {

// In the order of Batch::Kind.
constexpr std::array<std::string_view, 4> kinds = {"points", "comparison", "layouts", "survey"};

void write(Writer& line, const char* name, const std::vector<double>& numbers) {
  line.json().Key(name);
  line.json().StartArray();
  for (const double one : numbers) line.number(one);
  line.json().EndArray();
}

void write(Writer& line, const Spent& spent) {
  write(line, "spent", {spent.compile, spent.load, spent.measure});
}

void write(Writer& line, const char* name, const std::vector<Placed>& points) {
  line.json().Key(name);
  line.json().StartArray();
  for (const Placed& one : points) {
    line.json().StartObject();
    line.text("key", one.key);
    line.text("class", one.machine);
    line.text("point", to_string(one.point));
    line.json().EndObject();
  }
  line.json().EndArray();
}

void write(Writer& line, const char* name, const std::vector<PlacedLayout>& layouts) {
  line.json().Key(name);
  line.json().StartArray();
  for (const PlacedLayout& one : layouts) {
    line.json().StartObject();
    line.text("key", one.key);
    line.text("class", one.machine);
    line.text(std::string(name_of(one.choice.of)).c_str(), to_string(one.choice));
    line.json().EndObject();
  }
  line.json().EndArray();
}

Result<rapidjson::Document> read(std::string_view text) {
  rapidjson::Document document = parse(text);
  if (document.HasParseError() || !document.IsObject()) return fail("is no JSON object");
  return document;
}

Result<const Value*> list_of(const Value& object, const char* name) {
  const auto member = object.FindMember(name);
  if (member == object.MemberEnd() || !member->value.IsArray())
    return fail(cat("has no list \"", name, "\""));
  return &member->value;
}

// Absent: none.
Result<std::vector<double>> numbers_of(const Value& object, const char* name) {
  std::vector<double> numbers;
  if (!object.IsObject() || !object.HasMember(name)) return numbers;
  GS_ASSIGN(const Value* list, list_of(object, name));
  for (const Value& one : list->GetArray()) {
    if (!one.IsNumber()) return fail(cat("has something else than numbers in \"", name, "\""));
    numbers.push_back(one.GetDouble());
  }
  return numbers;
}

Result<Spent> spent_of(const Value& object) {
  GS_ASSIGN(const std::vector<double> seconds, numbers_of(object, "spent"));
  if (seconds.size() != 3) return fail("does not say where its time went");
  return Spent{seconds[0], seconds[1], seconds[2]};
}

Result<std::vector<Placed>> points_of(const Value& object, const char* name) {
  GS_ASSIGN(const Value* list, list_of(object, name));
  std::vector<Placed> points;
  for (const Value& one : list->GetArray()) {
    if (!one.IsObject()) return fail("a point is no object");
    Placed placed;
    GS_ASSIGN(placed.key, text_of(one, "key"));
    GS_ASSIGN(placed.machine, text_of(one, "class"));
    GS_ASSIGN(const std::string words, text_of(one, "point"));
    GS_ASSIGN(placed.point, schedule::parse_point(words));
    points.push_back(std::move(placed));
  }
  return points;
}

// Absent: none.
Result<std::vector<PlacedLayout>> layouts_of(const Value& object, const char* name) {
  std::vector<PlacedLayout> layouts;
  if (!object.HasMember(name)) return layouts;
  GS_ASSIGN(const Value* list, list_of(object, name));
  for (const Value& one : list->GetArray()) {
    if (!one.IsObject()) return fail("a layout is no object");
    PlacedLayout placed;
    GS_ASSIGN(placed.key, text_of(one, "key"));
    GS_ASSIGN(placed.machine, text_of(one, "class"));
    GS_ASSIGN(placed.choice, choice_of(one));
    layouts.push_back(std::move(placed));
  }
  return layouts;
}

Result<Batch::Kind> kind_of(const Value& object) {
  const auto member = object.FindMember("kind");
  const std::string_view word = member != object.MemberEnd() && member->value.IsString()
                                    ? member->value.GetString()
                                    : std::string_view();
  const auto found = std::ranges::find(kinds, word);
  if (found == kinds.end())
    return fail(cat("\"", word, "\" is no kind of batch"), "take one release everywhere");
  return static_cast<Batch::Kind>(found - kinds.begin());
}

Result<Survey> survey_of(const Value& object, Survey survey) {
  if (!object.IsObject()) return fail("a survey is no object");
  GS_ASSIGN(survey.timing.adapter, text_of(object, "adapter"));
  survey.timing.run_ms = number_of(object, "runMs");
  survey.turn_seconds = number_of(object, "turnSeconds");
  GS_ASSIGN(survey.spent, spent_of(object));
  GS_ASSIGN(const Value* list, list_of(object, "kernels"));
  for (const Value& one : list->GetArray()) {
    if (!one.IsObject()) return fail("a kernel is no object");
    GS_ASSIGN(const std::string key, text_of(one, "key"));
    GS_ASSIGN(const std::string machine, text_of(one, "class"));
    GS_ASSIGN(const std::string schedule, text_of(one, "schedule"));
    const double kernel = number_of(one, "kernel");
    const bool there = kernel >= 0 && kernel < static_cast<double>(survey.kernels.size());
    const auto at = there ? static_cast<size_t>(kernel) : 0;
    if (!there || survey.kernels[at].key != key || survey.kernels[at].machine != machine ||
        survey.kernels[at].schedule != schedule)
      return fail("the model has other kernels there than here",
                  "take one release everywhere, and for cpu name the processor: --cpu");
    survey.timing.kernels.push_back(
        {static_cast<int>(at), number_of(one, "ms"), number_of(one, "share")});
  }
  return survey;
}

void write(Writer& line, const Survey& survey) {
  line.json().StartObject();
  line.text("adapter", survey.timing.adapter);
  line.number("runMs", survey.timing.run_ms);
  line.number("turnSeconds", survey.turn_seconds);
  write(line, survey.spent);
  line.json().Key("kernels");
  line.json().StartArray();
  for (const KernelTime& one : survey.timing.kernels) {
    const auto at = static_cast<size_t>(one.kernel);
    if (one.kernel < 0 || at >= survey.kernels.size()) continue;
    line.json().StartObject();
    line.count("kernel", one.kernel);
    line.text("key", survey.kernels[at].key);
    line.text("class", survey.kernels[at].machine);
    line.text("schedule", survey.kernels[at].schedule);
    line.number("ms", one.ms);
    line.number("share", one.share);
    line.json().EndObject();
  }
  line.json().EndArray();
  line.json().EndObject();
}

}  // namespace

std::string to_json(const Survey& survey) {
  Writer line;
  write(line, survey);
  return line.take();
}

Result<Survey> read_survey(std::string_view text, Survey seen) {
  GS_ASSIGN(const rapidjson::Document document, read(text));
  return survey_of(document, std::move(seen));
}

std::string to_json(const Batch& batch) {
  Writer line;
  line.json().StartObject();
  line.count("number", batch.number);
  line.text("kind", std::string(kinds[static_cast<size_t>(batch.kind)]));
  write(line, "layouts", batch.layouts);
  write(line, "others", batch.others);
  write(line, "best", batch.best);
  write(line, "challengers", batch.challengers);
  line.json().EndObject();
  return line.take();
}

Result<Batch> read_batch(std::string_view text) {
  GS_ASSIGN(const rapidjson::Document document, read(text));
  Batch batch;
  batch.number = static_cast<int>(number_of(document, "number"));
  GS_ASSIGN(batch.kind, kind_of(document));
  GS_ASSIGN(batch.layouts, layouts_of(document, "layouts"));
  GS_ASSIGN(batch.others, layouts_of(document, "others"));
  GS_ASSIGN(batch.best, points_of(document, "best"));
  GS_ASSIGN(batch.challengers, points_of(document, "challengers"));
  return batch;
}

std::string to_json(const Measurement& measurement, int number) {
  Writer line;
  line.json().StartObject();
  line.count("number", number);
  line.number("turnSeconds", measurement.turn_seconds);
  write(line, measurement.spent);
  write(line, "runBefore", measurement.run_before);
  write(line, "runAfter", measurement.run_after);
  if (measurement.kernels_ratio > 0) line.number("kernelsRatio", measurement.kernels_ratio);
  if (!measurement.failure.empty()) line.text("failed", measurement.failure);
  if (measurement.survey) {
    line.json().Key("survey");
    write(line, *measurement.survey);
  }
  line.json().Key("points");
  line.json().StartArray();
  for (const Measured& one : measurement.points) {
    line.json().StartObject();
    if (one.failure.empty()) {
      write(line, "before", one.before);
      write(line, "after", one.after);
      write(line, "shares", {one.share_before, one.share_after});
    } else {
      line.text("failed", one.failure);
    }
    line.json().EndObject();
  }
  line.json().EndArray();
  line.json().EndObject();
  return line.take();
}

Result<Answer> read_measurement(std::string_view text,
                                const std::vector<compiler::KernelReport>& surveyed) {
  GS_ASSIGN(const rapidjson::Document document, read(text));
  Answer answer;
  answer.number = static_cast<int>(number_of(document, "number"));
  Measurement& made = answer.measurement;
  made.turn_seconds = number_of(document, "turnSeconds");
  GS_ASSIGN(made.spent, spent_of(document));
  GS_ASSIGN(made.run_before, numbers_of(document, "runBefore"));
  GS_ASSIGN(made.run_after, numbers_of(document, "runAfter"));
  if (made.run_before.size() != made.run_after.size()) return fail("a turn has one time");
  made.kernels_ratio = number_of(document, "kernelsRatio");
  if (document.HasMember("failed")) {
    GS_ASSIGN(made.failure, text_of(document, "failed"));
  }
  if (document.HasMember("survey")) {
    Survey seen;
    seen.kernels = surveyed;
    GS_ASSIGN(made.survey, survey_of(document["survey"], std::move(seen)));
  }
  GS_ASSIGN(const Value* list, list_of(document, "points"));
  for (const Value& one : list->GetArray()) {
    Measured& point = made.points.emplace_back();
    GS_ASSIGN(point.before, numbers_of(one, "before"));
    GS_ASSIGN(point.after, numbers_of(one, "after"));
    if (point.before.size() != point.after.size()) return fail("a turn has one time");
    GS_ASSIGN(const std::vector<double> shares, numbers_of(one, "shares"));
    if (shares.size() == 2) {
      point.share_before = shares[0];
      point.share_after = shares[1];
    }
    if (one.IsObject() && one.HasMember("failed")) {
      GS_ASSIGN(point.failure, text_of(one, "failed"));
    }
  }
  return answer;
}

}  // namespace gossamer::tune
