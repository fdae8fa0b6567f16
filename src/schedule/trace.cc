#include "schedule/trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace gossamer::schedule {
namespace {

constexpr std::array<std::string_view, 12> primitives{
    "split", "fuse",       "unit",    "reorder", "unroll",   "vectorize",
    "bind",  "accumulate", "rfactor", "peel",    "stage_in", "cache"};
constexpr std::array<std::string_view, 6> tails{"exact", "guard", "mask",
                                                "shift", "clamp", "round_up"};

std::string_view stripped(std::string_view text) {
  const size_t first = text.find_first_not_of(" \n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
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

std::string joined(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string text;
  for (const std::string& piece : pieces) text += cat(text.empty() ? "" : separator, piece);
  return text;
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

// One step of a trace, before its loops are known.
struct Words {
  std::string_view text, name;
  std::vector<std::string_view> arguments, made;
};

Result<Words> words_of(std::string_view step) {
  const size_t open = step.find('('), close = step.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return fail("a step is a primitive with its loops in parentheses");
  Words words{step,
              stripped(step.substr(0, open)),
              pieces_of(step.substr(open + 1, close - open - 1), ','),
              {}};
  const std::string_view rest = stripped(step.substr(close + 1));
  if (rest.empty()) return words;
  if (!rest.starts_with("->")) return fail("after the parentheses follows \"->\" or nothing");
  words.made = pieces_of(rest.substr(2), ',');
  return words;
}

// Applies steps to a schedule.
class Reader {
 public:
  explicit Reader(Schedule& schedule) : schedule_(schedule) {}

  Result<> apply(std::string_view step) {
    GS_ASSIGN(const Words words, words_of(step));
    const auto found = std::ranges::find(primitives, words.name);
    if (found == primitives.end())
      return fail(cat("there is no primitive \"", words.name, "\""),
                  "there are split, fuse, unit, reorder, unroll, vectorize, bind, accumulate, "
                  "rfactor, peel, stage_in and cache");
    const auto primitive = static_cast<Primitive>(found - primitives.begin());
    GS_TRY(read(words, primitive));
    GS_TRY(run(primitive));
    return compare(words.made);
  }

 private:
  Result<LoopId> loop_named(std::string_view name) const {
    std::vector<std::string> known;
    for (const Walk& walk : schedule_.nest().walks) {
      for (LoopId id : walk.order) {
        if (schedule_.nest().loop(id).name == name) return id;
        known.push_back(schedule_.nest().loop(id).name);
      }
    }
    return fail(cat("there is no loop \"", name, "\""), cat("there are ", joined(known, ", ")));
  }

  // Loops first, then numbers, then a word of the primitive.
  Result<> read(const Words& words, Primitive primitive) {
    std::span<const std::string_view> rest = words.arguments;
    if (!rest.empty() && primitive == Primitive::bind) {
      kind_ = rest.back() == "grid"    ? ir::LoopKind::grid
              : rest.back() == "group" ? ir::LoopKind::group
                                       : ir::LoopKind::serial;
      rest = rest.first(rest.size() - 1);
    }
    if (primitive == Primitive::split && rest.size() > 1) {
      const auto tail = std::ranges::find(tails, rest.back());
      if (tail != tails.end()) {
        tail_ = static_cast<Tail>(tail - tails.begin());
        rest = rest.first(rest.size() - 1);
      }
      GS_TRY(read_factors(rest.subspan(1), "neither a factor nor a tail",
                          "tails are guard, mask, shift, clamp and round_up"));
      rest = rest.first(1);
    }
    const bool takes_operand = primitive == Primitive::stage_in || primitive == Primitive::cache;
    if (takes_operand && rest.size() > 1) {
      ahead_ = primitive == Primitive::stage_in && rest.back() == "ahead";
      if (ahead_) rest = rest.first(rest.size() - 1);
      GS_TRY(read_factors(rest.subspan(1), "no operand", "operands are 0 and 1"));
      rest = rest.first(1);
    }
    for (std::string_view name : rest) {
      GS_ASSIGN(const LoopId loop, loop_named(name));
      loops_.push_back(loop);
    }
    for (std::string_view name : words.made) {
      if (!is_name(name)) return fail(cat("\"", name, "\" is no name of a loop"));
      names_.emplace_back(name);
    }
    const bool single = primitive == Primitive::split || primitive == Primitive::vectorize ||
                        primitive == Primitive::bind || primitive == Primitive::rfactor ||
                        primitive == Primitive::peel || takes_operand;
    const bool names = primitive == Primitive::fuse || primitive == Primitive::unit;
    if (single && loops_.size() != 1) return fail(cat(words.name, " takes one loop"));
    if (primitive == Primitive::accumulate && loops_.size() > 1)
      return fail("accumulate takes one loop or none");
    if (takes_operand && factors_.size() != 1)
      return fail(cat(words.name, " takes a loop and an operand"));
    if (names && names_.size() != 1)
      return fail(cat(words.name, " makes one loop, named after \"->\""));
    return {};
  }

  Result<> read_factors(std::span<const std::string_view> numbers, std::string_view what,
                        std::string_view hint) {
    for (std::string_view number : numbers) {
      int64_t& factor = factors_.emplace_back();
      const auto [end, error] =
          std::from_chars(number.data(), number.data() + number.size(), factor);
      if (error != std::errc() || end != number.data() + number.size())
        return fail(cat("\"", number, "\" is ", what), std::string(hint));
    }
    return {};
  }

  Result<> run(Primitive primitive) {
    switch (primitive) {
      case Primitive::split: {
        GS_ASSIGN(made_, schedule_.split(loops_[0], factors_, tail_, names_));
        return {};
      }
      case Primitive::fuse: {
        GS_ASSIGN(const LoopId loop, schedule_.fuse(loops_, names_[0]));
        made_ = {loop};
        return {};
      }
      case Primitive::unit: {
        GS_ASSIGN(const LoopId loop, schedule_.unit(names_[0]));
        made_ = {loop};
        return {};
      }
      case Primitive::reorder:
        return schedule_.reorder(loops_);
      case Primitive::unroll:
        return schedule_.unroll(loops_);
      case Primitive::vectorize:
        return schedule_.vectorize(loops_[0]);
      case Primitive::bind:
        return schedule_.bind(loops_[0], kind_);
      case Primitive::accumulate:
        return schedule_.accumulate(loops_.empty() ? std::nullopt : std::optional(loops_[0]));
      case Primitive::rfactor:
        return schedule_.rfactor(loops_[0]);
      case Primitive::peel: {
        GS_ASSIGN(made_, schedule_.peel(loops_[0]));
        return {};
      }
      case Primitive::stage_in:
        return schedule_.stage_in(loops_[0], static_cast<int>(factors_[0]), ahead_);
      case Primitive::cache:
        return schedule_.cache(loops_[0], static_cast<int>(factors_[0]));
    }
    return {};
  }

  // Names after the arrow are those that the loops got: a taken one would have gained a tick.
  Result<> compare(const std::vector<std::string_view>& names) const {
    if (names.empty()) return {};
    if (names.size() != made_.size())
      return fail(cat("it makes ", made_.size(), " loops, and ", names.size(), " are named"));
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string& got = schedule_.nest().loop(made_[i]).name;
      if (got != names[i])
        return fail(cat("the loop named \"", names[i], "\" is called \"", got, "\""),
                    "names of loops differ, by ticks if nothing else");
    }
    return {};
  }

  Schedule& schedule_;
  std::vector<LoopId> loops_, made_;
  std::vector<int64_t> factors_;
  std::vector<std::string> names_;
  Tail tail_ = Tail::exact;
  ir::LoopKind kind_ = ir::LoopKind::serial;
  bool ahead_ = false;
};

std::string text_of(const Nest& nest, const Step& step) {
  std::vector<std::string> arguments, made;
  for (LoopId loop : step.loops) arguments.push_back(nest.loop(loop).name);
  for (int64_t factor : step.factors) arguments.push_back(cat(factor));
  if (step.tail != Tail::exact) arguments.emplace_back(name_of(step.tail));
  if (step.primitive == Primitive::bind) arguments.emplace_back(ir::name_of(step.kind));
  if (step.ahead) arguments.emplace_back("ahead");
  for (LoopId loop : step.made) made.push_back(nest.loop(loop).name);
  std::string text = cat(name_of(step.primitive), "(", joined(arguments, ", "), ")");
  if (step.primitive == Primitive::split && made == part_names(arguments[0])) made.clear();
  if (!made.empty()) text += cat(" -> ", joined(made, ", "));
  return text;
}

}  // namespace

std::string_view name_of(Primitive primitive) { return primitives[static_cast<size_t>(primitive)]; }
std::string_view name_of(Tail tail) { return tails[static_cast<size_t>(tail)]; }

std::string to_string(const Schedule& schedule) {
  std::string text = schedule.pattern();
  for (const Step& step : schedule.steps())
    text += cat(&step == schedule.steps().data() ? ": " : "; ", text_of(schedule.nest(), step));
  return text;
}

Result<Schedule> parse_schedule(const ops::Stage& stage, const Capabilities& capabilities,
                                std::string_view text) {
  const size_t colon = text.find(':');
  Schedule schedule(stage, capabilities, std::string(stripped(text.substr(0, colon))));
  if (colon == std::string_view::npos) return schedule;
  for (std::string_view step : pieces_of(text.substr(colon + 1), ';')) {
    if (auto done = Reader(schedule).apply(step); !done) {
      done.error().where = std::string(step);
      return std::unexpected(done.error());
    }
  }
  return schedule;
}

std::string to_string(const std::vector<Schedule>& schedules) {
  std::string text;
  for (const Schedule& schedule : schedules)
    text += cat(text.empty() ? "" : " | ", to_string(schedule));
  return text;
}

Result<std::vector<Schedule>> parse_schedules(const Group& group, const Capabilities& capabilities,
                                              std::string_view text) {
  const std::vector<std::string_view> texts = pieces_of(text, '|');
  const size_t count = group.form == GroupForm::rows ? group.members.size() : 1;
  if (texts.size() != count)
    return fail(cat(texts.size(), " schedules for a group that takes ", count));
  std::vector<Schedule> schedules;
  for (size_t i = 0; i < count; ++i) {
    const ops::Stage& stage = count == 1 ? group.last() : group.members[i].stage;
    GS_ASSIGN(Schedule schedule, parse_schedule(stage, capabilities, texts[i]));
    schedules.push_back(std::move(schedule));
  }
  return schedules;
}

}  // namespace gossamer::schedule
