#include "memory/plan_memory.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplifier.h"

namespace gossamer::memory {
namespace {

using ir::Expr;

struct Life {
  int first = -1, last = -1;  // steps; -1: unused
  bool overlaps(const Life& other) const {
    return first >= 0 && other.first >= 0 && first <= other.last && other.first <= last;
  }
};

const Expr& needed_size(const MemoryNeed& need) {
  return need.width > 0 ? need.height : need.bytes;
}

// A number to order sizes by: dimensions count as a typical extent.
int64_t estimate(const Expr& size) {
  if (auto known = ir::as_int(size)) return *known;
  ir::VarMap typical;
  ir::visit(size, [&](const Expr& expr) {
    if (const auto* var = ir::as<ir::VarNode>(expr)) typical[var] = ir::index(256);
    return true;
  });
  return ir::as_int(ir::simplify(ir::substitute(size, typical))).value_or(int64_t{1} << 40);
}

// Compares sizes. Many tensors have the same size and proofs are slow, so each pair is compared
// once.
class SizeOrder {
 public:
  explicit SizeOrder(const ir::Bounds& bounds) : simplifier_(bounds) {}

  bool fits(const Expr& small, const Expr& large) {
    const auto a = ir::as_int(small), b = ir::as_int(large);
    if (a && b) return *a <= *b;
    const auto [known, fresh] = fits_.try_emplace({number_of(small), number_of(large)});
    if (fresh)
      known->second = known->first.first == known->first.second ||
                      ir::is_const(simplifier_.expr(small <= large), 1);
    return known->second;
  }

 private:
  size_t number_of(const Expr& size) {
    const auto found =
        std::ranges::find_if(sizes_, [&](const Expr& known) { return ir::equal(known, size); });
    const auto number = static_cast<size_t>(found - sizes_.begin());
    if (number == sizes_.size()) sizes_.push_back(size);
    return number;
  }

  ir::Simplifier simplifier_;
  std::vector<Expr> sizes_;  // different ones
  std::map<std::pair<size_t, size_t>, bool> fits_;
};

class Planner {
 public:
  Planner(const std::vector<PlannedTensor>& tensors, const ir::Bounds& bounds)
      : tensors_(tensors), order_(bounds) {}

  MemoryPlan run(const std::vector<PlanStep>& steps, const std::vector<PlanLoop>& loops) {
    find_lives(steps);
    extend_lives(loops);
    std::vector<size_t> order;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (first_of(i) == i) {
        order.push_back(i);
      } else {
        join(tensors_[i], lives_[i], first_of(i));
      }
    }
    std::vector<int64_t> sizes;
    for (const PlannedTensor& tensor : tensors_)
      sizes.push_back(estimate(needed_size(tensor.need)));
    // Large ones first: later ones fit into slots that exist.
    std::ranges::sort(order, [&](size_t a, size_t b) {
      return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b;
    });
    for (size_t i : order) plan_.slot_of[tensors_[i].buffer.get()] = place(i);
    for (size_t i = 0; i < tensors_.size(); ++i)
      plan_.slot_of[tensors_[i].buffer.get()] =
          plan_.slot_of.at(tensors_[first_of(i)].buffer.get());
    return std::move(plan_);
  }

 private:
  void find_lives(const std::vector<PlanStep>& steps) {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      GS_CHECK(number_.emplace(tensors_[i].buffer.get(), i).second, tensors_[i].buffer->name,
               " is planned twice");
    }
    lives_.resize(tensors_.size());
    for (const PlannedTensor& tensor : tensors_) exclusive_.push_back(tensor.exclusive);
    for (size_t step = 0; step < steps.size(); ++step) {
      auto use = [&](const ir::Buffer& buffer, bool writes) {
        auto found = number_.find(buffer.get());
        GS_CHECK(found != number_.end(), buffer->name, " is used and not planned");
        Life& life = lives_[found->second];
        GS_CHECK(writes || life.first >= 0 || tensors_[found->second].exclusive, buffer->name,
                 " is read before it is written");
        if (life.first < 0) life.first = static_cast<int>(step);
        life.last = static_cast<int>(step);
      };
      for (const ir::Buffer& buffer : steps[step].reads) use(buffer, false);
      for (const ir::Buffer& buffer : steps[step].writes) use(buffer, true);
    }
  }

