// Loads and stores: of memory through pointers and offsets, of private buffers with known indices
// as locals.
#include "codegen/wasm/lower.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::codegen::wasm {

using ir::DType;
using ir::Expr;

namespace {

Op scalar_load(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Op::f32_load;
    case DType::f64:
      return Op::f64_load;
    case DType::i64:
    case DType::u64:
      return Op::i64_load;
    case DType::i8:
      return Op::i32_load8_s;
    case DType::u8:
    case DType::boolean:
      return Op::i32_load8_u;
    case DType::i16:
      return Op::i32_load16_s;
    case DType::u16:
      return Op::i32_load16_u;
    default:
      return Op::i32_load;
  }
}

Op scalar_store(DType dtype) {
  switch (byte_size(dtype)) {
    case 1:
      return Op::i32_store8;
    case 2:
      return Op::i32_store16;
    case 4:
      return dtype == DType::f32 ? Op::f32_store : Op::i32_store;
    default:
      return dtype == DType::f64 ? Op::f64_store : Op::i64_store;
  }
}

struct Fixed {
  bool constant = false;
  int64_t first = 0;
  int lanes = 1;
};

// An index known at compile time: a number, or consecutive numbers.
Fixed known_index(const Expr& index) {
  if (auto number = ir::as_int(index)) return {true, *number, 1};
  if (auto* ramp = ir::as<ir::Ramp>(index); ramp && ramp->stride == 1) {
    if (auto number = ir::as_int(ramp->base)) return {true, *number, ramp->type.lanes};
  }
  return {};
}

void note(Usage& usage, DType dtype, const Expr& index) {
  const Fixed known = known_index(index);
  if (!known.constant) {
    usage.constant = false;
    return;
  }
  usage.elements = std::max(usage.elements, known.first + known.lanes);
  if (known.lanes == 1) return;
  usage.vectors = true;
  if (known.first % lanes_per_piece(dtype) != 0) usage.aligned = false;
}

}  // namespace

std::unordered_map<const ir::BufferNode*, Usage> usage_of(const ir::Stmt& body) {
  std::unordered_map<const ir::BufferNode*, Usage> usages;
  std::unordered_map<const ir::ExprNode*, bool> seen;
  auto on_expr = [&](const Expr& e) {
    if (e->references > 1 && !seen.emplace(e.get(), true).second) return false;
    if (auto* load = ir::as<ir::Load>(e)) {
      GS_CHECK(load->indices.size() == 1, "access of ", load->buffer->name, " is not flat");
      Usage& usage = usages[load->buffer.get()];
      usage.read = true;
      note(usage, load->buffer->dtype, load->indices[0]);
    }
    return true;
  };
  auto on_stmt = [&](const ir::Stmt& s) {
    if (auto* store = ir::as<ir::Store>(s)) {
      GS_CHECK(store->indices.size() == 1, "access of ", store->buffer->name, " is not flat");
      Usage& usage = usages[store->buffer.get()];
      usage.written = true;
      note(usage, store->buffer->dtype, store->indices[0]);
    }
    return true;
  };
  ir::visit(body, on_stmt, on_expr);
  return usages;
}

Address Lowering::address(const Place& place, const Linear& bytes) {
  Address at = addresses_.address_of(place.base, bytes);
  if (!guarded_) return at;
  // The lane may not be wanted, and its index be anything: stay below the end of memory.
  ValueId whole =
      f_.op(Op::i32_add, ValType::i32, at.pointer, f_.i32(static_cast<int64_t>(at.offset)));
  const ValueId pages = f_.op(Op::memory_size, ValType::i32, 0, 0, 0, 0, 1);
  const ValueId size = f_.op(Op::i32_shl, ValType::i32, pages, f_.i32(16));
  const ValueId limit = f_.op(Op::i32_sub, ValType::i32, size, f_.i32(80));
  const ValueId inside = f_.op(Op::i32_lt_u, ValType::i32, whole, limit);
  return {f_.op(Op::select, ValType::i32, whole, f_.i32(0), inside), 0};
}

