#include "gossamer/records_file.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <cstdio>

#include "api/files.h"

namespace gossamer::command {
namespace {

// What a line says: `point` of a record or, where it is a search's, of a trial.
struct Line {
  tune::Trial trial;
  bool best = false;
};

Result<Line> read_line(const std::string& line) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(line.c_str());
  if (document.HasParseError() || !document.IsObject()) return fail("is no JSON object");
  const auto text = [&](const char* name) -> Result<std::string> {
    const auto member = document.FindMember(name);
    if (member == document.MemberEnd() || !member->value.IsString())
      return fail(cat("has no text \"", name, "\""), "`gossamer inspect --space` lists all three");
    return std::string(member->value.GetString(), member->value.GetStringLength());
  };
  const auto number = [&](const char* name) {
    const auto member = document.FindMember(name);
    return member != document.MemberEnd() && member->value.IsNumber() ? member->value.GetDouble()
                                                                      : 0.0;
  };
  Line read;
  read.best = !document.HasMember("trial");
  GS_ASSIGN(read.trial.key, text("key"));
  GS_ASSIGN(read.trial.machine, text("class"));
  GS_ASSIGN(const std::string words, text(read.best ? "point" : "trial"));
  GS_ASSIGN(read.trial.point, schedule::parse_point(words));
  read.trial.ms = number("ms");
  read.trial.ratio = number("ratio");
  read.trial.spread = number("spread");
  if (document.HasMember("adapter")) {
    GS_ASSIGN(read.trial.adapter, text("adapter"));
  }
  if (document.HasMember("failed")) {
    GS_ASSIGN(read.trial.failure, text("failed"));
  }
  if (!read.best && read.trial.failure.empty() && !(read.trial.ratio > 0))
    return fail("is a trial without its \"ratio\"");
  return read;
}

Result<> read_lines(const std::filesystem::path& file, const std::function<void(Line)>& take) {
  GS_ASSIGN(const std::string text, read_text(file.string()));
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    auto read = read_line(line);
    if (read) {
      take(*std::move(read));
      continue;
    }
    read.error().where = cat(file.string(), ":", number);
    std::fprintf(stderr, "gossamer: left out: %s\n", read.error().to_string().c_str());
  }
  return {};
}

}  // namespace

Result<schedule::Records> read_records(const std::filesystem::path& file) {
  schedule::Records records;
  GS_TRY(read_lines(file, [&](Line line) {
    if (line.best) records.add(line.trial.key, line.trial.machine, line.trial.point);
  }));
  return records;
}

Result<std::vector<tune::Trial>> read_trials(const std::filesystem::path& file) {
  std::vector<tune::Trial> trials;
  GS_TRY(read_lines(file, [&](Line line) {
    if (!line.best) trials.push_back(std::move(line.trial));
  }));
  return trials;
}

std::string trial_line(const tune::Trial& trial, const std::string& kernel, bool best) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  const auto member = [&](const char* name, const std::string& value) {
    json.Key(name);
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  const auto number = [&](const char* name, double value) {
    json.Key(name);
    json.Double(std::round(value * 1e6) / 1e6);
  };
  json.StartObject();
  member("key", trial.key);
  member("class", trial.machine);
  member(best ? "point" : "trial", to_string(trial.point));
  if (!trial.failure.empty()) {
    member("failed", trial.failure);
  } else {
    number("ms", trial.ms);
    number("ratio", trial.ratio);
    number("spread", trial.spread);
  }
  member("kernel", kernel);
  member("adapter", trial.adapter);
  member("version", GOSSAMER_VERSION);
  json.EndObject();
  return text.GetString();
}

}  // namespace gossamer::command
