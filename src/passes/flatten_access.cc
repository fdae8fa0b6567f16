#include "passes/flatten_access.h"

#include <optional>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplifier.h"
#include "passes/vectorize_loops.h"

namespace gossamer::passes {
namespace {

using ir::Expr;
using ir::Stmt;

Expr like(const Expr& scalar, const Expr& vector) {
  return vector->type.is_scalar() || !scalar->type.is_scalar()
             ? scalar
             : ir::broadcast(scalar, vector->type.lanes);
}
Expr add(const Expr& a, const Expr& b) { return like(a, b) + like(b, a); }
Expr multiply(const Expr& a, const Expr& b) { return like(a, b) * like(b, a); }
Expr divide(const Expr& a, int64_t b) {
  return b == 1 ? a : ir::floordiv(a, like(ir::index(b), a));
}
Expr modulo(const Expr& a, int64_t b) { return ir::floormod(a, like(ir::index(b), a)); }

// Logical extents after the layout's linearisation.
std::vector<Expr> logical_extents(const ir::BufferNode& buffer) {
  if (!buffer.layout.flat) return buffer.shape;
  Expr all = ir::index(1);
  for (const Expr& e : buffer.shape) all = all * e;
  return {ir::simplify(all)};
}

std::vector<ir::LayoutAxis> axes_of(const ir::BufferNode& buffer) {
  if (!buffer.layout.axes.empty()) return buffer.layout.axes;
  std::vector<ir::LayoutAxis> axes;
  for (size_t d = 0; d < buffer.shape.size(); ++d) axes.push_back({static_cast<int>(d), 1, 0});
  return axes;
}

Expr extent_of(const ir::LayoutAxis& axis, const std::vector<Expr>& extents) {
  if (axis.modulo != 0) return ir::index(axis.modulo);
  const Expr& extent = extents[static_cast<size_t>(axis.dim)];
  return axis.divide == 1
             ? extent
             : ir::simplify(ir::floordiv(extent + ir::index(axis.divide - 1), axis.divide));
}

// Physical coordinates, outermost first.
std::vector<Expr> coordinates(const ir::BufferNode& buffer, std::vector<Expr> indices) {
  if (buffer.layout.flat) {
    Expr linear = ir::index(0);
    for (size_t d = 0; d < indices.size(); ++d)
      linear = add(multiply(linear, buffer.shape[d]), indices[d]);
    indices = {linear};
  }
  std::vector<Expr> result;
  for (const ir::LayoutAxis& axis : axes_of(buffer)) {
    Expr e = divide(indices[static_cast<size_t>(axis.dim)], axis.divide);
    if (axis.modulo != 0) e = modulo(e, axis.modulo);
    result.push_back(e);
  }
  return result;
}

Expr linearise(const std::vector<Expr>& coordinates, const std::vector<Expr>& extents,
               size_t count) {
  Expr linear = ir::index(0);
  for (size_t k = 0; k < count; ++k) linear = add(multiply(linear, extents[k]), coordinates[k]);
  return linear;
}

std::vector<Expr> physical_extents(const ir::BufferNode& buffer) {
  const std::vector<Expr> logical = logical_extents(buffer);
  std::vector<Expr> result;
  for (const ir::LayoutAxis& axis : axes_of(buffer)) result.push_back(extent_of(axis, logical));
  return result;
}

struct Address {
  Expr element;  // linear memory: the offset; textures: 4 * texel + component
  Expr layer;    // textures only
};

Address address_of(const ir::BufferNode& buffer, const std::vector<Expr>& indices) {
  const std::vector<Expr> extents = physical_extents(buffer);
  std::vector<Expr> c = coordinates(buffer, indices);
  if (buffer.layout.memory == ir::Memory::linear) return {linearise(c, extents, c.size()), {}};
  const size_t outer = c.size() - (buffer.layout.layers > 1 ? 2 : 1);
  const Expr texel = linearise(c, extents, outer);
  Expr layer = buffer.layout.layers > 1 ? c[outer] : ir::index(0);
  return {add(multiply(texel, ir::index(4)), c.back()), layer};
}

// Elements of `bits` bits each, taken from words at bit `shift`.
Expr cut_from(const Expr& word, const Expr& shift, int bits, ir::DType dtype) {
  const auto number = [&](ir::DType type, int64_t value) {
    return ir::constant_int(word->type.with_dtype(type), value);
  };
  const ir::Type type = word->type.with_dtype(dtype);
  if (ir::is_small(dtype))
    return ir::bitcast(type, cut_from(word, shift, bits, ir::carrier_of(dtype)));
  if (ir::is_signed_int(dtype)) {
    const Expr top = ir::binary(ir::BinaryOp::shl, word, number(ir::DType::u32, 32 - bits) - shift);
    const Expr whole = ir::cast(top->type.with_dtype(ir::DType::i32), top);
    return ir::cast(type, ir::binary(ir::BinaryOp::shr, whole, number(ir::DType::i32, 32 - bits)));
  }
  const Expr part = ir::binary(ir::BinaryOp::bit_and, ir::binary(ir::BinaryOp::shr, word, shift),
                               number(ir::DType::u32, (1 << bits) - 1));
  if (dtype == ir::DType::boolean) return part != number(ir::DType::u32, 0);
  if (ir::is_float(dtype) && bits == 16)
    return ir::bitcast(type, ir::cast(word->type.with_dtype(ir::DType::u16), part));
  return ir::cast(type, part);
}

// The bits of an element of `bits` bits, the lowest of a word.
Expr bits_of(const Expr& value, int bits) {
  const ir::Type word = value->type.with_dtype(ir::DType::u32);
  const ir::DType dtype = value->type.dtype;
  if (ir::is_small(dtype))
    return bits_of(ir::bitcast(value->type.with_dtype(ir::carrier_of(dtype)), value), bits);
  if (ir::is_float(dtype) && bits == 16)
    return ir::cast(word, ir::bitcast(value->type.with_dtype(ir::DType::u16), value));
  return ir::binary(ir::BinaryOp::bit_and, ir::cast(word, value),
                    ir::constant_int(word, (1 << bits) - 1));
}

class Flattener {
 public:
  explicit Flattener(int64_t longest_stride = 1) : longest_stride_(longest_stride) {}

