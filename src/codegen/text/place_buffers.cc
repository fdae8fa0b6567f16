#include "codegen/text/place_buffers.h"

#include <algorithm>

#include "codegen/text/bounded_rewrite.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "passes/flatten_access.h"

namespace gossamer::codegen::text {
namespace {

using namespace ir;

constexpr int64_t most_registers = 512;

struct Use {
  bool vectors = false;      // some access is of several lanes
  bool aligned = true;       // all those are Ramps of 4 from a multiple of 4
  bool lane_stores = false;  // some store is of one lane
  bool constant = true;      // all indices are constants
  bool known_lanes = true;   // every scalar load's index modulo 4 is a constant
  int lanes_seen = 0;        // bits of those
};

bool is_linear(const BufferNode& buffer) { return buffer.layout.memory == Memory::linear; }

Expr floordiv_by(const Expr& e, int64_t by, Knowledge& known) {
  return known.simplify(floordiv(e, by));
}

bool whole_vectors(const BufferNode& buffer, const Bounds& bounds) {
  return bounds.multiple_of(simplify(passes::physical_elements(buffer), bounds)) % 4 == 0;
}

int64_t size_of(const BufferNode& buffer) {
  const auto size = as_int(simplify(passes::physical_elements(buffer)));
  GS_CHECK(size, "size of ", buffer.name, " is not constant");
  return *size;
}

class Placer {
 public:
  explicit Placer(bool clamp) : clamp_(clamp) {}
  Result<Placed> run(const Kernel& kernel) {
    const Bounds bounds = bounds_of_scalars(kernel);
    rewrite_bounded(kernel.body, bounds,
                    {.expr =
                         [&](const Expr& root, Knowledge& known) {
                           note_loads(root, known);
                           return Expr();
                         },
                     .store =
                         [&](const Store& node, Knowledge& known) {
                           if (is_linear(*node.buffer)) note_store(node, known);
                           return Stmt();
                         }});
    visit(
        kernel.body,
        [&](const Stmt& s) {
          if (auto* node = as<Alloc>(s)) uses_[node->buffer.get()];
          return true;
        },
        [](const Expr&) { return false; });
    for (const Kernel::Param& param : kernel.params) {
      if (is_linear(*param.buffer)) uses_[param.buffer.get()];
    }
    for (const auto& [buffer, use] : uses_) decide(*buffer, use, bounds);
    Placed result{kernel, {}};
    result.kernel.body = rewrite_bounded(
        kernel.body, bounds,
        {.expr = [&](const Expr& root, Knowledge& known) { return lower(root, known); },
         .store = [&](const Store& node, Knowledge& known) { return lower_store(node, known); }});
    if (error_) return std::unexpected(*error_);
    result.places = std::move(places_);
    return result;
  }

 private:
  // Row-major where a private buffer still has several indices.
  Expr flat_index(const BufferNode& buffer, const std::vector<Expr>& indices) {
    if (indices.empty()) return index(0);
    Expr flat = indices[0];
    for (size_t i = 1; i < indices.size(); ++i) {
      GS_CHECK(indices.size() == buffer.shape.size(), "access of ", buffer.name, " is not flat");
      Expr extent = buffer.shape[i];
      const Expr& next = indices[i];
      const int lanes = std::max(flat->type.lanes, next->type.lanes);
      if (auto* steps = as<Ramp>(next); steps && flat->type.is_scalar()) {
        flat = ramp(flat * extent + steps->base, steps->stride, lanes);
        continue;
      }
      GS_CHECK(lanes == 1, "access of ", buffer.name, " is not flat");
      flat = flat * extent + next;
    }
    return flat;
  }

  void note(const BufferNode& buffer, const std::vector<Expr>& indices, int lanes, Knowledge& known,
            bool stores) {
    Use& use = uses_[&buffer];
    const Expr flat = flat_index(buffer, indices);
    auto* steps = as<Ramp>(flat);
    if (lanes > 4 && !error_) {
      error_ = Diagnostic{{}, cat("access of ", lanes, " lanes to ", buffer.name), "use 4 lanes"};
    }
    if (lanes == 1) {
      use.lane_stores |= stores;
      // Each where it counts: see decide().
      if (buffer.scope == Scope::global && use.known_lanes) {
        const auto lane_number = as_int(known.simplify(floormod(flat, 4)));
        use.known_lanes = lane_number.has_value();
        if (lane_number) use.lanes_seen |= 1 << *lane_number;
      }
      if (buffer.scope == Scope::priv && use.constant)
        use.constant = as_int(known.simplify(flat)).has_value();
      return;
    }
    GS_CHECK(steps && steps->stride == 1, "vector access of ", buffer.name, " is not contiguous");
    use.vectors = true;
    const Expr base = known.simplify(steps->base);
    use.aligned &= lanes == 4 && known.multiple_of(base) % 4 == 0;
    use.constant &= as_int(base).has_value();
  }
  void note_loads(const Expr& root, Knowledge& known) {
    visit(root, [&](const Expr& e) {
      auto* node = as<Load>(e);
      if (node && is_linear(*node->buffer)) {
        note(*node->buffer, node->indices, node->type.lanes, known, false);
      }
      return true;
    });
  }
  void note_store(const Store& node, Knowledge& known) {
    note(*node.buffer, node.indices, node.value->type.lanes, known, true);
  }

