// Reads JSON from an unknown source: each field is checked, and errors name it. The counterpart of
// web/runtime/src/package/fields.ts, with the same messages.
#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "package/package.h"

namespace gossamer::runtime {

using Json = rapidjson::Value;

// Beyond what a double counts exactly, and with it JavaScript.
constexpr int64_t any_count = int64_t{1} << 53;

// A file of a package: 1 to 128 of the characters A-Z a-z 0-9 _ . -, not beginning with . or -.
bool is_plain_name(std::string_view name);

// An integer below 2^53, however it is written (2, 2.0, 2e0).
std::optional<int64_t> integer_of(const Json& json);

// The fields of an object or the items of a list. The first thing that is wrong is kept in
// `problem`, and what follows may be nothing.
class Fields {
 public:
  struct Key {
    Key(const char* field) : name(field) {}
    Key(rapidjson::SizeType item) : at(item) {}
    const char* name = nullptr;
    rapidjson::SizeType at = 0;
  };

  Fields(const Json& json, std::string where, std::string& problem, bool list = false);
  bool ok() const { return problem_.empty(); }
  void wrong(Key key, std::string_view wanted) const;
  // Of fields with one name the last counts, as in JavaScript.
  const Json* find(Key key) const;
  bool has(Key key) const { return find(key) != nullptr; }
  std::string text(Key key) const;
  std::string plain_name(Key key) const;
  bool flag(Key key) const;
  // An integer in [least, below).
  int64_t count(Key key, int64_t below = any_count, int64_t least = 0) const;
  // The same, or a value of the plan.
  package::Number number(Key key, int64_t plan_values, int64_t below = any_count,
                         int64_t least = 0) const;
  ir::DType dtype(Key key) const;
  Fields fields(Key key) const;
  // A list, absent meaning empty, of `length` items if that is given: each(items, at).
  template <class Each>
  void list(Key key, Each each, std::optional<rapidjson::SizeType> length = {}) const {
    const Fields items = items_of(key);
    if (length && items.size() != *length) wrong(key, cat(*length, " items long"));
    for (rapidjson::SizeType at = 0; at < items.size() && ok(); ++at) each(items, at);
  }
  template <class Each>
  void objects(Key key, Each each) const {
    list(key, [&](const Fields& items, rapidjson::SizeType at) { return each(items.fields(at)); });
  }

 private:
  std::string place_of(Key key) const;
  rapidjson::SizeType size() const { return json_->IsArray() ? json_->Size() : 0; }
  Fields items_of(Key key) const;

  const Json* json_;
  std::string where_;
  std::string& problem_;
};

}  // namespace gossamer::runtime