  // Of the tensors that have one slot because each takes the place of another.
  size_t first_of(size_t tensor) const {
    while (tensors_[tensor].in_place_of) tensor = number_.at(tensors_[tensor].in_place_of.get());
    return tensor;
  }

  // Their slot is held from the first to the last.
  void join(const PlannedTensor& later, const Life& life, size_t first) {
    const MemoryNeed& need = tensors_[first].need;
    GS_CHECK(fits_kind(need, later.need), later.buffer->name, " cannot lie in ",
             tensors_[first].buffer->name);
    Life& all = lives_[first];
    if (life.first >= 0 && (all.first < 0 || life.first < all.first)) all.first = life.first;
    all.last = std::max(all.last, life.last);
    exclusive_[first] = exclusive_[first] || later.exclusive;
  }

  // Inner loops end first, so one pass in that order reaches outer ones.
  void extend_lives(std::vector<PlanLoop> loops) {
    std::ranges::sort(loops, [](const PlanLoop& a, const PlanLoop& b) { return a.last < b.last; });
    for (const PlanLoop& loop : loops) {
      const int first = static_cast<int>(loop.first), last = static_cast<int>(loop.last);
      for (Life& life : lives_) {
        if (life.first >= 0 && life.first < first && life.last >= first && life.last < last)
          life.last = last - 1;
      }
    }
  }

  int place(size_t tensor) {
    const PlannedTensor& wanted = tensors_[tensor];
    int chosen = exclusive_[tensor] ? -1 : choose(tensor);
    if (chosen < 0) {
      plan_.slots.push_back({wanted.need, exclusive_[tensor]});
      tenants_.emplace_back();
      chosen = static_cast<int>(plan_.slots.size()) - 1;
    }
    tenants_[static_cast<size_t>(chosen)].push_back(tensor);
    return chosen;
  }

  // A free slot that is provably large enough, else one that can grow; -1 where there is none.
  int choose(size_t tensor) {
    const MemoryNeed& need = tensors_[tensor].need;
    int growable = -1;
    for (size_t s = 0; s < plan_.slots.size(); ++s) {
      const MemoryPlan::Slot& slot = plan_.slots[s];
      if (slot.exclusive || !fits_kind(slot.need, need) || !is_free(s, tensor)) continue;
      if (need.width > 0 ? fits_texture(need, slot.need)
                         : order_.fits(need.bytes, slot.need.bytes)) {
        return static_cast<int>(s);
      }
      if (growable < 0 && need.width == 0) growable = static_cast<int>(s);
    }
    if (growable >= 0) {
      Expr& bytes = plan_.slots[static_cast<size_t>(growable)].need.bytes;
      bytes = order_.fits(bytes, need.bytes) ? need.bytes : ir::max(bytes, need.bytes);
    }
    return growable;
  }

  bool fits_kind(const MemoryNeed& slot, const MemoryNeed& need) const {
    if (slot.width != need.width || slot.segment != need.segment || slot.device != need.device)
      return false;
    return need.width == 0 || (slot.layers == need.layers && slot.texel == need.texel);
  }
  // A dynamic texture is made anew for other dimensions; only one of the same height stands for it.
  static bool fits_texture(const MemoryNeed& small, const MemoryNeed& large) {
    auto a = ir::as_int(small.height), b = ir::as_int(large.height);
    return a && b ? *a <= *b : ir::equal(small.height, large.height);
  }
  bool is_free(size_t slot, size_t tensor) const {
    return std::ranges::none_of(
        tenants_[slot], [&](size_t other) { return lives_[other].overlaps(lives_[tensor]); });
  }

  const std::vector<PlannedTensor>& tensors_;
  SizeOrder order_;
  std::unordered_map<const ir::BufferNode*, size_t> number_;
  std::vector<Life> lives_;
  std::vector<bool> exclusive_;               // of the tensors and those in their place
  std::vector<std::vector<size_t>> tenants_;  // of each slot
  MemoryPlan plan_;
};

}  // namespace

MemoryPlan plan_memory(const std::vector<PlannedTensor>& tensors,
                       const std::vector<PlanStep>& steps, const ir::Bounds& bounds,
                       const std::vector<PlanLoop>& loops) {
  return Planner(tensors, bounds).run(steps, loops);
}

}  // namespace gossamer::memory