  void decide(const BufferNode& buffer, const Use& use, const Bounds& bounds) {
    const bool is_private = buffer.scope == Scope::priv;
    Place& place = places_[&buffer];
    // Scalar loads of neighbours, as an unrolled loop makes them, share one load of their vector.
    const bool neighbours = buffer.scope == Scope::global && use.known_lanes &&
                            (use.lanes_seen & (use.lanes_seen - 1)) != 0;
    if ((use.vectors || neighbours) && use.aligned && (is_private || !use.lane_stores) &&
        whole_vectors(buffer, bounds)) {
      place.width = 4;
    }
    if (buffer.scope == Scope::global) return;
    place.elements = size_of(buffer) / place.width;
    place.registers = is_private && use.constant && place.elements <= most_registers;
  }

  // A constant index out of bounds, in the arm of a select that is not taken, does not compile.
  static Expr clamped(Expr index_value) {
    const auto known = as_int(index_value);
    return known && *known < 0 ? index(0) : index_value;
  }

  // The nearest index inside, unless it is known to be that.
  Expr inside(const BufferNode& buffer, Expr at, Knowledge& known) {
    if (!clamp_ || buffer.scope != Scope::global) return at;
    const auto [elements, added] = elements_.try_emplace(&buffer);
    if (added) elements->second = passes::physical_elements(buffer);
    const Expr size = floordiv_by(elements->second, places_.at(&buffer).width, known);
    if (!known.prove(at < size))
      at = ir::min(at, known.simplify(ir::max(size - index(1), index(0))));
    return known.range_of(at).low >= 0 ? at : ir::max(at, index(0));
  }

  Expr element(const Load& old, Expr at, int lanes, Knowledge& known) {
    auto* node = new Load(old.type.with_lanes(lanes));
    node->buffer = old.buffer;
    node->indices = {clamped(inside(*old.buffer, std::move(at), known))};
    return Expr(node);
  }

  Expr lower_load(const Load& node, Knowledge& known) {
    const int width = places_.at(node.buffer.get()).width, lanes = node.type.lanes;
    const Expr flat = flat_index(*node.buffer, node.indices);
    auto* steps = as<Ramp>(flat);
    if (width == 4 && lanes == 4)
      return element(node, floordiv_by(steps->base, 4, known), 4, known);
    if (width == 4) {
      const Expr whole = element(node, floordiv_by(flat, 4, known), 4, known);
      return lane(whole, known.simplify(floormod(flat, 4)));
    }
    if (lanes == 1) return element(node, known.simplify(flat), 1, known);
    std::vector<Expr> parts;
    for (int i = 0; i < lanes; ++i) {
      parts.push_back(element(node, known.simplify(steps->base + index(i)), 1, known));
    }
    return make_vector(std::move(parts));
  }

  Expr lower(const Expr& root, Knowledge& known) {
    Rewriter rewriter;
    rewriter.expr = [&](const Expr& e) {
      auto* node = as<Load>(e);
      return node && is_linear(*node->buffer) ? lower_load(*node, known) : Expr();
    };
    return rewrite(root, rewriter);
  }

  Stmt lower_store(const Store& node, Knowledge& known) {
    if (!is_linear(*node.buffer)) return {};
    const int width = places_.at(node.buffer.get()).width, lanes = node.value->type.lanes;
    const Expr value = lower(node.value, known);
    std::vector<Expr> indices;
    for (const Expr& i : node.indices) indices.push_back(lower(i, known));
    const Expr flat = flat_index(*node.buffer, indices);
    auto* steps = as<Ramp>(flat);
    auto put = [&](std::vector<Expr> at, Expr what) {
      auto* made = new Store();
      made->buffer = node.buffer;
      made->indices = std::move(at);
      made->value = std::move(what);
      return Stmt(made);
    };
    if (width == 4 && lanes == 4) return put({floordiv_by(steps->base, 4, known)}, value);
    if (width == 4) {
      return put({floordiv_by(flat, 4, known), known.simplify(floormod(flat, 4))}, value);
    }
    if (lanes == 1) return put({known.simplify(flat)}, value);
    const Var whole = var("v", value->type);
    std::vector<Stmt> stores;
    for (int i = 0; i < lanes; ++i) {
      stores.push_back(put({known.simplify(steps->base + index(i))}, lane(whole, index(i))));
    }
    return let(whole, value, block(std::move(stores)));
  }

  bool clamp_;
  std::unordered_map<const BufferNode*, Use> uses_;
  std::unordered_map<const BufferNode*, Place> places_;
  std::unordered_map<const BufferNode*, Expr> elements_;
  std::optional<Diagnostic> error_;
};

}  // namespace

Result<Placed> place_buffers(const Kernel& kernel, bool clamp) { return Placer(clamp).run(kernel); }

}  // namespace gossamer::codegen::text