  // What kernels access in place of a buffer whose elements share words.
  ir::Buffer words_of(const ir::Buffer& buffer) {
    ir::Buffer& made = words_[buffer.get()];
    if (made) return made;
    const Expr elements = physical_elements(*buffer);
    const ir::Layout& layout = buffer->layout;
    auto* node = new ir::BufferNode(*buffer);
    node->dtype = node->storage = ir::DType::u32;
    node->shape = {ir::simplify(ir::floordiv(elements + ir::index(layout.pack - 1), layout.pack))};
    node->layout.pack = 1;
    if (layout.memory == ir::Memory::linear) node->layout = {};
    return made = ir::Buffer(node);
  }

  Stmt run(const Stmt& s, const ir::Bounds& bounds) {
    Knowledge known(bounds);
    return run(s, known);
  }

  // As neighbours_stored, of the stores in what was run; 4 where there are none.
  int neighbours_stored(const ir::Buffer& buffer) const {
    const auto found = neighbours_.find(buffer.get());
    return found == neighbours_.end() ? 4 : found->second;
  }

 private:
  // What knows the bounds in one scope, and what it has simplified there: the addresses of
  // neighbours, and of loads whose indices are loaded, share their parts, which are many.
  struct Knowledge {
    explicit Knowledge(const ir::Bounds& all) : bounds(all), simplifier(all) {}
    Expr simplify(const Expr& e) { return simplifier.expr(e); }
    const ir::Bounds& bounds;  // outlive this
    ir::Simplifier simplifier;
    Lanes lanes;
  };

  Stmt run(const Stmt& s, Knowledge& known) {
    if (!s) return s;
    const ir::Bounds& bounds = known.bounds;
    if (const auto* block = ir::as<ir::Block>(s)) {
      std::vector<Stmt> stmts;
      for (const Stmt& child : block->stmts) stmts.push_back(run(child, known));
      return ir::block(std::move(stmts));
    }
    if (const auto* let = ir::as<ir::Let>(s)) {
      const Expr value = expr(let->value, known);
      if (value->type != ir::Type(ir::DType::index))
        return ir::let(let->var, value, run(let->body, known));
      ir::Bounds inner = bounds;
      inner.set(let->var.get(), bounds.of(value));
      inner.set_multiple(let->var.get(), bounds.multiple_of(value));
      return ir::let(let->var, value, run(let->body, inner));
    }
    if (const auto* loop = ir::as<ir::For>(s)) {
      ir::Bounds inner = bounds;
      inner.set_axis(loop->var.get(), loop->extent);
      if (loop->loop == ir::LoopKind::grid) grid_ = loop->var;
      return ir::loop(loop->var, expr(loop->extent, known), loop->loop, run(loop->body, inner));
    }
    if (const auto* loop = ir::as<ir::While>(s)) {
      return ir::while_loop(expr(loop->condition, known), run(loop->body, known));
    }
    if (const auto* branch = ir::as<ir::If>(s)) {
      return ir::branch(expr(branch->condition, known), run(branch->yes, known),
                        run(branch->no, known));
    }
    if (const auto* alloc = ir::as<ir::Alloc>(s))
      return ir::alloc(alloc->buffer, run(alloc->body, known));
    if (const auto* store = ir::as<ir::Store>(s)) return store_to(*store, known);
    return s;
  }

