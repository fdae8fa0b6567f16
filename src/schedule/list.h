// Schedules as lists of calls: default policies write them, a search changes their arguments, and
// records store them.
//
//   point    = list ("|" list)*
//   list     = PATTERN [":" call (";" call)*]
//   call     = WORD "(" [argument ("," argument)*] ")" ["->" LOOP ("," LOOP)*]
//
// apply.h says what the words do. A trace (trace.h) is a list of primitives alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gossamer::schedule {

struct Call {
  std::string word;
  std::vector<std::string> arguments;  // empty ones are not printed
  std::vector<std::string> made;       // names of the loops that it makes
  bool operator==(const Call&) const = default;
};

struct List {
  std::string pattern;
  std::vector<Call> calls;
  bool operator==(const List&) const = default;
};

// The lists of a group: one for stages with the same points, one a member for those over the same
// rows.
using Point = std::vector<List>;

std::string to_string(const Call& call);
std::string to_string(const List& list);
std::string to_string(const Point& point);

// Names with commas between them, without the empty ones.
std::string names_of(const std::vector<std::string>& names);
// Adds the calls of a text with values in the places of $0, $1 ...: add(list, "unroll($0, 4)",
// axis). Empty arguments are left out, and so are calls that then name no loops.
void add_text(List& list, std::string_view text, const std::vector<std::string>& values);
template <class... Values>
void add(List& list, std::string_view text, const Values&... values) {
  add_text(list, text, {cat(values)...});
}

// Errors: a pattern of several words, a call without parentheses, text after them that is not an
// arrow, an invalid name.
Result<List> parse_list(std::string_view text);
Result<Point> parse_point(std::string_view text);

// An argument of a call. As a factor it makes the loop at the same place of Call::made.
struct Place {
  size_t list, call, argument;
};
// The factors of loops with this name, or, after a dot, with this ending: "row", ".thread".
std::vector<Place> places_of(const Point& point, std::string_view loop);
// "": the call has fewer arguments.
std::string_view argument_at(const Point& point, const Place& place);
void set_argument(Point& point, const Place& place, std::string value);
// The first of these factors; none: the point has no such loop.
std::optional<int64_t> factor_of(const Point& point, std::string_view loop);
// The place of a number after a call's loops, such as how far it unrolls; none: it has no number.
std::optional<size_t> limit_of(const Call& call);

// A number in full, such as "16".
std::optional<int64_t> number_of(std::string_view text);

// Text between separators, without blanks around it.
std::vector<std::string_view> pieces_of(std::string_view text, char separator);

}  // namespace gossamer::schedule
