#include "interp/eval.h"

#include <algorithm>
#include <memory>

#include "interp/tape.h"

namespace gossamer::interp {
namespace {

using ir::as;
using ir::Buffer;
using ir::BufferNode;
using ir::Expr;
using ir::NodeKind;
using ir::Stmt;

struct Region {
  Place place;
  std::vector<std::byte>* bytes;  // null: each invocation has its own,
  size_t own = 0;                 // of this number
};

// One invocation: its variables and its private memory.
struct Invocation {
  std::vector<Scalar> frame;
  std::vector<std::vector<std::byte>> own;
};
using Active = std::vector<Invocation*>;

class Machine {
 public:
  Machine(const ir::Kernel& kernel, Memory& memory, std::span<const int64_t> scalars,
          std::optional<Chunk> chunk)
      : kernel_(kernel), memory_(memory), scalars_(scalars), chunk_(chunk) {}

  Result<> run() {
    if (scalars_.size() != kernel_.scalars.size()) {
      return fail(
          cat(kernel_.name, " takes ", kernel_.scalars.size(), " scalars, not ", scalars_.size()));
    }
    Invocation first;
    for (size_t i = 0; i < scalars_.size(); ++i) {
      set(first, frame_.place(kernel_.scalars[i].get()), scalars_[i]);
    }
    for (const ir::Kernel::Param& param : kernel_.params) {
      GS_TRY(add_region(param.buffer, first, memory_[param.buffer.get()]));
    }
    return stmt(kernel_.body, {&first});
  }

 private:
  std::unexpected<Diagnostic> error(std::string message) const {
    return fail_at("kernel " + kernel_.name, std::move(message));
  }

  static void set(Invocation& in, size_t place, std::span<const Scalar> lanes) {
    if (in.frame.size() < place + lanes.size()) in.frame.resize(place + lanes.size());
    std::copy(lanes.begin(), lanes.end(), in.frame.begin() + static_cast<int64_t>(place));
  }
  static void set(Invocation& in, size_t place, int64_t value) {
    const Scalar scalar{ir::DType::index, value, 0};
    set(in, place, {&scalar, 1});
  }

  Tape& tape_of(const Expr& e) {
    auto& tape = tapes_[e.get()];
    if (!tape) tape = std::make_unique<Tape>(e, frame_);
    return *tape;
  }
  // Valid until the same tape runs again.
  std::span<const Scalar> eval(Tape& tape, Invocation& in) {
    if (in.frame.size() < frame_.size()) in.frame.resize(frame_.size());
    return tape.run(in.frame, [&](const ir::Load& l, std::span<const int64_t> indices, int lane) {
      return load(l, indices, lane, in);
    });
  }
  int64_t eval_int(const Expr& e, Invocation& in) { return eval(tape_of(e), in)[0].i; }

  Result<> add_region(const Buffer& buffer, Invocation& in, std::vector<std::byte>& bytes) {
    std::vector<int64_t> extents;
    for (const Expr& extent : buffer->shape) extents.push_back(eval_int(extent, in));
    Place place(*buffer, std::move(extents));
    const auto size = static_cast<size_t>(place.elements() * ir::byte_size(buffer->storage));
    if (bytes.empty()) bytes.assign(size, std::byte{0xff});
    if (bytes.size() < size) {
      return error(cat("'", buffer->name, "' needs ", size, " bytes, has ", bytes.size()));
    }
    regions_.insert_or_assign(buffer.get(), Region{std::move(place), &bytes});
    last_ = nullptr;
    return {};
  }

  // The bytes of an element in this invocation's view; null outside of the buffer.
  std::byte* address(const Buffer& buffer, std::span<const int64_t> indices, ir::DType element,
                     int lane, bool texel, Invocation& in) {
    if (last_ != buffer.get()) {
      const auto found = regions_.find(buffer.get());
      GS_CHECK(found != regions_.end(), "buffer ", buffer->name, " is not in scope");
      last_ = buffer.get();
      last_region_ = &found->second;
    }
    const Place& place = last_region_->place;
    std::vector<std::byte>* bytes = last_region_->bytes;
    if (!bytes) bytes = &in.own[last_region_->own];
    int64_t offset;
    if (texel) {
      offset = place.texel_offset(indices[0], indices[1], indices[2]);
      if (offset >= 0) offset += lane;
    } else if (indices.size() == buffer->shape.size()) {
      offset = place.offset(indices);
    } else {
      offset = indices[0];
    }
    const auto size = static_cast<int64_t>(ir::byte_size(element));
    if (offset < 0 || (offset + 1) * size > static_cast<int64_t>(bytes->size())) return nullptr;
    return bytes->data() + offset * size;
  }