  Expr expr(const Expr& e, Knowledge& known) {
    ir::Rewriter rewriter;
    rewriter.expr = [&](const Expr& node) -> Expr {
      const auto* load = ir::as<ir::Load>(node);
      return load ? load_from(*load, known) : Expr{};
    };
    return ir::rewrite(e, rewriter);
  }

  static bool is_run(const Expr& index) {
    const auto* ramp = ir::as<ir::Ramp>(index);
    return ramp && ramp->stride == 1;
  }

  // A vector's index that is one place in all lanes or else a run, by a condition that they share.
  struct EitherRun {
    size_t dim;
    Expr condition, place, base;
  };
  static std::optional<EitherRun> either_run(const ir::Load& load) {
    std::optional<EitherRun> found;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const Expr& index = load.indices[d];
      if (index->type.is_scalar()) continue;
      const auto* select = ir::as<ir::Select>(index);
      if (!select || found) return {};
      const auto* condition = ir::as<ir::Broadcast>(select->condition);
      const auto* place = ir::as<ir::Broadcast>(select->yes);
      if (!condition || !place || !is_run(select->no)) return {};
      found = {d, condition->a, place->a, ir::as<ir::Ramp>(select->no)->base};
    }
    return found;
  }

  // Elements that share words: neighbours that begin at a whole word are cut from each at once.
  Expr packed_load(const ir::Load& load, const Expr& element, Knowledge& known) {
    const ir::DType dtype = load.buffer->dtype;
    const int pack = load.buffer->layout.pack, bits = 32 / pack;
    const ir::Buffer words = words_of(load.buffer);
    const auto word_at = [&](const Expr& first) {
      const Expr at = known.simplify(ir::floordiv(first, pack));
      if (words->layout.memory == ir::Memory::linear) return ir::load(words, {at});
      return one_element(words, at, ir::index(0), known);
    };
    const auto one = [&](const Expr& at) {
      const Expr place = known.simplify(ir::floormod(at, pack));
      const Expr shift = ir::cast(ir::DType::u32, place * ir::index(bits));
      return cut_from(word_at(at), known.simplify(shift), bits, dtype);
    };
    const int lanes = element->type.lanes;
    if (lanes == 1) return one(element);
    if (const auto* all = ir::as<ir::Broadcast>(element)) return ir::broadcast(one(all->a), lanes);
    const Expr base = is_run(element) ? ir::as<ir::Ramp>(element)->base : Expr();
    if (base && lanes % pack == 0 && known.bounds.multiple_of(base) % pack == 0) {
      std::vector<Expr> parts, shifts;
      for (int i = 0; i < lanes; ++i) {
        parts.push_back(i % pack ? parts.back() : word_at(known.simplify(base + ir::index(i))));
        shifts.push_back(ir::constant_int(ir::DType::u32, i % pack * bits));
      }
      const Expr word =
          lanes == pack ? ir::broadcast(parts[0], lanes) : ir::make_vector(std::move(parts));
      return cut_from(word, ir::make_vector(std::move(shifts)), bits, dtype);
    }
    std::vector<Expr> parts;
    for (int i = 0; i < lanes; ++i)
      parts.push_back(one(known.simplify(known.lanes.of(element, i))));
    return ir::make_vector(std::move(parts));
  }

  // Whether all lanes lie in groups of `count` neighbours, each from a multiple of it on.
  static bool is_whole(const Expr& element, int count, const Knowledge& known) {
    return is_run(element) && element->type.lanes % count == 0 &&
           known.bounds.multiple_of(ir::as<ir::Ramp>(element)->base) % count == 0;
  }

