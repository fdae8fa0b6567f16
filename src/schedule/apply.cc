#include "schedule/apply.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <span>

#include "ir/build.h"
#include "online/online.h"
#include "schedule/lower.h"
#include "schedule/texels.h"
#include "schedule/tile.h"
#include "stages/access.h"
#include "stages/pattern.h"

namespace gossamer::schedule {
namespace {

using stages::At;
using stages::Group;
using stages::Member;
using target::Capabilities;

using Loops = std::vector<LoopId>;

constexpr std::array<std::string_view, 12> primitives{
    "split", "fuse",       "unit",    "reorder", "unroll",   "vectorize",
    "bind",  "accumulate", "rfactor", "peel",    "stage_in", "cache"};
constexpr std::array<std::string_view, 6> tails{"exact", "guard", "mask",
                                                "shift", "clamp", "round_up"};

constexpr int64_t most_unrolled = 64, largest_block = int64_t{1} << 30;

bool contains(const Loops& loops, LoopId id) { return std::ranges::find(loops, id) != loops.end(); }

// A call's loops, numbers and last word.
struct Operands {
  Loops loops;
  bool misses = false;  // a loop that does not exist is named, too
  std::vector<int64_t> numbers;
  std::string_view word;
};

class Interpreter {
 public:
  Interpreter(Schedule& schedule, Names names) : s_(schedule), by_place_(names == Names::by_place) {
    const auto name = [&](const std::string& place, LoopId id) {
      axes_[place] = s_.nest().loop(id).var->name;
      labels_[by_place_ ? place : s_.nest().loop(id).name] = {id};
    };
    const Nest& nest = s_.nest();
    for (size_t i = 0; i < nest.axes.size(); ++i) name(cat("i", i), nest.axes[i]);
    for (size_t r = 0; r < nest.walks[0].reduced.size(); ++r)
      name(cat("k", r), nest.walks[0].reduced[r]);
  }

  Result<> apply(const Call& call) {
    if (by_place_ && call.word == "texels") return texels(call);
    const bool tile = by_place_ && call.word == "tile";
    const auto found = std::ranges::find(primitives, tile ? "split" : call.word);
    if (found == primitives.end())
      return fail(cat("there is no primitive \"", call.word, "\""),
                  "there are split, fuse, unit, reorder, unroll, vectorize, bind, accumulate, "
                  "rfactor, peel, stage_in and cache");
    const auto primitive = static_cast<Primitive>(found - primitives.begin());
    GS_ASSIGN(const Operands operands, read(call, primitive));
    if (tile) return run_tile(call, operands);
    GS_ASSIGN(const Loops made,
              by_place_ ? run_by_place(call, primitive, operands) : run(call, primitive, operands));
    if (by_place_) {
      for (size_t i = 0; i < call.made.size(); ++i)
        labels_[call.made[i]] = i < made.size() ? Loops{made[i]} : Loops();
      return {};
    }
    return compare(call.made, made);
  }

 private:
  const Loop& loop(LoopId id) const { return s_.nest().loop(id); }
  std::optional<int64_t> extent(LoopId id) const { return ir::as_int(loop(id).extent); }
  bool is_step(LoopId id) const { return loop(id).reduction && !loop(id).partial; }

  // A list's name of a loop as the kernel's: "i1.tile" is "w.tile" where the axis is called w.
  std::string kernel_name(std::string_view label) const {
    if (!by_place_) return std::string(label);
    std::string name;
    for (const std::string_view part : pieces_of(label, '.')) {
      const auto axis = axes_.find(part);
      name += cat(name.empty() ? "" : ".", axis == axes_.end() ? part : axis->second);
    }
    return name;
  }

  // Standing loops, or none that exists. Null: there is no such name.
  const Loops* labelled(std::string_view name) const {
    const auto found = labels_.find(name);
    const auto stands = [&](LoopId id) { return s_.nest().stands(id); };
    return found != labels_.end() && std::ranges::all_of(found->second, stands) ? &found->second
                                                                                : nullptr;
  }