const Place* Lowering::memory_of(const Expr& e) {
  auto* load = ir::as<ir::Load>(e);
  if (!load || !e->type.is_scalar()) return nullptr;
  const auto found = places_.find(load->buffer.get());
  GS_CHECK(found != places_.end(), "no memory for ", load->buffer->name);
  return found->second.kind == Place::Kind::memory ? &found->second : nullptr;
}

std::optional<Lowering::Word> Lowering::word_in_memory(const Expr& e) {
  const auto* cast = ir::as<ir::Bitcast>(e);
  const auto* load = cast ? ir::as<ir::Load>(cast->a) : nullptr;
  const auto* ramp = load ? ir::as<ir::Ramp>(load->indices[0]) : nullptr;
  if (!ramp || ramp->stride != 1 || !e->type.is_scalar() || byte_size(e->type.dtype) != 4)
    return {};
  const auto found = places_.find(load->buffer.get());
  GS_CHECK(found != places_.end(), "no memory for ", load->buffer->name);
  if (found->second.kind != Place::Kind::memory) return {};
  Word word{&found->second, {}};
  word.bytes.add(linear(ramp->base), byte_size(load->type.dtype));
  return word;
}

ValueId Lowering::load_scalar(DType dtype, const Place& place, const Linear& bytes) {
  const Address at = address(place, bytes);
  return f_.load(scalar_load(dtype), machine_type(dtype), at.pointer, at.offset, order_of(place));
}

Pieces Lowering::load(const ir::Load& e) {
  const auto found = places_.find(e.buffer.get());
  GS_CHECK(found != places_.end(), "no memory for ", e.buffer->name);
  const Place& place = found->second;
  if (place.kind == Place::Kind::locals) return load_local(e, place);
  const DType dtype = e.type.dtype;
  const int64_t size = byte_size(dtype);
  const Expr& index = e.indices[0];
  if (e.type.is_scalar()) {
    Linear bytes;
    bytes.add(linear(index), size);
    return {load_scalar(dtype, place, bytes)};
  }
  if (auto* ramp = ir::as<ir::Ramp>(index); ramp && ramp->stride == 1) {
    return load_contiguous(e, place, ramp->base);
  }
  if (auto* splat = ir::as<ir::Broadcast>(index)) {
    Linear bytes;
    bytes.add(linear(splat->a), size);
    return make_.splat(e.type, load_scalar(dtype, place, bytes));
  }
  if (auto* ramp = ir::as<ir::Ramp>(index);
      ramp && size == 4 && std::abs(ramp->stride) <= 3 && e.type.lanes % 4 == 0)
    return load_strided(e, place, *ramp);
  std::vector<std::pair<const Place*, Linear>> lanes;
  for (Linear& lane : lane_indices(index)) {
    Linear bytes;
    bytes.add(lane, size);
    lanes.emplace_back(&place, std::move(bytes));
  }
  return gather(dtype, lanes);
}

std::vector<Linear> Lowering::lane_indices(const Expr& index) {
  std::vector<Linear> lanes;
  const int count = index->type.lanes;
  if (auto* ramp = ir::as<ir::Ramp>(index)) {
    const Linear base = linear(ramp->base);
    for (int k = 0; k < count; ++k) {
      lanes.push_back(base);
      lanes.back().constant += ramp->stride * k;
    }
  } else if (auto* parts = ir::as<ir::MakeVector>(index)) {
    for (const Expr& part : parts->lanes) lanes.push_back(linear(part));
  } else {
    const Pieces pieces = vector(index);
    for (int k = 0; k < count; ++k)
      lanes.push_back(Linear::of_atom(make_.extract(DType::index, pieces, k)));
  }
  return lanes;
}

