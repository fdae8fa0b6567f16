#include "group/group_stages.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "autoschedule/tiling.h"
#include "autoschedule/tiling_decoded.h"
#include "group/merge_rows.h"
#include "group/row_memory.h"
#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "online/key_parts.h"
#include "online/online.h"
#include "schedule/in_place.h"
#include "stages/access.h"
#include "stages/factors.h"
#include "stages/pattern.h"

namespace gossamer::group {
namespace {

using ir::Buffer;
using ir::Expr;
using online::KeyParts;
using online::most_split_rows;
using online::StageOf;
using stages::At;
using stages::Group;
using stages::InPlace;
using stages::Member;
using stages::Pattern;
using stages::RowCount;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

bool is_rowwise(const Stage& stage) {
  if (stage.kind == StageKind::compute) return true;
  if (stage.kind != StageKind::reduce || stage.reduce_axes.empty() || stage.in_order ||
      !stage.starts.empty())
    return false;
  // Products read each element many times: their tiles are worth more than a launch. Products with
  // a decoded factor have schedules of their own, which a group has no use for.
  return pattern_of(stage) != Pattern::contraction && !decoded_factor(stage).get();
}

class Grouper {
 public:
  Grouper(const stages::Program& program, const Ends& ends, const Capabilities& capabilities,
          const Capabilities* others)
      : kept_(ends.kept),
        constants_(ends.constants),
        caps_(capabilities),
        others_(others),
        blocks_(stages::blocks_of(program)) {
    size_t steps = 0;
    for (const stages::Entry& entry : program) {
      Item& item = items_.emplace_back();
      steps_before_.push_back(steps);
      if (entry.step()) {
        ++steps;
        item.step = entry.step();
        continue;
      }
      item.group.members.push_back({*entry.stage()});
      const auto inputs = entry.inputs();
      item.constant = !kept_.contains(entry.output().get()) &&
                      std::ranges::all_of(inputs, [&](const Buffer& input) {
                        return constants_.contains(input.get());
                      });
      if (item.constant) constants_.insert(entry.output().get());
    }
    for (size_t i = 0; i < items_.size(); ++i) {
      for (const Buffer& input : program[i].inputs()) readers_[input].insert(i);
      if (program[i].output()) writers_[program[i].output()].push_back(i);
    }
  }

  std::vector<Launched> run() {
    if (!caps_.texture_memory) {
      for (size_t i = 0; i < items_.size(); ++i) merge_online(i);
      for (size_t i = 0; i < items_.size(); ++i) {
        while (merge_producer(i)) continue;
      }
      for (size_t i = 0; i < items_.size(); ++i) merge_sibling(i);
      for (size_t i = 0; i < items_.size(); ++i) {
        while (merge_concurrent(i)) continue;
      }
    }
    for (size_t i = 0; i < items_.size(); ++i) {
      Item& item = items_[i];
      if (!item.alive || item.step) continue;
      if (over_rows(item.group)) share_memory(item.group, caps_);
      item.group.in_place = in_place(item.group, i, i);
    }
    std::map<int, Expr> rows_of_chain;
    for (const Item& item : items_) {
      if (item.many) rows_of_chain[item.chain] = item.many->rows;
    }
    std::vector<Launched> launched;
    for (Item& item : items_) {
      if (!item.alive) continue;
      if (item.step) {
        launched.emplace_back(*item.step);
        continue;
      }
      if (item.chain > 0) {
        item.group.number = RowCount::few;
        item.group.rows = rows_of_chain.at(item.chain);
      }
      launched.emplace_back(std::move(item.group));
      if (item.many) launched.emplace_back(std::move(*item.many));
    }
    return launched;
  }

 private:
  struct Item {
    const stages::Step* step = nullptr;
    Group group;
    bool alive = true;
    bool constant = false;
    int chain = 0;  // of launches for few rows, that `many` stands for in other runs; 0: none
    std::shared_ptr<Group> many = {};
  };

  bool may_group(size_t i) const {
    const Item& item = items_[i];
    return item.alive && !item.step && !has_tiles(item.group) &&
           std::ranges::all_of(item.group.members, [&](const Member& member) {
             return member.stage.side.empty() && is_rowwise(member.stage) &&
                    !shares(member.stage, -1) && writers_.of(member.stage.output).size() == 1 &&
                    std::ranges::none_of(member.stage.output->shape,
                                         [](const Expr& e) { return ir::is_const(e, 0); });
           });
  }

