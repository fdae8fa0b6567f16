#include "schedule/list.h"

#include <algorithm>
#include <charconv>

namespace gossamer::schedule {
namespace {

std::string_view stripped(std::string_view text) {
  const size_t first = text.find_first_not_of(" \n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

// Letters, digits, _ and single dots, then ticks.
bool is_name(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('\''));
  if (name.empty() || name.front() == '.' || name.back() == '.' ||
      name.find("..") != std::string_view::npos)
    return false;
  return std::ranges::all_of(name,
                             [](char c) {
                               return c == '.' || c == '_' || (c >= '0' && c <= '9') ||
                                      (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
                             }) &&
         text.find_first_not_of('\'', name.size()) == std::string_view::npos;
}

Result<Call> parse_call(std::string_view text) {
  const size_t open = text.find('('), close = text.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return fail("a step is a primitive with its loops in parentheses");
  Call call{std::string(stripped(text.substr(0, open))), {}, {}};
  for (const std::string_view word : pieces_of(text.substr(open + 1, close - open - 1), ','))
    call.arguments.emplace_back(word);
  const std::string_view rest = stripped(text.substr(close + 1));
  if (rest.empty()) return call;
  if (!rest.starts_with("->")) return fail("after the parentheses follows \"->\" or nothing");
  for (const std::string_view name : pieces_of(rest.substr(2), ',')) {
    if (!is_name(name)) return fail(cat("\"", name, "\" is no name of a loop"));
    call.made.emplace_back(name);
  }
  return call;
}

}  // namespace

std::optional<int64_t> number_of(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string_view> pieces_of(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  if (stripped(text).empty()) return pieces;
  for (size_t end = 0; end != std::string_view::npos; text.remove_prefix(end + 1)) {
    end = text.find(separator);
    pieces.push_back(stripped(text.substr(0, end)));
    if (end == std::string_view::npos) break;
  }
  return pieces;
}

std::string names_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!name.empty()) text += cat(text.empty() ? "" : ", ", name);
  }
  return text;
}

void add_text(List& list, std::string_view text, const std::vector<std::string>& values) {
  std::string calls;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '$') {
      calls += values[static_cast<size_t>(text[++at] - '0')];
    } else {
      calls += text[at];
    }
  }
  for (const std::string_view one : pieces_of(calls, ';')) {
    auto call = parse_call(one);
    GS_CHECK(call, calls, ": ", call.error().to_string());
    std::erase(call->arguments, "");
    if (!call->arguments.empty() || !call->made.empty()) list.calls.push_back(*std::move(call));
  }
}

std::string to_string(const Call& call) {
  const std::string made = names_of(call.made);
  return cat(call.word, "(", names_of(call.arguments), ")", made.empty() ? "" : " -> ", made);
}

std::string to_string(const List& list) {
  std::string text = list.pattern;
  for (const Call& call : list.calls)
    text += cat(&call == list.calls.data() ? ": " : "; ", to_string(call));
  return text;
}

std::string to_string(const Point& point) {
  std::string text;
  for (const List& list : point) text += cat(text.empty() ? "" : " | ", to_string(list));
  return text;
}

Result<List> parse_list(std::string_view text) {
  const size_t colon = text.find(':');
  List list{std::string(stripped(text.substr(0, colon))), {}};
  if (colon == std::string_view::npos) return list;
  for (const std::string_view step : pieces_of(text.substr(colon + 1), ';')) {
    auto call = parse_call(step);
    if (!call) {
      call.error().where = std::string(step);
      return std::unexpected(call.error());
    }
    list.calls.push_back(*std::move(call));
  }
  return list;
}

Result<Point> parse_point(std::string_view text) {
  Point point;
  for (const std::string_view one : pieces_of(text, '|')) {
    GS_ASSIGN(List list, parse_list(one));
    if (list.pattern.empty() || list.pattern.find_first_of(" =") != std::string::npos)
      return fail(cat("\"", list.pattern, "\" is not the name of a pattern"),
                  "a point is a list: \"map: fuse(..) -> item; bind(item, grid)\"");
    point.push_back(std::move(list));
  }
  if (point.empty()) return fail("a point begins with its pattern");
  return point;
}

std::vector<Place> places_of(const Point& point, std::string_view loop) {
  std::vector<Place> places;
  for (size_t l = 0; l < point.size(); ++l) {
    for (size_t c = 0; c < point[l].calls.size(); ++c) {
      const Call& call = point[l].calls[c];
      if (call.word != "split" && call.word != "tile") continue;
      for (size_t k = 1; k < call.made.size() && k < call.arguments.size(); ++k) {
        const bool ends = loop.starts_with('.') && call.made[k].ends_with(loop);
        if (ends || call.made[k] == loop) places.push_back({l, c, k});
      }
    }
  }
  return places;
}

std::string_view argument_at(const Point& point, const Place& place) {
  if (place.list >= point.size() || place.call >= point[place.list].calls.size()) return {};
  const std::vector<std::string>& arguments = point[place.list].calls[place.call].arguments;
  return place.argument < arguments.size() ? std::string_view(arguments[place.argument])
                                           : std::string_view();
}

void set_argument(Point& point, const Place& place, std::string value) {
  if (place.list >= point.size() || place.call >= point[place.list].calls.size()) return;
  std::vector<std::string>& arguments = point[place.list].calls[place.call].arguments;
  arguments.resize(std::max(arguments.size(), place.argument + 1));
  arguments[place.argument] = std::move(value);
}

std::optional<int64_t> factor_of(const Point& point, std::string_view loop) {
  const std::vector<Place> places = places_of(point, loop);
  if (places.empty()) return std::nullopt;
  return number_of(argument_at(point, places[0]));
}

std::optional<size_t> limit_of(const Call& call) {
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    if (number_of(call.arguments[i])) return i;
  }
  return std::nullopt;
}

}  // namespace gossamer::schedule