// Two vectors, from the first to the last of four lanes, have them all.
Pieces Lowering::load_strided(const ir::Load& e, const Place& place, const ir::Ramp& ramp) {
  const auto stride = static_cast<int>(std::abs(ramp.stride));
  const int second = 3 * stride - 3;  // where the second one begins
  const Linear base = linear(ramp.base);
  const auto vector_at = [&](int64_t element) {
    Linear bytes;
    bytes.add(base, 4);
    bytes.constant += 4 * element;
    const Address at = address(place, bytes);
    return f_.load(Op::v128_load, ValType::v128, at.pointer, at.offset, order_of(place));
  };
  const int words[] = {0, stride, 4 + 2 * stride - second, 7};
  Pieces result;
  for (int lane = 0; lane < e.type.lanes; lane += 4) {
    const int64_t first = ramp.stride * (ramp.stride < 0 ? lane + 3 : lane);
    const ValueId a = vector_at(first), b = vector_at(first + second);
    result.push_back(ramp.stride < 0
                         ? make_.shuffle_words(a, b, words[3], words[2], words[1], words[0])
                         : make_.shuffle_words(a, b, words[0], words[1], words[2], words[3]));
  }
  return result;
}

Pieces Lowering::load_contiguous(const ir::Load& e, const Place& place, const Expr& first) {
  const DType dtype = e.type.dtype;
  const int size = byte_size(dtype), step = lanes_per_piece(dtype);
  const Linear base = linear(first);
  Pieces result;
  for (int lane = 0; lane < e.type.lanes; lane += step) {
    Linear bytes;
    bytes.add(base, size);
    bytes.constant += static_cast<int64_t>(lane) * size;
    const Address at = address(place, bytes);
    auto load = [&](Op op) {
      return f_.load(op, ValType::v128, at.pointer, at.offset, order_of(place));
    };
    auto convert = [&](Op op, ValueId a) { return f_.op(op, ValType::v128, a); };
    switch (size) {
      case 1: {
        const bool is_signed = dtype == DType::i8;
        ValueId piece = load(Op::v128_load32_zero);
        piece =
            convert(is_signed ? Op::i16x8_extend_low_i8x16_s : Op::i16x8_extend_low_i8x16_u, piece);
        piece =
            convert(is_signed ? Op::i32x4_extend_low_i16x8_s : Op::i32x4_extend_low_i16x8_u, piece);
        if (dtype == DType::boolean)
          piece = f_.op(Op::i32x4_ne, ValType::v128, piece, f_.v128(0, 0));
        result.push_back(piece);
        break;
      }
      case 2:
        result.push_back(load(dtype == DType::i16 ? Op::v128_load16x4_s : Op::v128_load16x4_u));
        break;
      default:
        result.push_back(load(Op::v128_load));
        break;
    }
  }
  return result;
}

Pieces Lowering::gather(DType dtype, const std::vector<std::pair<const Place*, Linear>>& lanes) {
  if (byte_size(dtype) < 4) {
    std::vector<ValueId> values;
    for (auto& [place, bytes] : lanes) values.push_back(load_scalar(dtype, *place, bytes));
    return make_.build(dtype, values);
  }
  const size_t step = static_cast<size_t>(lanes_per_piece(dtype));
  const bool wide = step == 2;
  Pieces result;
  for (size_t first = 0; first < lanes.size(); first += step) {
    ValueId piece = 0;
    for (size_t k = 0; k < step && first + k < lanes.size(); ++k) {
      const Place& place = *lanes[first + k].first;
      const Address at = address(place, lanes[first + k].second);
      const Op op = k == 0 ? (wide ? Op::v128_load64_zero : Op::v128_load32_zero)
                           : (wide ? Op::v128_load64_lane : Op::v128_load32_lane);
      piece = f_.load(op, ValType::v128, at.pointer, at.offset, order_of(place), piece,
                      static_cast<int>(k));
    }
    result.push_back(piece);
  }
  return result;
}