  Result<Loops> loops_called(const Call& call, const std::string& name) {
    if (by_place_ && name == "..") return outside_ ? *outside_ : others(call, false);
    if (by_place_ && name == "k..") return others(call, true);
    if (const Loops* loops = labelled(name)) return *loops;
    const size_t dot = std::min(name.find('.'), name.size());
    const Loops *outer = labelled(name.substr(0, dot)),
                *inner = by_place_ && dot < name.size() ? labelled(name.substr(dot + 1)) : nullptr;
    if (outer && inner && outer->size() == 1 && inner->size() == 1) {
      GS_ASSIGN(const LoopId fused, s_.fuse({(*outer)[0], (*inner)[0]}, kernel_name(name)));
      return labels_[name] = Loops{fused};
    }
    std::string known;
    for (const Walk& walk : s_.nest().walks) {
      for (LoopId id : walk.order) {
        for (const auto& [label, loops] : labels_)
          if (loops == Loops{id}) known += cat(known.empty() ? "" : ", ", label);
      }
    }
    return fail(cat("there is no loop \"", name, "\""), cat("there are ", known));
  }

  // Loops of the reduction, or over points, that a call does not name.
  Loops others(const Call& call, bool steps) const {
    Loops loops = texels_ && !steps ? *texels_ : s_.order();
    std::erase_if(loops, [&](LoopId id) {
      return (steps ? !is_step(id) : loop(id).reduction) ||
             std::ranges::any_of(call.arguments, [&](const std::string& name) {
               const Loops* named = labelled(name);
               return named && contains(*named, id);
             });
    });
    return loops;
  }

  // Loops come first, then numbers, then a word of the primitive.
  Result<Operands> read(const Call& call, Primitive primitive) {
    Operands operands;
    std::span<const std::string> rest = call.arguments;
    const auto take_word = [&](bool takes) {
      if (!takes || rest.empty()) return;
      operands.word = rest.back();
      rest = rest.first(rest.size() - 1);
    };
    const std::string_view last = rest.empty() ? std::string_view() : rest.back();
    const bool one_and_numbers = primitive == Primitive::split ||
                                 primitive == Primitive::stage_in || primitive == Primitive::cache;
    take_word(primitive == Primitive::bind || last.empty() ||
              (primitive == Primitive::stage_in && last == "ahead") ||
              (primitive == Primitive::split && std::ranges::find(tails, last) != tails.end()));
    const bool limits =
        by_place_ && (primitive == Primitive::unroll || primitive == Primitive::fuse);
    size_t loops = one_and_numbers ? std::min<size_t>(rest.size(), 1) : rest.size();
    if (limits && loops > 0 && limit_of(call)) --loops;
    int64_t block = 1;
    for (const std::string& number : rest.subspan(loops)) {
      int64_t& factor = operands.numbers.emplace_back();
      const auto [end, error] =
          std::from_chars(number.data(), number.data() + number.size(), factor);
      if (error != std::errc() || end != number.data() + number.size())
        return primitive == Primitive::split
                   ? fail(cat("\"", number, "\" is neither a factor nor a tail"),
                          "tails are guard, mask, shift, clamp and round_up")
                   : fail(cat("\"", number, "\" is no operand"), "operands are 0 and 1");
      if (factor <= largest_block) block *= std::max<int64_t>(factor, 1);
      if (factor > largest_block || block > largest_block)
        return fail(cat("factors make at most ", largest_block));
    }
    for (const std::string& name : rest.first(loops)) {
      GS_ASSIGN(const Loops named, loops_called(call, name));
      operands.loops.insert(operands.loops.end(), named.begin(), named.end());
      operands.misses |= named.empty();
    }
    const bool single = one_and_numbers || primitive == Primitive::vectorize ||
                        primitive == Primitive::bind || primitive == Primitive::rfactor ||
                        primitive == Primitive::peel;
    if (single && (loops != 1 || operands.loops.size() > 1))
      return fail(cat(call.word, " takes one loop"));
    if (one_and_numbers && primitive != Primitive::split && operands.numbers.size() != 1)
      return fail(cat(call.word, " takes a loop and an operand"));
    if ((primitive == Primitive::fuse || primitive == Primitive::unit) && call.made.size() != 1)
      return fail(cat(call.word, " makes one loop, named after \"->\""));
    return operands;
  }