  static bool is_texel(const Buffer& buffer, const std::vector<Expr>& indices, int lanes) {
    return buffer->layout.memory == ir::Memory::texture && indices.size() == 3 && lanes == 4 &&
           std::ranges::all_of(indices, [](const Expr& i) { return i->type.is_scalar(); });
  }

  // The memory of a buffer holds its storage type; passes make loads of either type.
  Scalar load(const ir::Load& l, std::span<const int64_t> indices, int lane, Invocation& in) {
    const bool texel = is_texel(l.buffer, l.indices, l.type.lanes);
    std::byte* at = address(l.buffer, indices, l.buffer->storage, lane, texel, in);
    if (!at) {
      std::byte ones[8];
      std::fill_n(ones, 8, std::byte{0xff});
      return ir::read_scalar(l.type.dtype, ones);
    }
    if (l.buffer->storage == l.type.dtype) return ir::read_scalar(l.type.dtype, at);
    return ir::convert(l.type.dtype, ir::read_scalar(l.buffer->storage, at));
  }

  Result<> stmt(const Stmt& s, const Active& active) {
    if (!s || active.empty()) return {};
    switch (s->kind) {
      case NodeKind::Block:
        for (const Stmt& one : as<ir::Block>(s)->stmts) GS_TRY(stmt(one, active));
        return {};
      case NodeKind::Let: {
        auto* l = as<ir::Let>(s);
        const size_t place = frame_.place(l->var.get());
        Tape& value = tape_of(l->value);
        for (Invocation* in : active) set(*in, place, eval(value, *in));
        return stmt(l->body, active);
      }
      case NodeKind::For:
        return loop(*as<ir::For>(s), active);
      case NodeKind::While: {
        auto* w = as<ir::While>(s);
        Active still = active;
        Tape& condition = tape_of(w->condition);
        while (true) {
          std::erase_if(still, [&](Invocation* in) { return !eval(condition, *in)[0].truthy(); });
          if (still.empty()) return {};
          GS_TRY(stmt(w->body, still));
        }
      }
      case NodeKind::If: {
        auto* i = as<ir::If>(s);
        Active yes, no;
        Tape& condition = tape_of(i->condition);
        for (Invocation* in : active) (eval(condition, *in)[0].truthy() ? yes : no).push_back(in);
        GS_TRY(stmt(i->yes, yes));
        return stmt(i->no, no);
      }
      case NodeKind::Store:
        return store(*as<ir::Store>(s), active);
      case NodeKind::Alloc:
        return alloc(*as<ir::Alloc>(s), active);
      case NodeKind::Barrier:
        if (active.size() != group_size_) {
          return error(
              cat("a barrier reached by ", active.size(), " of ", group_size_, " invocations"));
        }
        return {};
      default:
        return error(cat("cannot run ", ir::name_of(s->kind), " here"));
    }
  }

  Result<> loop(const ir::For& f, const Active& active) {
    if (f.loop == ir::LoopKind::group) return group(f, *active[0]);
    std::vector<int64_t> extents;
    for (Invocation* in : active) extents.push_back(eval_int(f.extent, *in));
    const auto [least, most] = std::minmax_element(extents.begin(), extents.end());
    int64_t begin = 0, end = *most;
    const int64_t together = *least;  // iterations that all of them have
    const size_t place = frame_.place(f.var.get());
    if (f.loop == ir::LoopKind::grid && chunk_) {
      begin = chunk_->begin;
      end = std::min(end, chunk_->end);
    }
    for (int64_t i = begin; i < end; ++i) {
      Active still;
      for (size_t k = 0; k < active.size(); ++k) {
        if (i >= extents[k]) continue;
        set(*active[k], place, i);
        if (i >= together) still.push_back(active[k]);
      }
      GS_TRY(stmt(f.body, i < together ? active : still));
    }
    return {};
  }

  Result<> group(const ir::For& f, Invocation& parent) {
    const int64_t extent = eval_int(f.extent, parent);
    std::vector<Invocation> members(static_cast<size_t>(std::max<int64_t>(extent, 0)), parent);
    Active all;
    for (size_t i = 0; i < members.size(); ++i) {
      set(members[i], frame_.place(f.var.get()), static_cast<int64_t>(i));
      all.push_back(&members[i]);
    }
    const size_t outer = std::exchange(group_size_, all.size());
    Result<> result = stmt(f.body, all);
    group_size_ = outer;
    return result;
  }

  Result<> alloc(const ir::Alloc& a, const Active& active) {
    const BufferNode* buffer = a.buffer.get();
    std::vector<std::byte> shared;
    GS_TRY(add_region(a.buffer, *active[0], shared));
    const size_t number = own_;
    if (buffer->scope == ir::Scope::priv) {
      Region& region = regions_.at(buffer);
      region.bytes = nullptr;
      region.own = own_++;
      for (Invocation* in : active) {
        in->own.resize(std::max(in->own.size(), own_));
        in->own[number] = shared;
      }
    }
    Result<> result = stmt(a.body, active);
    own_ = number;
    regions_.erase(buffer);
    last_ = nullptr;
    return result;
  }