Pieces Lowering::make_vector(const ir::MakeVector& e) {
  const DType dtype = e.type.dtype;
  std::vector<std::pair<const Place*, Linear>> gathered;
  for (const Expr& lane : e.lanes) {
    const Place* place = memory_of(lane);
    if (!place) break;
    Linear bytes;
    bytes.add(linear(ir::as<ir::Load>(lane)->indices[0]), byte_size(dtype));
    gathered.emplace_back(place, std::move(bytes));
  }
  if (gathered.size() == e.lanes.size()) return gather(dtype, gathered);
  std::vector<ValueId> lanes;
  for (const Expr& lane : e.lanes) lanes.push_back(scalar(lane));
  return make_.build(dtype, lanes);
}

Pieces Lowering::load_local(const ir::Load& e, const Place& place) {
  const Fixed known = known_index(e.indices[0]);
  const DType dtype = e.buffer->dtype;
  auto group = [&](int64_t element) {
    return f_.get_local(place.locals[static_cast<size_t>(element / place.lanes)], true);
  };
  if (e.type.is_scalar()) {
    const ValueId local = group(known.first);
    if (place.lanes == 1) return {local};
    return {make_.extract(dtype, {local}, static_cast<int>(known.first % place.lanes))};
  }
  Pieces pieces;
  for (int lane = 0; lane < known.lanes; lane += place.lanes)
    pieces.push_back(group(known.first + lane));
  return pieces;
}

// Moves what was read from memory that changes into locals of its own.
void Lowering::settle(Pieces& pieces) {
  for (ValueId& piece : pieces) {
    if (!f_[piece].ordered) continue;
    const LocalId local = f_.add_local(f_[piece].type);
    f_.add_item({.kind = Item::Kind::open_local, .imm = local});
    f_.add_item({.kind = Item::Kind::set_local, .b = piece, .imm = local});
    const Interval range = f_[piece].range;
    piece = f_.get_local(local, false);
    f_.set_range(piece, range);
  }
}

bool Lowering::reads_local(ValueId id, LocalId local) const {
  const Value& value = f_[id];
  if (!value.ordered) return false;
  if (value.op == Op::local_get) return value.imm == local;
  if (value.op == Op::if_else) return true;  // its arms are not looked into
  for (ValueId operand : {value.a, value.b, value.c}) {
    if (operand && reads_local(operand, local)) return true;
  }
  return false;
}

void Lowering::store_item(Op op, Address at, ValueId stored, int lane) {
  f_.add_item({.kind = Item::Kind::store,
               .op = op,
               .lane = static_cast<uint8_t>(lane),
               .a = at.pointer,
               .b = stored,
               .imm = at.offset});
}

void Lowering::store_local(const ir::Store& s, Place& place) {
  const Fixed known = known_index(s.indices[0]);
  const DType dtype = s.buffer->dtype;
  auto set = [&](int64_t element, ValueId stored) {
    f_.add_item({.kind = Item::Kind::set_local,
                 .b = stored,
                 .imm = place.locals[static_cast<size_t>(element / place.lanes)]});
  };
  Pieces pieces = value(s.value);
  if (known.lanes > 1) {
    // All reads come before all writes: a later piece may be made of what an earlier one was.
    bool crossed = false;
    for (size_t k = 1; k < pieces.size(); ++k) {
      for (size_t before = 0; before < k; ++before) {
        const size_t written = static_cast<size_t>(known.first / place.lanes) + before;
        crossed = crossed || reads_local(pieces[k], place.locals[written]);
      }
    }
    if (crossed) settle(pieces);
    for (size_t k = 0; k < pieces.size(); ++k) {
      const int64_t element = known.first + static_cast<int64_t>(k) * place.lanes;
      const int rest = known.lanes - static_cast<int>(k) * place.lanes;
      ValueId stored = pieces[k];
      if (rest < place.lanes) {  // keep the lanes behind the vector's end
        ValueId merged =
            f_.get_local(place.locals[static_cast<size_t>(element / place.lanes)], true);
        for (int lane = 0; lane < rest; ++lane) {
          merged = make_.replace(dtype, merged, lane, make_.extract(dtype, {stored}, lane));
        }
        stored = merged;
      }
      set(element, stored);
    }
  } else if (place.lanes == 1) {
    set(known.first, pieces[0]);
  } else {
    const ValueId old =
        f_.get_local(place.locals[static_cast<size_t>(known.first / place.lanes)], true);
    set(known.first,
        make_.replace(dtype, old, static_cast<int>(known.first % place.lanes), pieces[0]));
  }
  f_.memory_changed();
}