  // A primitive with exactly these loops.
  Result<Loops> run(const Call& call, Primitive primitive, const Operands& o) {
    std::vector<std::string> names;
    for (const std::string& name : call.made) names.push_back(kernel_name(name));
    switch (primitive) {
      case Primitive::split:
        return s_.split(o.loops[0], o.numbers, tail_named(o.word).value_or(Tail::exact), names);
      case Primitive::fuse: {
        GS_ASSIGN(const LoopId fused, s_.fuse(o.loops, names[0]));
        return Loops{fused};
      }
      case Primitive::unit: {
        GS_ASSIGN(const LoopId unit, s_.unit(names[0]));
        return Loops{unit};
      }
      case Primitive::reorder:
        GS_TRY(s_.reorder(o.loops));
        break;
      case Primitive::unroll:
        GS_TRY(s_.unroll(o.loops));
        break;
      case Primitive::vectorize:
        GS_TRY(s_.vectorize(o.loops[0]));
        break;
      case Primitive::bind:
        GS_TRY(s_.bind(o.loops[0], o.word == "grid"    ? ir::LoopKind::grid
                                   : o.word == "group" ? ir::LoopKind::group
                                                       : ir::LoopKind::serial));
        break;
      case Primitive::accumulate:
        if (o.loops.size() > 1) return fail("accumulate takes one loop or none");
        GS_TRY(s_.accumulate(o.loops.empty() ? std::nullopt : std::optional(o.loops[0])));
        break;
      case Primitive::rfactor:
        GS_TRY(s_.rfactor(o.loops[0]));
        break;
      case Primitive::peel:
        return s_.peel(o.loops[0]);
      case Primitive::stage_in:
        GS_TRY(s_.stage_in(o.loops[0], static_cast<int>(o.numbers[0]), o.word == "ahead"));
        break;
      case Primitive::cache:
        GS_TRY(s_.cache(o.loops[0], static_cast<int>(o.numbers[0])));
        break;
    }
    return Loops();
  }

  // What depends on extents, and on loops that may not exist.
  Result<Loops> run_by_place(const Call& call, Primitive primitive, Operands o) {
    if (primitive == Primitive::reorder) return reorder(call, o.loops);
    if (primitive == Primitive::unroll) return unroll(call, o);
    if (primitive == Primitive::fuse) return fuse(call, std::move(o));
    if (primitive == Primitive::accumulate && !o.loops.empty()) {
      const auto place = [&](LoopId id) { return std::ranges::find(s_.order(), id); };
      o.loops = {std::ranges::min(o.loops, {}, place)};
    } else if (primitive != Primitive::accumulate && o.loops.empty() && o.misses) {
      return Loops();
    }
    if (primitive == Primitive::peel && !leaves_over(o.loops[0])) return Loops();
    if (primitive == Primitive::vectorize) GS_TRY(check_lanes(o.loops[0]));
    GS_ASSIGN(Loops made, run(call, primitive, o));
    if (primitive == Primitive::split) replace_texels(o.loops[0], made);
    return made;
  }

  Result<> run_tile(const Call& call, const Operands& o) {
    if (call.made.size() != o.numbers.size() + 1)
      return fail(cat("it becomes ", o.numbers.size() + 1, " loops, named by ", call.made.size()));
    for (const std::string& name : call.made) labels_[name] = {};
    if (o.loops.empty()) return {};
    labels_[call.made[0]] = {o.loops[0]};
    Call kept{"split", {}, {call.made[0]}};
    Operands factors{o.loops, false, {}, o.word};
    for (size_t i = 0; i < o.numbers.size(); ++i) {
      if (o.numbers[i] == 1) continue;
      factors.numbers.push_back(o.numbers[i]);
      kept.made.push_back(call.made[i + 1]);
    }
    if (factors.numbers.empty()) return {};
    if (o.word.empty()) factors.word = name_of(tail_of(o.loops[0]));
    GS_ASSIGN(const Loops made, run(kept, Primitive::split, factors));
    for (size_t i = 0; i < made.size(); ++i) labels_[kept.made[i]] = {made[i]};
    replace_texels(o.loops[0], made);
    return {};
  }

  static std::optional<Tail> tail_named(std::string_view word) {
    const auto found = std::ranges::find(tails, word);
    if (found == tails.end()) return std::nullopt;
    return static_cast<Tail>(found - tails.begin());
  }

  // How an axis ends, where its extent may be no multiple of a tile.
  Tail tail_of(LoopId id) const {
    if (loop(id).reduction) return Tail::guard;
    const Loops& axes = s_.nest().axes;
    const auto at = static_cast<int>(std::ranges::find(axes, id) - axes.begin());
    const stages::Stage& stage = s_.stage();
    if (at < static_cast<int>(axes.size())) {
      const ir::Layout& layout = stage.output->layout;
      const bool is_padded =
          stages::is_blocked(layout) &&
          stages::vector_dim(layout, static_cast<int>(stage.output->shape.size())) == at;
      if (!is_padded && skips_lanes(stage, at, s_.capabilities())) return Tail::guard;
      if (is_padded || stage.kind != stages::StageKind::reduce) return Tail::round_up;
    }
    return extent(id) ? Tail::shift : Tail::clamp;
  }

