#include "gossamer/records_file.h"

#include <rapidjson/document.h>

#include "api/files.h"

namespace gossamer::command {
namespace {

Result<> read_line(const std::string& line, schedule::Records& records) {
  rapidjson::Document document;
  document.Parse(line);
  if (document.HasParseError() || !document.IsObject()) return fail("is no JSON object");
  const auto text = [&](const char* name) -> Result<std::string> {
    const auto member = document.FindMember(name);
    if (member == document.MemberEnd() || !member->value.IsString())
      return fail(cat("has no text \"", name, "\""), "`gossamer inspect --space` lists all three");
    return std::string(member->value.GetString(), member->value.GetStringLength());
  };
  GS_ASSIGN(std::string key, text("key"));
  GS_ASSIGN(std::string machine, text("class"));
  GS_ASSIGN(const std::string words, text("point"));
  GS_ASSIGN(const schedule::Point point, schedule::parse_point(words));
  records.add(std::move(key), std::move(machine), point);
  return {};
}

}  // namespace

Result<schedule::Records> read_records(const std::filesystem::path& file) {
  GS_ASSIGN(const std::string text, read_text(file.string()));
  schedule::Records records;
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (auto read = read_line(line, records); !read) {
      read.error().where = cat(file.string(), ":", number);
      return std::unexpected(read.error());
    }
  }
  return records;
}

}  // namespace gossamer::command