  // Whole words, each from neighbours of one vector.
  Stmt packed_store(const ir::Store& store, const Expr& element, const Expr& value,
                    Knowledge& known) {
    const int pack = store.buffer->layout.pack, bits = 32 / pack, lanes = value->type.lanes;
    const auto* run = ir::as<ir::Ramp>(element);
    GS_CHECK(is_whole(element, pack, known), "a store writes a part of a word of ",
             store.buffer->name);
    const ir::Buffer words = words_of(store.buffer);
    const ir::Var parts = ir::var("parts", value->type.with_dtype(ir::DType::u32));
    std::vector<Expr> made;
    for (int i = 0; i < lanes; ++i) {
      const Expr part = ir::lane(parts, ir::index(i));
      const Expr shift = ir::constant_int(ir::DType::u32, i % pack * bits);
      if (i % pack == 0) {
        made.push_back(part);
      } else {
        made.back() = ir::binary(ir::BinaryOp::bit_or, made.back(),
                                 ir::binary(ir::BinaryOp::shl, part, shift));
      }
    }
    const Expr first = known.simplify(ir::floordiv(run->base, pack));
    const Stmt stored = made.size() == 1 ? ir::store(words, {first}, made[0])
                                         : ir::store(words, {ir::ramp(first, 1, lanes / pack)},
                                                     ir::make_vector(made));
    return ir::let(parts, bits_of(value, bits), stored);
  }

  Expr load_from(const ir::Load& load, Knowledge& known) {
    const ir::BufferNode& buffer = *load.buffer;
    if (const auto either =
            buffer.layout.memory == ir::Memory::texture ? std::nullopt : either_run(load)) {
      // The run begins inside of the buffer even where its elements are not taken.
      const int lanes = load.indices[either->dim]->type.lanes;
      const auto at = [&](const Expr& index) {
        std::vector<Expr> indices = load.indices;
        indices[either->dim] = index;
        const Expr one = ir::load(load.buffer, std::move(indices));
        return load_from(*ir::as<ir::Load>(one), known);
      };
      const Expr one = at(either->place);
      const Expr base = ir::select(either->condition, either->place, either->base);
      return ir::select(ir::broadcast(either->condition, lanes), ir::broadcast(one, lanes),
                        at(ir::ramp(base, 1, lanes)));
    }
    Address address = address_of(buffer, load.indices);
    address.element = known.simplify(address.element);
    if (buffer.layout.pack > 1) return packed_load(load, address.element, known);
    if (buffer.layout.memory == ir::Memory::texture) return texel_load(load, address, known);
    if (address.element->type.is_scalar() || is_run(address.element)) {
      return ir::load(load.buffer, {address.element});
    }
    if (const auto* all = ir::as<ir::Broadcast>(address.element)) {
      return ir::broadcast(ir::load(load.buffer, {all->a}), address.element->type.lanes);
    }
    std::vector<Expr> lanes;
    for (int i = 0; i < address.element->type.lanes; ++i)
      lanes.push_back(known.simplify(known.lanes.of(address.element, i)));
    if (const int64_t stride = buffer.scope == ir::Scope::global ? stride_of(lanes, known) : 0) {
      const int count = address.element->type.lanes;
      return ir::load(load.buffer, {ir::ramp(lanes[0], stride, count)});
    }
    for (Expr& lane : lanes) lane = ir::load(load.buffer, {lane});
    return ir::make_vector(std::move(lanes));
  }

  // 0: the indices have none, or one that is too long.
  int64_t stride_of(const std::vector<Expr>& indices, Knowledge& known) const {
    const auto from_first = [&](size_t lane) {
      return ir::as_int(known.simplify(indices[lane] - indices[0]));
    };
    if (longest_stride_ < 2) return 0;
    const auto stride = from_first(1);
    if (!stride || std::abs(*stride) > longest_stride_) return 0;
    for (size_t lane = 2; lane < indices.size(); ++lane) {
      if (from_first(lane) != *stride * static_cast<int64_t>(lane)) return 0;
    }
    return *stride;
  }

  static std::vector<Expr> texel_at(const ir::BufferNode& buffer, const Expr& texel,
                                    const Expr& layer, Knowledge& known) {
    const int64_t width = buffer.layout.width;
    return {known.simplify(ir::floormod(texel, width)), known.simplify(ir::floordiv(texel, width)),
            known.simplify(layer)};
  }

  static Expr one_element(const ir::Buffer& buffer, const Expr& element, const Expr& layer,
                          Knowledge& known) {
    const Expr texel = known.simplify(ir::floordiv(element, 4));
    const Expr component = known.simplify(ir::floormod(element, 4));
    return ir::lane(vector_load(buffer, texel_at(*buffer, texel, layer, known)), component);
  }

  // A load whose type is the texel's four elements.
  static Expr vector_load(const ir::Buffer& buffer, std::vector<Expr> texel) {
    auto* node = new ir::Load(ir::Type(buffer->dtype, 4));
    node->buffer = buffer;
    node->indices = std::move(texel);
    return Expr(node);
  }