// `count` lanes of a piece to consecutive elements.
void Lowering::store_piece(DType dtype, ValueId base, const Linear& bytes, ValueId piece,
                           int count) {
  const int size = byte_size(dtype), whole = lanes_per_piece(dtype);
  if (dtype == DType::boolean) piece = make_.cast(DType::i32, ir::Type(dtype, 4), {piece})[0];
  if (size < 4) {
    // The low bytes of each lane, side by side.
    const uint64_t low = size == 1 ? 0x0c080400 : 0x0d0c090805040100;
    piece = f_.op(Op::i8x16_shuffle, ValType::v128, piece, piece, 0, low, low);
  }
  // In parts of powers of two.
  int done = 0;
  while (done < count) {
    int part = whole;
    while (part > count - done) part /= 2;
    Linear at = bytes;
    at.constant += static_cast<int64_t>(done) * size;
    Op op;
    switch (part * size) {
      case 16:
        op = Op::v128_store;
        break;
      case 8:
        op = Op::v128_store64_lane;
        break;
      case 4:
        op = Op::v128_store32_lane;
        break;
      case 2:
        op = Op::v128_store16_lane;
        break;
      default:
        op = Op::v128_store8_lane;
        break;
    }
    store_item(op, addresses_.address_of(base, at), piece, done / part);
    done += part;
  }
}

void Lowering::store(const ir::Store& s) {
  const auto found = places_.find(s.buffer.get());
  GS_CHECK(found != places_.end(), "no memory for ", s.buffer->name);
  Place& place = found->second;
  if (place.kind == Place::Kind::locals) return store_local(s, place);
  const DType dtype = s.value->type.dtype;
  const int64_t size = byte_size(dtype);
  const Expr& index = s.indices[0];
  if (index->type.is_scalar()) {
    GS_CHECK(s.value->type.is_scalar(), "vector stored to one element of ", s.buffer->name);
    Linear bytes;
    bytes.add(linear(index), size);
    const ValueId stored = scalar(s.value);
    store_item(scalar_store(dtype), addresses_.address_of(place.base, bytes), stored);
  } else {
    Pieces pieces = s.value->type.is_scalar()
                        ? make_.splat(index->type.with_dtype(dtype), scalar(s.value))
                        : vector(s.value);
    if (place.ordered) settle(pieces);
    const int step = lanes_per_piece(dtype), lanes = index->type.lanes;
    if (auto* ramp = ir::as<ir::Ramp>(index); ramp && ramp->stride == 1) {
      const Linear base = linear(ramp->base);
      for (int lane = 0; lane < lanes; lane += step) {
        Linear bytes;
        bytes.add(base, size);
        bytes.constant += lane * size;
        store_piece(dtype, place.base, bytes, pieces[static_cast<size_t>(lane / step)],
                    std::min(step, lanes - lane));
      }
    } else {
      int lane = 0;
      for (Linear& at : lane_indices(index)) {
        Linear bytes;
        bytes.add(at, size);
        store_item(scalar_store(dtype), addresses_.address_of(place.base, bytes),
                   make_.extract(dtype, pieces, lane++));
      }
    }
  }
  if (place.ordered) f_.memory_changed();
}

}  // namespace gossamer::codegen::wasm