  // Whether the group at `from` may run where the one at `to` stands: nobody between them reads
  // what it makes, or changes what it reads.
  bool may_move(size_t from, size_t to, const std::set<size_t>& moved = {}) const {
    if (items_[from].chain != items_[to].chain || items_[from].constant != items_[to].constant ||
        steps_before_[from] != steps_before_[to] || !may_repeat(from, to, moved))
      return false;
    for (const Member& member : items_[from].group.members) {
      for (size_t reader : readers_.of(member.stage.output)) {
        if (reader > from && reader < to && items_[reader].alive && !moved.contains(reader))
          return false;
      }
    }
    return true;
  }

  // Whether what the group at `from` reads is the same at `to`.
  bool may_repeat(size_t from, size_t to, const std::set<size_t>& moved = {}) const {
    if (blocks_[from] != blocks_[to]) return false;
    for (const Buffer& input : inputs_of(items_[from].group)) {
      for (size_t writer : writers_.of(input)) {
        if (writer > from && writer < to && !moved.contains(writer)) return false;
      }
    }
    return true;
  }

  // Of the group that stands at `to`, or will, `from` merged into it. Only what is read there
  // alone: others that read it may still come to run later. A model's input is spared where the
  // bindings suffice without: its memory may be the caller's.
  std::vector<InPlace> in_place(const Group& group, size_t from, size_t to) const {
    const auto once = [&](const Buffer& output) { return writers_.of(output).size() == 1; };
    if (caps_.texture_memory || items_[to].constant || !group.last().side.empty() ||
        !std::ranges::all_of(outputs_of(group), once))
      return {};
    const auto dies = [&](const Buffer& input, bool spared) {
      if (constants_.contains(input.get()) || is_needed(input, from, to)) return false;
      const std::vector<size_t>& writers = writers_.of(input);
      // In a loop, what came from outside is read again.
      if (writers.empty()) return !spared && blocks_[to] == 0;
      const size_t writer = writers.front();
      return writers.size() == 1 && !items_[writer].step && blocks_[writer] == blocks_[to] &&
             items_[writer].group.last().side.empty();
    };
    auto found =
        schedule::find_in_place(group, [&](const Buffer& input) { return dies(input, true); });
    if (static_cast<int>(bindings(group) - found.size()) <= caps_.max_storage_buffers ||
        caps_.group_size == 1)
      return found;
    return schedule::find_in_place(group, [&](const Buffer& input) { return dies(input, false); });
  }

  static size_t bindings(const Group& group) {
    return inputs_of(group).size() + outputs_of(group).size();
  }

  bool fits(const Group& group, size_t from, size_t to) const {
    if (caps_.group_size == 1) return true;
    size_t buffers = bindings(group) - in_place(group, from, to).size();
    for (const Member& member : group.members) {
      if (over_rows(group) && !member.written && !columns_of(member).empty())
        ++buffers;  // in memory, see share_memory
    }
    return static_cast<int>(buffers) <= caps_.max_storage_buffers;
  }

