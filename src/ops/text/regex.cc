#include "ops/text/regex.h"

#include <algorithm>
#include <array>
#include <map>

#include "ops/text/regex_parse.h"

namespace gossamer::ops {
namespace {

constexpr size_t most_places = 200'000;  // of the automaton that is not deterministic
constexpr size_t most_states = 10'000;
constexpr size_t most_steps = 100'000'000;  // of making it deterministic

// A place of the automaton that is not deterministic yet: a byte, a fork, or a condition.
struct Place {
  enum Kind : uint8_t { byte, fork, condition, match } kind = match;
  uint8_t low = 0, high = 0;
  RegexAssert assertion = RegexAssert::text_begin;
  int next = -1, other = -1;  // other: of a fork
};

using Side = RegexSide;
constexpr std::array<Side, 4> sides = {Side::nothing, Side::word, Side::newline, Side::other};

bool holds(RegexAssert kind, Side before, Side behind) {
  const bool boundary = (before == Side::word) != (behind == Side::word);
  switch (kind) {
    case RegexAssert::text_begin:
      return before == Side::nothing;
    case RegexAssert::text_end:
      return behind == Side::nothing;
    case RegexAssert::line_begin:
      return before == Side::nothing || before == Side::newline;
    case RegexAssert::line_end:
      return behind == Side::nothing || behind == Side::newline;
    case RegexAssert::word_boundary:
      return boundary;
    case RegexAssert::no_word_boundary:
      return !boundary;
  }
  return false;
}

// Thompson's construction, from the end to the beginning: each part is made in front of a place.
class Network {
 public:
  std::vector<Place> places;
  bool has_conditions = false;

  Result<int> before(const RegexNode& node, int next) {
    if (places.size() > most_places) return fail("the pattern is too large");
    switch (node.kind) {
      case RegexNode::empty:
        return next;
      case RegexNode::set:
        return letters(node.letters, next);
      case RegexNode::sequence:
        for (size_t i = node.parts.size(); i-- > 0;) {
          GS_ASSIGN(next, before(node.parts[i], next));
        }
        return next;
      case RegexNode::choice: {
        int first = -1;
        for (size_t i = node.parts.size(); i-- > 0;) {
          GS_ASSIGN(const int one, before(node.parts[i], next));
          first = first < 0 ? one : fork(one, first);
        }
        return first;
      }
      case RegexNode::repeat:
        return repeat(node, next);
      case RegexNode::assertion: {
        has_conditions = true;
        Place place;
        place.kind = Place::condition;
        place.assertion = node.assertion_kind;
        place.next = next;
        return add(place);
      }
    }
    return next;
  }

  int add(Place place) {
    places.push_back(place);
    return static_cast<int>(places.size()) - 1;
  }

 private:
  int fork(int one, int other) {
    Place place;
    place.kind = Place::fork;
    place.next = one;
    place.other = other;
    return add(place);
  }
  int byte(int low, int high, int next) {
    Place place;
    place.kind = Place::byte;
    place.low = static_cast<uint8_t>(low);
    place.high = static_cast<uint8_t>(high);
    place.next = next;
    return add(place);
  }

  Result<int> repeat(const RegexNode& node, int next) {
    const RegexNode& inner = node.parts[0];
    if (node.high < 0) {
      const int loop = fork(-1, next);
      GS_ASSIGN(const int body, before(inner, loop));
      places[static_cast<size_t>(loop)].next = body;
      next = loop;
    }
    // Each optional one leads to those behind it, or past all of them.
    const int past = next;
    for (int i = node.low; i < node.high; ++i) {
      GS_ASSIGN(const int body, before(inner, next));
      next = fork(body, past);
    }
    for (int i = 0; i < node.low; ++i) {
      GS_ASSIGN(next, before(inner, next));
    }
    return next;
  }

  // Letters as sequences of byte ranges; none match where there are no letters.
  Result<int> letters(const LetterSet& set, int next) {
    int first = -1;
    const auto either = [&](int one) { first = first < 0 ? one : fork(one, first); };
    for (const LetterRange& range : set) {
      constexpr std::array<int32_t, 4> ends = {0x7f, 0x7ff, 0xffff, 0x10ffff};
      int32_t low = range.low;
      for (int size = 1; size <= 4; ++size) {
        const int32_t high = std::min(range.high, ends[static_cast<size_t>(size - 1)]);
        if (low > high) continue;
        coded(low, high, size, next, either);
        low = high + 1;
      }
      if (places.size() > most_places) return fail("the pattern is too large");
    }
    return first < 0 ? byte(1, 0, next) : first;
  }