  static Expr texel_load(const ir::Load& load, const Address& address, Knowledge& known) {
    const Expr layer = known.simplify(address.layer);
    const Expr& element = address.element;
    const int lanes = element->type.lanes;
    if (lanes == 1 && layer->type.is_scalar())
      return one_element(load.buffer, element, layer, known);
    const auto* uniform_layer = ir::as<ir::Broadcast>(layer);
    const Expr one_layer = layer->type.is_scalar() ? layer
                           : uniform_layer         ? uniform_layer->a
                                                   : Expr{};
    if (one_layer && is_run(element) && lanes == 4) {
      const Expr& base = ir::as<ir::Ramp>(element)->base;
      if (known.bounds.multiple_of(base) % 4 == 0) {
        const Expr texel = known.simplify(ir::floordiv(base, 4));
        return vector_load(load.buffer, texel_at(*load.buffer, texel, one_layer, known));
      }
    }
    if (const auto* all = ir::as<ir::Broadcast>(element); all && one_layer) {
      return ir::broadcast(one_element(load.buffer, all->a, one_layer, known), lanes);
    }
    std::vector<Expr> parts;
    const int count = std::max<int>(lanes, layer->type.lanes);
    for (int i = 0; i < count; ++i) {
      parts.push_back(one_element(load.buffer, known.simplify(known.lanes.of(element, i)),
                                  known.lanes.of(layer, i), known));
    }
    return ir::make_vector(std::move(parts));
  }

  Stmt store_to(const ir::Store& store, Knowledge& known) {
    const ir::BufferNode& buffer = *store.buffer;
    Expr value = expr(store.value, known);
    std::vector<Expr> indices;
    for (const Expr& index : store.indices) indices.push_back(expr(index, known));
    Address address = address_of(buffer, indices);
    address.element = known.simplify(address.element);
    if (buffer.layout.memory == ir::Memory::texture) {
      // The schedule walks the texels of the output in order, so the grid's variable is the texel:
      // the mixed radix of its coordinates need not be undone.
      const Expr texel = grid_;
      return ir::store(
          store.buffer,
          texel_at(buffer, texel, known.lanes.of(known.simplify(address.layer), 0), known),
          value->type.is_scalar() ? ir::broadcast(value, 4) : value);
    }
    if (buffer.layout.pack > 1) return packed_store(store, address.element, value, known);
    int& neighbours = neighbours_.emplace(&buffer, 4).first->second;
    while (neighbours > 1 && !is_whole(address.element, neighbours, known)) neighbours /= 2;
    if (address.element->type.is_scalar() || is_run(address.element)) {
      return ir::store(store.buffer, {address.element}, value);
    }
    const ir::Var whole = ir::var("value", value->type);
    std::vector<Stmt> stores;
    for (int i = 0; i < value->type.lanes; ++i) {
      stores.push_back(ir::store(store.buffer, {known.simplify(known.lanes.of(address.element, i))},
                                 ir::lane(whole, ir::index(i))));
    }
    return ir::let(whole, value, ir::block(std::move(stores)));
  }

  ir::Var grid_;
  std::unordered_map<const ir::BufferNode*, ir::Buffer> words_;
  const int64_t longest_stride_;
  std::unordered_map<const ir::BufferNode*, int> neighbours_;
};

ir::Bounds bounds_of(const ir::Kernel& kernel) {
  ir::Bounds bounds;
  for (const ir::Var& scalar : kernel.scalars) bounds.set(scalar.get(), {0, ir::Range{}.high});
  return bounds;
}

}  // namespace

ir::Kernel flatten_access(const ir::Kernel& kernel, int64_t longest_stride) {
  ir::Kernel result = kernel;
  const ir::Bounds bounds = bounds_of(kernel);
  Flattener flattener(longest_stride);
  result.body = ir::simplify(flattener.run(kernel.body, bounds), bounds);
  for (ir::Kernel::Param& param : result.params) {
    if (param.buffer->layout.pack > 1) param.buffer = flattener.words_of(param.buffer);
  }
  return result;
}

std::vector<int> neighbours_stored(const ir::Kernel& kernel) {
  Flattener flattener;
  flattener.run(kernel.body, bounds_of(kernel));
  std::vector<int> result;
  for (const ir::Kernel::Param& param : kernel.params)
    result.push_back(flattener.neighbours_stored(param.buffer));
  return result;
}

Expr physical_elements(const ir::BufferNode& buffer) {
  Expr all = ir::index(1);
  for (const Expr& e : physical_extents(buffer)) all = all * e;
  return ir::simplify(all);
}

}  // namespace gossamer::passes