  // A sum weighted by a softmax, with all that only it reads.
  void merge_online(size_t i) {
    if (items_[i].step || items_[i].constant) return;
    std::map<const Stage*, size_t> places;
    const StageOf stage_of = [&](const Buffer& buffer) -> const Stage* {
      if (writers_.of(buffer).size() != 1) return nullptr;
      const size_t p = writers_.of(buffer)[0];
      const Item& item = items_[p];
      if (p >= i || !item.alive || item.step || !is_single(item.group) ||
          !item.group.last().side.empty() || item.group.last().view)
        return nullptr;
      places[&item.group.last()] = p;
      return &item.group.last();
    };
    std::vector<const Stage*> used, masks;
    const bool masked = caps_.group_size == 1;
    if (!online::online_of(items_[i].group.last(), stage_of, used, masked ? &masks : nullptr))
      return;
    std::set<size_t> from;
    for (const Stage* stage : used) from.insert(places.at(stage));
    Group merged;
    // On CPUs. What others read, too, stays where it is.
    std::erase_if(masks, [&](const Stage* stage) {
      return from.contains(places.at(stage)) || !may_repeat(places.at(stage), i);
    });
    for (const Stage* stage : masks) merged.members.push_back({*stage, {}, false, At::walk});
    for (const size_t p : from) {
      const Buffer& made = items_[p].group.last().output;
      const auto outside = [&](size_t reader) { return reader != i && !from.contains(reader); };
      if (kept_.contains(made.get()) || !may_move(p, i, from) ||
          std::ranges::any_of(readers_.of(made), outside))
        return;
      merged.members.push_back({items_[p].group.last(), {}, false, At::walk});
    }
    merged.members.push_back({items_[i].group.last(), {}, true, At::walk});
    if (caps_.group_size > 1 && static_cast<int>(bindings(merged)) > caps_.max_storage_buffers)
      return;
    const Expr rows = online::rows_of(merged);
    const Expr few = ir::index(autoschedule::few_rows(caps_));
    const auto known = ir::as_int(rows);
    const bool walks = online::online_tile(merged, caps_).keys > 0;
    if (walks && known) {
      take(i, from, std::move(merged));
      for (const Stage* stage : masks) {
        const size_t p = places.at(stage);
        const bool read = !readers_.of(stage->output).empty();
        if (!read && !kept_.contains(stage->output.get())) items_[p].alive = false;
      }
    } else if (walks) {
      if (auto split = online::key_parts(merged, ir::min(rows, few), caps_)) {
        ++chains_;
        for (const size_t p : {*from.rbegin(), i}) items_[p].chain = chains_;
        place_parts(i, from, *std::move(split));
        for (const Buffer& input : inputs_of(merged)) readers_[input].insert(i);
        items_[i].many = many_of(std::move(merged), rows);
      } else {
        add_many(i, from, many_of(std::move(merged), rows));
      }
    } else if (known && *known <= most_split_rows) {
      if (auto split = online::key_parts(merged, rows, caps_))
        place_parts(i, from, *std::move(split));
    }
  }

  // The launch for runs of more rows than few.
  static std::shared_ptr<Group> many_of(Group group, const Expr& rows) {
    group.number = RowCount::more;
    group.rows = rows;
    return std::make_shared<Group>(std::move(group));
  }

  // The launch at `to` takes the place of others.
  void take(size_t to, const std::set<size_t>& from, Group group) {
    for (const size_t p : from) {
      for (const Buffer& input : inputs_of(items_[p].group)) readers_[input].erase(p);
      std::ranges::replace(writers_[items_[p].group.last().output], p, to);
      items_[p].alive = false;
    }
    place(to, std::move(group));
  }

  void place(size_t at, Group group) {
    Item& item = items_[at];
    for (const Buffer& input : inputs_of(item.group)) readers_[input].erase(at);
    item.alive = true;
    item.group = std::move(group);
    for (const Buffer& input : inputs_of(item.group)) readers_[input].insert(at);
  }

  // In place of the launches `from` and that at `i`, which joins the parts.
  void place_parts(size_t i, const std::set<size_t>& from, KeyParts split) {
    const size_t parts = *from.rbegin();
    for (const Buffer& made : outputs_of(split.parts)) writers_[made] = {parts};
    take(parts, from, std::move(split.parts));
    place(i, single_group(std::move(split.join)));
  }

  // A launch for runs of more rows than few. For few, its stages stay as they are, and what they
  // store has few rows.
  void add_many(size_t i, const std::set<size_t>& from, std::shared_ptr<Group> many) {
    const Stage& last = items_[i].group.last();
    const size_t row = static_cast<size_t>(online::online_of(*many).row);
    const int chain = ++chains_;
    const Expr few = ir::min(many->rows, ir::index(autoschedule::few_rows(caps_)));
    std::map<size_t, size_t> axes;  // that tell rows apart, by item
    const std::function<void(const Stage&, size_t)> find = [&](const Stage& reader, size_t axis) {
      for (const ir::Load* load : loads_of_stage(reader)) {
        const auto found = std::ranges::find_if(
            from, [&](size_t p) { return items_[p].group.last().output.same(load->buffer); });
        if (found == from.end() || axes.contains(*found)) continue;
        for (size_t d = 0; d < load->indices.size(); ++d) {
          if (load->indices[d].get() != reader.axes[axis].get()) continue;
          axes[*found] = d;
          find(items_[*found].group.last(), d);
        }
      }
    };
    find(last, row);
    ir::BufferMap map;
    for (const size_t p : from) {
      Stage& stage = items_[p].group.members[0].stage;
      items_[p].chain = chain;
      const auto axis = axes.find(p);
      if (axis == axes.end()) continue;
      auto* node = new ir::BufferNode(*stage.output);
      node->shape[axis->second] = few;
      const Buffer fresh(node);
      map[stage.output.get()] = fresh;
      readers_[fresh] = readers_.of(stage.output);
      writers_[fresh] = writers_[stage.output];
      stage.extents[axis->second] = few;
      stage.output = fresh;
    }
    items_[i].chain = chain;
    for (const size_t p : from) stages::replace_inputs(items_[p].group.members[0].stage, map);
    stages::replace_inputs(items_[i].group.members[0].stage, map);
    items_[i].many = std::move(many);
  }