  // A range of letters of `size` bytes, cut so that all bytes behind the first that differs are
  // any.
  template <class F>
  void coded(int32_t low, int32_t high, int size, int next, const F& either) {
    for (int rest = 1; rest < size; ++rest) {
      const int32_t mask = (1 << (6 * rest)) - 1;
      if ((low & ~mask) == (high & ~mask)) continue;
      if (low & mask) {
        coded(low, low | mask, size, next, either);
        coded((low | mask) + 1, high, size, next, either);
        return;
      }
      if ((high & mask) != mask) {
        coded(low, (high & ~mask) - 1, size, next, either);
        coded(high & ~mask, high, size, next, either);
        return;
      }
    }
    constexpr std::array<int, 4> leads = {0, 0xc0, 0xe0, 0xf0};
    for (int at = size - 1; at >= 0; --at) {
      const int shift = 6 * (size - 1 - at);
      const int lead = at == 0 ? leads[static_cast<size_t>(size - 1)] : 0x80;
      const int mask = at == 0 ? 0xff : 0x3f;
      next = byte(lead | (low >> shift & mask), lead | (high >> shift & mask), next);
    }
    either(next);
  }
};

// Subsets of places, one at a time.
class Determiner {
 public:
  explicit Determiner(const Network& network) : network_(network) {
    std::array<bool, 257> starts{};
    starts[0] = true;
    for (const Place& place : network.places) {
      if (place.kind != Place::byte || place.low > place.high) continue;
      starts[place.low] = starts[place.high + 1u] = true;
    }
    for (int byte = 1; byte < 256 && network.has_conditions; ++byte) {
      if (regex_side_of(byte) != regex_side_of(byte - 1)) starts[static_cast<size_t>(byte)] = true;
    }
    automaton_.classes.resize(256);
    for (size_t byte = 0; byte < 256; ++byte) {
      if (starts[byte]) samples_.push_back(static_cast<int>(byte));
      automaton_.classes[byte] = static_cast<int32_t>(samples_.size()) - 1;
    }
    automaton_.class_count = static_cast<int32_t>(samples_.size());
  }

  // Also begins inside of a text.
  Result<RegexSearch> search(int start) {
    RegexSearch search;
    for (const Side side : sides) {
      search.starts[static_cast<size_t>(side)] =
          number({{start}, network_.has_conditions ? side : Side::nothing});
    }
    GS_ASSIGN(search.automaton, run(start));
    for (size_t at = 0; at < order_.size(); ++at) {
      for (const Side side : sides) search.accepts_before.push_back(accepts(order_[at], side));
    }
    for (const int32_t first : search.starts) {
      for (size_t side = 0; side < sides.size(); ++side) {
        const size_t at = static_cast<size_t>(first) * sides.size() + side;
        search.matches_nothing = search.matches_nothing || search.accepts_before[at] != 0;
      }
    }
    search.longest = longest_of(search);
    return search;
  }

  Result<RegexAutomaton> run(int start) {
    number({{start}, Side::nothing});
    for (size_t at = 0; at < order_.size(); ++at) {
      if (order_.size() > most_states || steps_ > most_steps)
        return fail("the pattern takes too many states");
      const State state = order_[at];
      for (int byte : samples_) {
        State next;
        next.before = network_.has_conditions ? regex_side_of(byte) : Side::nothing;
        for (int place : closure(state, regex_side_of(byte))) {
          const Place& reached = network_.places[static_cast<size_t>(place)];
          if (reached.kind == Place::byte && byte >= reached.low && byte <= reached.high)
            next.places.push_back(reached.next);
        }
        std::ranges::sort(next.places);
        const auto twice = std::ranges::unique(next.places);
        next.places.erase(twice.begin(), twice.end());
        if (next.places.empty()) next.before = Side::nothing;
        automaton_.next.push_back(number(std::move(next)));
      }
      automaton_.accepts.push_back(accepts(state, Side::nothing));
    }
    return std::move(automaton_);
  }

 private:
  struct State {
    std::vector<int> places;  // sorted, before forks and conditions are followed
    Side before = Side::nothing;
    auto operator<=>(const State&) const = default;
  };

  bool accepts(const State& state, Side behind) {
    return std::ranges::any_of(closure(state, behind), [&](int place) {
      return network_.places[static_cast<size_t>(place)].kind == Place::match;
    });
  }