  Result<> texels(const Call& call) {
    if (call.made.size() != 2) return fail("it makes two loops, over layers and lanes");
    GS_ASSIGN(const Texels texels, split_by_layout(s_));
    texels_ = texels.grid;
    labels_[call.made[0]] = texels.layer ? Loops{*texels.layer} : Loops();
    labels_[call.made[1]] = texels.lane ? Loops{*texels.lane} : Loops();
    return {};
  }

  void replace_texels(LoopId split, const Loops& made) {
    if (!texels_ || !contains(*texels_, split)) return;
    texels_->insert(texels_->erase(std::ranges::find(*texels_, split)), made.begin(), made.end());
  }

  Result<Loops> reorder(const Call& call, const Loops& inside) {
    outside_ = others(call, false);
    Loops wanted = *outside_;
    wanted.insert(wanted.end(), inside.begin(), inside.end());
    const Loops& order = s_.order();
    if (!std::ranges::is_permutation(wanted, order))
      return fail("the order has each loop of the reduction once", "k.. are all others");
    // Without the loops at either end that stand where they should.
    const auto [first, differs] = std::ranges::mismatch(wanted, order);
    if (first == wanted.end()) return Loops();
    auto last = wanted.end();
    for (auto at = order.end(); *(last - 1) == *(at - 1); --at) --last;
    GS_TRY(s_.reorder({first, last}));
    return Loops();
  }

  Result<Loops> unroll(const Call& call, const Operands& o) {
    const int64_t most = o.numbers.empty() ? most_unrolled : o.numbers[0];
    if (most < 1 || most > most_unrolled)
      return fail(cat(most, " is not between 1 and ", most_unrolled));
    if (o.numbers.empty()) {
      for (const LoopId id : o.loops) {
        if (extent(id).value_or(1) > most)
          return fail(cat(*extent(id), " is not between 1 and ", most));
      }
      GS_TRY(unroll_loops(o.loops));
    } else if (call.arguments[0] != "k..") {
      GS_TRY(unroll_innermost(o.loops, most));
    } else {
      for (size_t walk = s_.nest().walks.size(); walk-- > 0;) {
        Loops steps = s_.nest().walks[walk].order;
        std::erase_if(steps, [&](LoopId id) { return !is_step(id); });
        GS_TRY(unroll_innermost(steps, most));
      }
    }
    return Loops();
  }

  // Without loops of one iteration.
  Result<> unroll_loops(Loops loops) {
    std::erase_if(loops, [&](LoopId id) { return extent(id) == 1; });
    return loops.empty() ? Result<>{} : s_.unroll(std::move(loops));
  }

  // The innermost loops of a walk in straight pieces of at most `most` iterations; a longer
  // innermost loop is split where `most` divides it.
  Result<> unroll_innermost(const Loops& walk, int64_t most) {
    int64_t straight = 1;
    Loops unrolled;
    for (size_t i = walk.size(); i-- > 0;) {
      const auto iterations = extent(walk[i]);
      if (!iterations || straight * *iterations > most) {
        if (!iterations || straight > 1 || most <= 1 || *iterations % most != 0) break;
        GS_ASSIGN(const Loops parts, s_.split(walk[i], {most}));
        unrolled.push_back(parts[1]);
        break;
      }
      straight *= *iterations;
      unrolled.push_back(walk[i]);
    }
    return unroll_loops(std::move(unrolled));
  }

  Result<Loops> fuse(const Call& call, Operands o) {
    if (!o.numbers.empty()) keep_points(o.loops, o.numbers[0]);
    const bool all = !call.arguments.empty() && call.arguments[0] == "..";
    if (o.loops.empty() && all) return run(call, Primitive::unit, o);
    // Of several invocations' loops one may be left, or none.
    if (!all && o.misses && o.loops.size() < 2) return o.loops;
    return run(call, Primitive::fuse, o);
  }

  // Leaves inner loops to the work item, until it has so many points.
  void keep_points(Loops& loops, int64_t least) const {
    int64_t points = 1;
    for (const LoopId id : s_.order()) points *= contains(loops, id) ? 1 : extent(id).value_or(1);
    for (bool kept = false; !loops.empty() && points < least; kept = true) {
      points *= extent(loops.back()).value_or(64);
      if (points > 64 * least && kept) break;
      loops.pop_back();
    }
  }

