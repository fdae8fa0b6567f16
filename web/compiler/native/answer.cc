#include "answer.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "base/strings.h"

namespace gossamer::web {
namespace {

package::File diagnostic_file(const Diagnostic& diagnostic) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  json.StartObject();
  json.Key("where");
  json.String(one_line(diagnostic.where));
  json.Key("message");
  json.String(one_line(diagnostic.message));
  json.Key("hint");
  json.String(one_line(diagnostic.hint));
  json.EndObject();
  const auto* bytes = reinterpret_cast<const std::byte*>(text.GetString());
  return {"error", {bytes, bytes + text.GetSize()}};
}

// [[path, offset, length], ...]; a path "" is the next of the file's own bytes.
package::File list_of(std::span<const package::FilePart> parts) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  json.StartArray();
  for (const package::FilePart& part : parts) {
    json.StartArray();
    json.String(part.range.file);
    json.Uint64(part.range.offset);
    json.Uint64(part.length);
    json.EndArray();
  }
  json.EndArray();
  const auto* bytes = reinterpret_cast<const std::byte*>(text.GetString());
  return {"@parts", {bytes, bytes + text.GetSize()}};
}

}  // namespace

Answer* answer(Result<package::Files> files) {
  auto* made = new Answer{};
  made->ok = files.has_value() ? 1 : 0;
  if (files) {
    for (package::File& file : *files) {
      const std::vector<package::FilePart> parts = std::move(file.parts);
      made->files.push_back(std::move(file));
      if (!parts.empty()) made->files.push_back(list_of(parts));
    }
  } else {
    made->files.push_back(diagnostic_file(files.error()));
  }
  for (const package::File& file : made->files) {
    made->table.push_back({file.name.data(), static_cast<uint32_t>(file.name.size()),
                           file.bytes.data(), static_cast<uint32_t>(file.bytes.size())});
  }
  made->count = static_cast<uint32_t>(made->table.size());
  made->entries = made->table.data();
  return made;
}

}  // namespace gossamer::web