  using Latest = std::set<size_t, std::greater<>>;  // launches, the latest first

  // The latest producer of what the group at `i` reads, merged into it if that is legal and pays.
  bool merge_producer(size_t i) {
    if (!may_group(i)) return false;
    Latest producers;
    for (const Buffer& input : inputs_of(items_[i].group)) {
      const std::vector<size_t>& writers = writers_.of(input);
      producers.insert(writers.begin(), writers.end());
    }
    for (size_t p : producers) {
      if (p >= i || !may_group(p) || !may_move(p, i)) continue;
      const Group &producer = items_[p].group, &reader = items_[i].group;
      auto merged = merged_points(producer, reader);
      if (!merged) merged = merged_rows(producer, reader, caps_, others_);
      if (merged && merge(p, i, *std::move(merged))) return true;
    }
    return false;
  }

  // Launches that read what the group at `i` reads; `made`: by a run alone.
  Latest siblings_of(size_t i, bool made) const {
    Latest siblings;
    for (const Buffer& input : inputs_of(items_[i].group)) {
      if (made && (constants_.contains(input.get()) || writers_.of(input).empty())) continue;
      const std::set<size_t>& readers = readers_.of(input);
      siblings.insert(readers.begin(), readers.end());
    }
    return siblings;
  }

  bool merge(size_t from, size_t to, Group group) {
    for (Member& member : group.members) member.written = is_needed(member.stage.output, from, to);
    group.members.back().written = true;
    if (!fits(group, from, to)) return false;
    for (const Member& member : items_[from].group.members) {
      for (const Buffer& input : stages::inputs_of(member.stage)) {
        readers_[input].erase(from);
        readers_[input].insert(to);
      }
      std::ranges::replace(writers_[member.stage.output], from, to);
    }
    items_[from].alive = false;
    items_[to].group = std::move(group);
    return true;
  }

  bool feeds(size_t from, size_t to) const {
    return std::ranges::any_of(items_[from].group.members, [&](const Member& member) {
      return readers_.of(member.stage.output).contains(to);
    });
  }

  // Whether anybody else reads a buffer.
  bool is_needed(const Buffer& buffer, size_t a, size_t b) const {
    const auto& readers = readers_.of(buffer);
    return kept_.contains(buffer.get()) ||
           std::ranges::any_of(readers, [&](size_t i) { return i != a && i != b; });
  }

  static bool same_points(const Stage& a, const Stage& b) {
    if (a.kind != StageKind::compute || b.kind != StageKind::compute || a.view || b.view ||
        a.extents.size() != b.extents.size() || !(a.output->layout == b.output->layout))
      return false;
    for (size_t i = 0; i < a.extents.size(); ++i) {
      if (!ir::prove_equal(a.extents[i], b.extents[i])) return false;
    }
    return true;
  }

  // One nest for both: each reads what the other makes at its own point.
  std::optional<Group> merged_points(const Group& producer, const Group& reader) const {
    if (over_rows(producer) || over_rows(reader)) return std::nullopt;
    if (!same_points(producer.last(), reader.last())) return std::nullopt;
    for (const Member& made : producer.members) {
      for (const Member& member : reader.members) {
        for (const ir::Load* load : loads_of_stage(member.stage)) {
          if (!load->buffer.same(made.stage.output)) continue;
          for (size_t i = 0; i < load->indices.size(); ++i) {
            if (load->indices[i].get() != member.stage.axes[i].get() &&
                !ir::is_const(member.stage.extents[i], 1))
              return std::nullopt;
          }
        }
      }
    }
    return at_same_points(producer, reader);
  }

  static Group at_same_points(const Group& first, const Group& second) {
    Group merged{first.members};
    for (Member& member : merged.members) member.at = At::point;
    merged.members.insert(merged.members.end(), second.members.begin(), second.members.end());
    return merged;
  }

