#include "gossamer/commands/commands.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdio>

namespace gossamer::command {

int report_error(const Diagnostic& diagnostic, bool json) {
  if (!json) {
    std::string line = diagnostic.to_string();
    for (char& letter : line)
      if (letter == '\n') letter = ' ';
    std::fprintf(stderr, "gossamer: %s\n", line.c_str());
    return 1;
  }
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> writer(text);
  writer.StartObject();
  writer.Key("error");
  writer.StartObject();
  writer.Key("where");
  writer.String(diagnostic.where);
  writer.Key("message");
  writer.String(diagnostic.message);
  writer.Key("hint");
  writer.String(diagnostic.hint);
  writer.EndObject();
  writer.EndObject();
  std::printf("%s\n", text.GetString());
  return 1;
}

int report_usage(const std::string& message) {
  std::fprintf(stderr, "gossamer: %s\n", message.c_str());
  return 2;
}

}  // namespace gossamer::command