  bool leaves_over(LoopId id) const {
    return std::ranges::any_of(s_.nest().splits, [&](const Split& split) {
      return split.parts[0] == id && split.tail == Tail::guard;
    });
  }

  // Rows shorter than a vector have the longest that they hold, long sums several accumulators.
  Result<> check_lanes(LoopId id) const {
    const int64_t lanes = extent(id).value_or(0);
    const int64_t most = 4 * std::max(4, s_.capabilities().vector_lanes);
    if (lanes >= 4 && lanes <= most && (lanes & (lanes - 1)) == 0) return {};
    return fail(cat("vectors have ", s_.capabilities().vector_lanes, " lanes, not ", lanes));
  }

  // Names after the arrow are those that the loops got: a taken one would have gained a tick.
  Result<> compare(const std::vector<std::string>& names, const Loops& made) {
    if (!names.empty() && names.size() != made.size())
      return fail(cat("it makes ", made.size(), " loops, and ", names.size(), " are named"));
    for (size_t i = 0; i < made.size(); ++i) {
      const std::string& got = loop(made[i]).name;
      if (!names.empty() && got != names[i])
        return fail(cat("the loop named \"", names[i], "\" is called \"", got, "\""),
                    "names of loops differ, by ticks if nothing else");
      labels_[got] = {made[i]};
    }
    return {};
  }

  Schedule& s_;
  bool by_place_;
  std::map<std::string, Loops, std::less<>> labels_;      // none: the loop does not exist
  std::map<std::string, std::string, std::less<>> axes_;  // their names in the kernel
  std::optional<Loops> outside_, texels_;
};

// One for each schedule of a group.
std::vector<stages::Stage> scheduled_stages(const Group& group, const Capabilities& capabilities) {
  if (is_walk(group)) return online::online_stages(group, capabilities);
  if (has_tiles(group)) return tile_stages(group);
  std::vector<stages::Stage> stages;
  for (const Group& one : group.concurrent)
    std::ranges::move(scheduled_stages(one, capabilities), std::back_inserter(stages));
  if (!stages.empty()) return stages;
  for (const Member& member : group.members)
    if (member.at != At::point) stages.push_back(member.stage);
  return stages;
}

}  // namespace

bool skips_lanes(const stages::Stage& stage, int axis, const Capabilities& caps) {
  if (stage.kind != stages::StageKind::compute || !caps.is_vector_unit()) return false;
  const auto extent = ir::as_int(stage.extents[static_cast<size_t>(axis)]);
  return !extent || (*extent > caps.vector_lanes && *extent % caps.vector_lanes != 0 &&
                     !stages::is_blocked(stage.output->layout));
}

std::string_view name_of(Primitive primitive) { return primitives[static_cast<size_t>(primitive)]; }
std::string_view name_of(Tail tail) { return tails[static_cast<size_t>(tail)]; }

Result<Schedule> apply(const stages::Stage& stage, const Capabilities& capabilities,
                       const List& list, Names names) {
  Schedule schedule(stage, capabilities, list.pattern);
  Interpreter interpreter(schedule, names);
  for (const Call& call : list.calls) {
    if (auto done = interpreter.apply(call); !done) {
      done.error().where = to_string(call);
      return std::unexpected(done.error());
    }
  }
  return schedule;
}

Result<std::vector<Schedule>> apply(const Group& group, const Capabilities& capabilities,
                                    const Point& point, Names names) {
  const std::vector<stages::Stage> stages = scheduled_stages(group, capabilities);
  if (point.size() != stages.size())
    return fail(cat(point.size(), " schedules for a group that takes ", stages.size()));
  std::vector<Schedule> schedules;
  for (size_t i = 0; i < stages.size(); ++i) {
    const std::string_view pattern = over_rows(group) ? "rows" : name_of(pattern_of(stages[i]));
    if (names == Names::by_place && has_points(group) && point[i].pattern != pattern)
      return fail(cat("a stage of pattern ", pattern, " has no point of ", point[i].pattern));
    GS_ASSIGN(Schedule schedule, apply(stages[i], capabilities, point[i], names));
    schedules.push_back(std::move(schedule));
  }
  return schedules;
}

}  // namespace gossamer::schedule