  Result<> store(const ir::Store& s, const Active& active) {
    const size_t rank = s.indices.size();
    Tape& value = tape_of(s.value);
    std::vector<Tape*> indices;
    for (const Expr& index : s.indices) indices.push_back(&tape_of(index));
    std::vector<int64_t> points;
    for (Invocation* in : active) {
      const auto lanes = eval(value, *in);
      points.resize(lanes.size() * rank);
      for (size_t d = 0; d < rank; ++d) {
        const auto index = eval(*indices[d], *in);
        for (size_t i = 0; i < lanes.size(); ++i)
          points[i * rank + d] = index[index.size() == 1 ? 0 : i].i;
      }
      const bool texel = is_texel(s.buffer, s.indices, static_cast<int>(lanes.size()));
      for (size_t i = 0; i < lanes.size(); ++i) {
        const std::span<const int64_t> point(points.data() + i * rank, rank);
        std::byte* at =
            address(s.buffer, point, s.buffer->storage, static_cast<int>(i), texel, *in);
        if (!at) {
          std::string where;
          for (int64_t x : point) where += cat(where.empty() ? "" : ", ", x);
          return error(cat("a store outside of '", s.buffer->name, "': [", where, "]"));
        }
        ir::write_scalar(ir::convert(s.buffer->storage, lanes[i]), at);
      }
    }
    return {};
  }

  const ir::Kernel& kernel_;
  Memory& memory_;
  std::span<const int64_t> scalars_;
  std::optional<Chunk> chunk_;
  Frame frame_;
  std::unordered_map<const ir::Node*, std::unique_ptr<Tape>> tapes_;
  std::unordered_map<const BufferNode*, Region> regions_;
  const BufferNode* last_ = nullptr;  // that address() looked for
  const Region* last_region_ = nullptr;
  size_t group_size_ = 1;
  size_t own_ = 0;  // private buffers in scope
};

}  // namespace

Result<> run(const ir::Kernel& kernel, Memory& memory, std::span<const int64_t> scalars,
             std::optional<Chunk> chunk) {
  return Machine(kernel, memory, scalars, chunk).run();
}

std::vector<int64_t> extents_of(const ir::BufferNode& buffer, const ir::Kernel& kernel,
                                std::span<const int64_t> scalars) {
  GS_CHECK(scalars.size() == kernel.scalars.size(), "scalars of ", kernel.name);
  Frame frame;
  std::vector<Scalar> values;
  for (size_t i = 0; i < kernel.scalars.size(); ++i) {
    frame.place(kernel.scalars[i].get());
    values.push_back({ir::DType::index, scalars[i], 0});
  }
  std::vector<int64_t> extents;
  for (const Expr& extent : buffer.shape) {
    Tape tape(extent, frame);
    GS_CHECK(frame.size() == values.size(), "an extent of ", buffer.name, " is not known");
    extents.push_back(tape.run(values, {})[0].i);
  }
  return extents;
}

namespace {

// Calls back with the row-major number and the memory offset of every element.
template <class F>
void each_element(const Place& place, const F& callback) {
  const std::vector<int64_t>& extents = place.extents();
  std::vector<int64_t> point(extents.size());
  const int64_t count = place.logical_elements();
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n;
    for (size_t d = extents.size(); d-- > 0; rest /= extents[d]) point[d] = rest % extents[d];
    callback(static_cast<size_t>(n), static_cast<size_t>(place.offset(point)));
  }
}

}  // namespace

std::vector<std::byte> pack(const ir::BufferNode& buffer, const std::vector<int64_t>& extents,
                            std::span<const double> values) {
  const Place place(buffer, extents);
  const auto size = static_cast<size_t>(ir::byte_size(buffer.storage));
  std::vector<std::byte> bytes(static_cast<size_t>(place.elements()) * size, std::byte{0xff});
  each_element(place, [&](size_t n, size_t offset) {
    ir::write_scalar(Scalar::of_float(buffer.storage, values[n]), &bytes[offset * size]);
  });
  return bytes;
}

std::vector<double> unpack(const ir::BufferNode& buffer, const std::vector<int64_t>& extents,
                           std::span<const std::byte> bytes) {
  const Place place(buffer, extents);
  const auto size = static_cast<size_t>(ir::byte_size(buffer.storage));
  std::vector<double> values(static_cast<size_t>(place.logical_elements()));
  each_element(place, [&](size_t n, size_t offset) {
    values[n] = ir::read_scalar(buffer.storage, &bytes[offset * size]).as_double();
  });
  return values;
}

}  // namespace gossamer::interp
