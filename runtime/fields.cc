#include "runtime/fields.h"

#include <algorithm>
#include <cmath>

namespace gossamer::runtime {

bool is_plain_name(std::string_view name) {
  const auto word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= 128 && word(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return word(c) || c == '.' || c == '-'; });
}

std::optional<int64_t> integer_of(const Json& json) {
  if (!json.IsNumber()) return {};
  const double number = json.GetDouble();
  if (number != std::trunc(number) || std::abs(number) >= static_cast<double>(any_count)) return {};
  return static_cast<int64_t>(number);
}

Fields::Fields(const Json& json, std::string where, std::string& problem, bool list)
    : json_(&json), where_(std::move(where)), problem_(problem) {
  if (list ? json.IsArray() : json.IsObject()) return;
  if (problem_.empty()) problem_ = cat(where_, " is not ", list ? "a list" : "an object");
}

std::string Fields::place_of(Key key) const {
  return key.name ? cat(where_, ".", key.name) : cat(where_, "[", key.at, "]");
}

void Fields::wrong(Key key, std::string_view wanted) const {
  if (problem_.empty()) problem_ = cat(place_of(key), " is not ", wanted);
}

const Json* Fields::find(Key key) const {
  if (!key.name) return key.at < size() ? &(*json_)[key.at] : nullptr;
  if (!json_->IsObject()) return nullptr;
  for (auto member = json_->MemberEnd(); member != json_->MemberBegin();)
    if ((--member)->name == key.name) return &member->value;
  return nullptr;
}

std::string Fields::text(Key key) const {
  const Json* found = find(key);
  if (!found || !found->IsString()) {
    wrong(key, "a string");
    return {};
  }
  return {found->GetString(), found->GetStringLength()};
}

std::string Fields::plain_name(Key key) const {
  std::string name = text(key);
  if (!is_plain_name(name)) wrong(key, "a plain name");
  return name;
}

bool Fields::flag(Key key) const {
  const Json* found = find(key);
  if (found && !found->IsBool()) wrong(key, "true or false");
  return found && found->IsBool() && found->GetBool();
}

int64_t Fields::count(Key key, int64_t below, int64_t least) const {
  const Json* found = find(key);
  const std::optional<int64_t> value = found ? integer_of(*found) : std::nullopt;
  if (!value || *value < least || *value >= below) {
    wrong(key, below == any_count ? std::string("an integer in range")
                                  : cat("in [", least, ", ", below, ")"));
    return least;
  }
  return *value;
}

package::Number Fields::number(Key key, int64_t plan_values, int64_t below, int64_t least) const {
  const Json* found = find(key);
  if (found && (found->IsObject() || found->IsArray() || found->IsNull()))
    return package::Number::plan(fields(key).count("plan", plan_values));
  return count(key, below, least);
}

ir::DType Fields::dtype(Key key) const {
  const Json* found = find(key);
  const auto known = found && found->IsString()
                         ? ir::dtype_named({found->GetString(), found->GetStringLength()})
                         : std::nullopt;
  if (!known || *known == ir::DType::index || *known == ir::DType::string)
    wrong(key, "a known element type");
  return known.value_or(ir::DType::f32);
}

Fields Fields::fields(Key key) const {
  static const Json nothing;
  const Json* found = find(key);
  return {found ? *found : nothing, place_of(key), problem_};
}

Fields Fields::items_of(Key key) const {
  static const Json nothing(rapidjson::kArrayType);
  const Json* found = find(key);
  return {found ? *found : nothing, place_of(key), problem_, true};
}

}  // namespace gossamer::runtime