  // The longest path from a start to a state that accepts; -1 where there is no longest one.
  static int64_t longest_of(const RegexSearch& search) {
    const size_t states = search.automaton.accepts.size();
    const auto count = static_cast<size_t>(search.automaton.class_count);
    std::vector<bool> useful(states, false);
    for (size_t at = 0; at < search.accepts_before.size(); ++at)
      useful[at / 4] = useful[at / 4] || search.accepts_before[at] != 0;
    const auto next = [&](size_t state, size_t kind) {
      return static_cast<size_t>(search.automaton.next[state * count + kind]);
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t state = 0; state < states; ++state) {
        for (size_t kind = 0; kind < count && !useful[state]; ++kind) {
          if (!useful[next(state, kind)]) continue;
          useful[state] = changed = true;
        }
      }
    }
    std::vector<bool> now(states, false);
    for (const int32_t first : search.starts) now[static_cast<size_t>(first)] = true;
    for (size_t length = 0; length <= states; ++length) {
      std::vector<bool> reached(states, false);
      bool any = false;
      for (size_t state = 0; state < states; ++state) {
        for (size_t kind = 0; now[state] && kind < count; ++kind) {
          if (!useful[next(state, kind)]) continue;
          reached[next(state, kind)] = any = true;
        }
      }
      if (!any) return static_cast<int64_t>(length);
      now = std::move(reached);
    }
    return -1;
  }

  int32_t number(State state) {
    const auto [found, fresh] = numbers_.try_emplace(state, static_cast<int32_t>(order_.size()));
    if (fresh) order_.push_back(std::move(state));
    return found->second;
  }

  std::vector<int> closure(const State& state, Side behind) {
    seen_.resize(network_.places.size(), 0);
    ++turn_;
    std::vector<int> rest = state.places, reached;
    while (!rest.empty()) {
      const int at = rest.back();
      rest.pop_back();
      ++steps_;
      if (seen_[static_cast<size_t>(at)] == turn_) continue;
      seen_[static_cast<size_t>(at)] = turn_;
      const Place& place = network_.places[static_cast<size_t>(at)];
      if (place.kind == Place::fork) {
        rest.push_back(place.next);
        rest.push_back(place.other);
      } else if (place.kind == Place::condition) {
        if (holds(place.assertion, state.before, behind)) rest.push_back(place.next);
      } else {
        reached.push_back(at);
      }
    }
    return reached;
  }

  const Network& network_;
  std::vector<int> samples_;  // a byte of each class
  std::map<State, int32_t> numbers_;
  std::vector<State> order_;
  std::vector<size_t> seen_;  // the turn in which a place was reached last
  size_t turn_ = 0, steps_ = 0;
  RegexAutomaton automaton_;
};

}  // namespace

RegexSide regex_side_of(int byte) {
  const bool word = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
                    (byte >= 'a' && byte <= 'z');
  return word ? RegexSide::word : byte == '\n' ? RegexSide::newline : RegexSide::other;
}

int64_t RegexSearch::match_at(std::string_view text, size_t place) const {
  const auto side = [&](size_t at) {
    return static_cast<size_t>(at < text.size() ? regex_side_of(static_cast<uint8_t>(text[at]))
                                                : RegexSide::nothing);
  };
  auto state = static_cast<size_t>(starts[place == 0 ? 0 : side(place - 1)]);
  int64_t found = accepts_before[state * 4 + side(place)] ? 0 : -1;
  for (size_t at = place; at < text.size(); ++at) {
    const auto kind = static_cast<size_t>(automaton.classes[static_cast<uint8_t>(text[at])]);
    state = static_cast<size_t>(
        automaton.next[state * static_cast<size_t>(automaton.class_count) + kind]);
    if (accepts_before[state * 4 + side(at + 1)]) found = static_cast<int64_t>(at + 1 - place);
  }
  return found;
}

bool RegexAutomaton::matches(std::string_view text) const {
  size_t state = 0;
  for (char byte : text) {
    const auto kind = static_cast<size_t>(classes[static_cast<uint8_t>(byte)]);
    state = static_cast<size_t>(next[state * static_cast<size_t>(class_count) + kind]);
  }
  return accepts[state] != 0;
}

namespace {

// Returns the place where the pattern begins.
Result<int> add_pattern(std::string_view pattern, Network& network) {
  GS_ASSIGN(const RegexNode tree, parse_regex(pattern));
  const int match = network.add({});
  return network.before(tree, match);
}

}  // namespace

Result<RegexAutomaton> compile_regex(std::string_view pattern) {
  Network network;
  GS_ASSIGN(const int start, add_pattern(pattern, network));
  return Determiner(network).run(start);
}

Result<RegexSearch> compile_regex_search(std::string_view pattern) {
  Network network;
  GS_ASSIGN(const int start, add_pattern(pattern, network));
  return Determiner(network).search(start);
}

}  // namespace gossamer::ops
