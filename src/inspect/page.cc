#include "inspect/page.h"

#include <rapidjson/document.h>

namespace gossamer::inspect {

Result<std::string> to_page(std::string_view page, std::string_view document) {
  constexpr std::string_view mark = "<script type=\"application/json\" id=\"view\">";
  const size_t at = page.find(mark);
  if (at == std::string_view::npos) return fail("the inspector's page has no place for a document");
  std::string html(page.substr(0, at + mark.size()));
  html.reserve(page.size() + document.size());
  // The parser of HTML looks for the element's end in scripts, too; JSON may write "<" as a code.
  for (const char letter : document) {
    if (letter == '<') {
      html += "\\u003c";
    } else {
      html += letter;
    }
  }
  html += page.substr(at + mark.size());
  return html;
}

bool is_profile(const std::string& text) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(text.c_str());
  return !json.HasParseError() && json.IsObject() && json.HasMember("device") &&
         json.HasMember("launches") && json["launches"].IsArray();
}

}  // namespace gossamer::inspect