  // Maps that read the same, side by side: one walk over it makes all of them.
  void merge_sibling(size_t i) {
    if (!may_group(i) || over_rows(items_[i].group)) return;
    for (size_t p : siblings_of(i, false)) {
      if (p >= i || !may_group(p) || over_rows(items_[p].group) || !may_move(p, i)) continue;
      if (!same_points(items_[p].group.last(), items_[i].group.last()) || !share_inputs(p, i) ||
          feeds(p, i))
        continue;
      merge(p, i, at_same_points(items_[p].group, items_[i].group));
    }
  }

  // Maps, and rows that a state gains, of few points: a launch costs more than they do.
  bool may_run_concurrently(size_t i) const {
    constexpr int64_t most_points = int64_t{1} << 20;
    const Item& item = items_[i];
    if (!item.alive || item.step || item.constant || over_rows(item.group) || has_tiles(item.group))
      return false;
    const auto is_small_map = [&](const Member& member) {
      const Stage& stage = member.stage;
      const bool map = stage.kind == StageKind::compute && !shares(stage, -1) &&
                       writers_.of(stage.output).size() == 1;
      int64_t points = 1;
      for (const Expr& extent : stage.extents) points *= std::max<int64_t>(ir::estimate(extent), 0);
      return stage.side.empty() && (map || writes_a_row(stage)) && points > 0 &&
             points <= most_points;
    };
    return std::ranges::all_of(item.group.members, is_small_map) &&
           in_place(item.group, i, i).empty();
  }

  // The latest such launch that reads a tensor of a run which the one at `i` reads, merged into it.
  bool merge_concurrent(size_t i) {
    if (caps_.group_size == 1 || !may_run_concurrently(i)) return false;
    for (size_t p : siblings_of(i, true)) {
      if (p >= i || !may_run_concurrently(p) || feeds(p, i) || !may_move(p, i)) continue;
      Group merged;
      for (size_t each : {p, i}) {
        const Group& group = items_[each].group;
        merged.members.insert(merged.members.end(), group.members.begin(), group.members.end());
        const std::vector<Group> own =
            group.concurrent.empty() ? std::vector{group} : group.concurrent;
        merged.concurrent.insert(merged.concurrent.end(), own.begin(), own.end());
      }
      if (merge(p, i, std::move(merged))) return true;
    }
    return false;
  }

  // At the same points: what is read at other ones is no reason.
  bool share_inputs(size_t a, size_t b) const {
    const auto reads = [](const Group& group) {
      std::vector<const ir::BufferNode*> buffers;
      for (const Member& member : group.members) {
        for (const ir::Load* load : loads_of_stage(member.stage)) {
          if (schedule::at_own_point(*load, member.stage)) buffers.push_back(load->buffer.get());
        }
      }
      return buffers;
    };
    const auto one = reads(items_[a].group), other = reads(items_[b].group);
    return std::ranges::any_of(
        one, [&](const auto* buffer) { return std::ranges::find(other, buffer) != other.end(); });
  }

  // Launches by the buffer that they read or write.
  template <class Set>
  struct Places {
    std::map<const ir::BufferNode*, Set> map;
    Set& operator[](const Buffer& buffer) { return map[buffer.get()]; }
    const Set& of(const Buffer& buffer) const {
      static const Set none;
      const auto found = map.find(buffer.get());
      return found == map.end() ? none : found->second;
    }
  };

  int chains_ = 0;
  const std::set<const ir::BufferNode*>& kept_;
  std::set<const ir::BufferNode*> constants_;  // as the run goes
  const Capabilities& caps_;
  const Capabilities* others_;
  std::vector<int> blocks_;
  std::vector<size_t> steps_before_;
  std::vector<Item> items_;
  Places<std::set<size_t>> readers_;
  Places<std::vector<size_t>> writers_;
};

}  // namespace

std::vector<Launched> group_stages(const stages::Program& program, const Ends& ends,
                                   const Capabilities& capabilities, const Capabilities* others) {
  return Grouper(program, ends, capabilities, others).run();
}

std::vector<Launched> single_stages(const stages::Program& program) {
  std::vector<Launched> launched;
  for (const stages::Entry& entry : program) {
    if (const stages::Stage* stage = entry.stage()) {
      launched.emplace_back(single_group(*stage));
    } else {
      launched.emplace_back(*entry.step());
    }
  }
  return launched;
}

}  // namespace gossamer::group
