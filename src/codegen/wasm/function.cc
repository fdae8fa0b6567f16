#include "codegen/wasm/function.h"

#include <bit>

#include "base/result.h"

namespace gossamer::codegen::wasm {
namespace {

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

uint64_t hash_of(const Value& v) {
  uint64_t hash = mix(static_cast<uint64_t>(v.op), static_cast<uint64_t>(v.type) << 8 | v.lane);
  hash = mix(hash, (static_cast<uint64_t>(v.a) << 32) | v.b);
  return mix(mix(mix(hash, v.c), v.imm), v.imm_high);
}

bool same_content(const Value& x, const Value& y) {
  return x.op == y.op && x.type == y.type && x.lane == y.lane && x.a == y.a && x.b == y.b &&
         x.c == y.c && x.imm == y.imm && x.imm_high == y.imm_high;
}

}  // namespace

Function::Function() {
  values_.emplace_back();  // 0 is no value
  values_.reserve(256);
  regions_.emplace_back();
  table_.assign(512, 0);
}

RegionId Function::add_region(Region::Kind kind) {
  Region region;
  region.kind = kind;
  region.parent = current_;
  region.depth = regions_[current_].depth + 1;
  regions_.push_back(std::move(region));
  return static_cast<RegionId>(regions_.size() - 1);
}

LocalId Function::add_local(ValType type) {
  locals_.push_back(type);
  return static_cast<LocalId>(locals_.size() - 1);
}

bool Function::encloses(RegionId outer, RegionId inner) const {
  while (regions_[inner].depth > regions_[outer].depth) inner = regions_[inner].parent;
  return inner == outer;
}

bool Function::visible(RegionId id) const { return encloses(id, current_); }

// The outermost place that needs no computing on paths that would not have needed it: out of loops,
// not out of arms.
RegionId Function::place(const Value& value, bool is_load) const {
  if (value.ordered || value.op == Op::if_else) return current_;
  RegionId deepest = 0;
  for (ValueId operand : {value.a, value.b, value.c}) {
    if (!operand) continue;
    const RegionId region = values_[operand].region;
    if (regions_[region].depth > regions_[deepest].depth) deepest = region;
  }
  RegionId best = current_;
  for (RegionId at = current_; at != deepest; at = regions_[at].parent) {
    const Region& region = regions_[at];
    if (region.is_loop()) {
      if (is_load && !region.runs) break;
      best = region.parent;
    } else if (is_load) {
      break;
    }
  }
  return best;
}

ValueId Function::intern(Value value, bool is_load) {
  const size_t mask = table_.size() - 1;
  size_t slot = hash_of(value) & mask;
  while (table_[slot] != 0) {
    const Value& found = values_[table_[slot]];
    if (same_content(found, value)) {
      if (visible(found.region)) return table_[slot];
      break;  // made in a region that has been left: forget it
    }
    slot = (slot + 1) & mask;
  }
  value.region = place(value, is_load);
  const auto id = static_cast<ValueId>(values_.size());
  values_.push_back(value);
  table_[slot] = id;
  if (values_.size() * 2 > table_.size()) grow();
  return id;
}

void Function::grow() {
  table_.assign(table_.size() * 2, 0);
  const size_t mask = table_.size() - 1;
  // Latest first, so that of equal values the one made last is found.
  for (size_t id = values_.size() - 1; id > 0; --id) {
    size_t slot = hash_of(values_[id]) & mask;
    bool known = false;
    while (table_[slot] != 0 && !known) {
      known = same_content(values_[table_[slot]], values_[id]);
      slot = (slot + 1) & mask;
    }
    if (!known) table_[slot] = static_cast<uint32_t>(id);
  }
}

ValueId Function::op(Op op, ValType type, ValueId a, ValueId b, ValueId c, uint64_t imm,
                     uint64_t imm_high, int lane) {
  if (c == 0 && imm == 0 && imm_high == 0 && lane == 0) {
    if (ValueId same = fold(op, a, b)) return same;
  }
  Value value;
  value.op = op;
  value.type = type;
  value.lane = static_cast<uint8_t>(lane);
  value.a = a;
  value.b = b;
  value.c = c;
  value.imm = imm;
  value.imm_high = imm_high;
  for (ValueId operand : {a, b, c}) value.ordered |= operand && values_[operand].ordered;
  if (type == ValType::i32) {
    if (op == Op::select) {
      value.range = {std::min(values_[a].range.low, values_[b].range.low),
                     std::max(values_[a].range.high, values_[b].range.high)};
    } else {
      value.range =
          range_of(op, a ? values_[a].range : Interval{}, b ? values_[b].range : Interval{});
    }
  }
  return intern(value, false);
}

ValueId Function::load(Op op, ValType type, ValueId address, uint64_t offset, uint32_t order,
                       ValueId vector, int lane) {
  Value value;
  value.op = op;
  value.type = type;
  value.lane = static_cast<uint8_t>(lane);
  value.a = address;
  value.b = vector;
  value.imm = offset;
  value.ordered = order != 0 || values_[address].ordered || (vector && values_[vector].ordered);
  value.imm_high = order;
  switch (op) {
    case Op::i32_load8_s:
      value.range = {-128, 127};
      break;
    case Op::i32_load8_u:
      value.range = {0, 255};
      break;
    case Op::i32_load16_s:
      value.range = {-32768, 32767};
      break;
    case Op::i32_load16_u:
      value.range = {0, 65535};
      break;
    default:
      break;
  }
  return intern(value, true);
}

ValueId Function::i32(int64_t number) {
  Value value;
  value.op = Op::i32_const;
  const auto wrapped = static_cast<int32_t>(number);
  value.imm = static_cast<uint64_t>(static_cast<int64_t>(wrapped));
  value.range = {wrapped, wrapped};
  return intern(value, false);
}

ValueId Function::i64(int64_t number) {
  return op(Op::i64_const, ValType::i64, 0, 0, 0, static_cast<uint64_t>(number), 1);
}
ValueId Function::f32(float number) {
  return op(Op::f32_const, ValType::f32, 0, 0, 0, std::bit_cast<uint32_t>(number), 1);
}
ValueId Function::f64(double number) {
  return op(Op::f64_const, ValType::f64, 0, 0, 0, std::bit_cast<uint64_t>(number), 1);
}
ValueId Function::v128(uint64_t low, uint64_t high) {
  Value value;
  value.op = Op::v128_const;
  value.type = ValType::v128;
  value.imm = low;
  value.imm_high = high;
  return intern(value, false);
}

ValueId Function::get_local(LocalId local, bool ordered) {
  Value value;
  value.op = Op::local_get;
  value.type = locals_[local];
  value.imm = local;
  value.ordered = ordered;
  value.imm_high = ordered ? version_ + 1 : 0;
  const size_t before = values_.size();
  const ValueId id = intern(value, false);
  // A local that is set once belongs to where it is set.
  if (!ordered && values_.size() != before) values_[id].region = current_;
  return id;
}

ValueId Function::loop_variable(RegionId loop, Interval range) {
  Value value;
  value.op = Op::loop_var;
  value.imm = loop;
  value.region = loop;
  value.range = range;
  values_.push_back(value);
  return regions_[loop].loop_var = static_cast<ValueId>(values_.size() - 1);
}

ValueId Function::induction(RegionId loop, ValueId first, ValueId step) {
  Value value;
  value.op = Op::induction;
  value.type = values_[first].type;
  value.a = first;
  value.b = step;
  value.imm = loop;
  // Only the loop it counts in may share it, wherever in there it was asked for first.
  const RegionId saved = current_;
  current_ = loop;
  const size_t before = values_.size();
  value.ordered = true;  // keeps it in the loop
  const ValueId id = intern(value, false);
  if (values_.size() != before) {
    values_[id].ordered = false;
    regions_[loop].inductions.push_back(id);
  }
  current_ = saved;
  return id;
}

ValueId Function::if_else(ValueId condition, RegionId yes, RegionId no, ValType type) {
  Value value;
  value.op = Op::if_else;
  value.type = type;
  value.a = condition;
  value.imm = yes;
  value.imm_high = no;
  value.ordered = values_[condition].ordered || values_[regions_[yes].result].ordered ||
                  values_[regions_[no].result].ordered;
  return intern(value, false);
}

bool Function::is_i32(ValueId id, int64_t* number) const {
  if (values_[id].op != Op::i32_const) return false;
  if (number) *number = static_cast<int64_t>(values_[id].imm);
  return true;
}

}  // namespace gossamer::codegen::wasm
