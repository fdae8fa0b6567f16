// What this folder's texts are read and written with.
#pragma once

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/result.h"
#include "records/layout_records.h"

namespace gossamer::tune {

using rapidjson::Value;

inline rapidjson::Document parse(std::string_view text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag>(text.data(),
                                                                                  text.size());
  return document;
}

// 0: there is none.
inline double number_of(const Value& object, const char* name) {
  if (!object.IsObject()) return 0;
  const auto member = object.FindMember(name);
  return member != object.MemberEnd() && member->value.IsNumber() ? member->value.GetDouble() : 0.0;
}

inline Result<std::string> text_of(const Value& object, const std::string& name) {
  const auto member = object.FindMember(name);
  if (member == object.MemberEnd() || !member->value.IsString())
    return fail(cat("has no text \"", name, "\""), "`gossamer inspect --space` lists all three");
  return std::string(member->value.GetString(), member->value.GetStringLength());
}

// What an object sets for a stage: its "layout" or its "algorithm".
inline Result<records::StageChoice> choice_of(const Value& object) {
  using Of = records::StageChoice::Of;
  const Of of = object.HasMember("algorithm") ? Of::algorithm : Of::layout;
  GS_ASSIGN(const std::string words, text_of(object, std::string(records::name_of(of))));
  GS_ASSIGN(const records::StageChoice choice, records::parse_choice(words));
  if (choice.of != of) return fail(cat("\"", words, "\" is no ", records::name_of(of)));
  return choice;
}

// An object, member by member.
class Writer {
 public:
  Writer() : json_(text_) {}
  void text(std::string_view name, const std::string& value) {
    json_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    json_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  void number(const char* name, double value) {
    json_.Key(name);
    number(value);
  }
  void number(double value) {
    json_.Double(std::isfinite(value) ? std::round(value * 1e6) / 1e6 : 0);
  }
  void count(const char* name, int value) {
    json_.Key(name);
    json_.Int(value);
  }
  rapidjson::Writer<rapidjson::StringBuffer>& json() { return json_; }
  std::string take() const { return text_.GetString(); }

 private:
  rapidjson::StringBuffer text_;
  rapidjson::Writer<rapidjson::StringBuffer> json_;
};

}  // namespace gossamer::tune
