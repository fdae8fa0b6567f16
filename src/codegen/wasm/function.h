// A function before it is bytes: hash-consed values placed in nested regions, and each region's
// ordered effects. A value is moved out of every loop that it does not vary in when it is made; the
// printer only writes down.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "codegen/wasm/opcodes.h"

namespace gossamer::codegen::wasm {

using ValueId = uint32_t;   // 0: none
using RegionId = uint32_t;  // 0: the function's body
using LocalId = uint32_t;   // virtual; the printer assigns real ones

// Inclusive bounds of an i32 value read as a signed number.
struct Interval {
  int64_t low = std::numeric_limits<int32_t>::min();
  int64_t high = std::numeric_limits<int32_t>::max();
};

struct Value {
  Op op = Op::none;
  ValType type = ValType::i32;
  bool ordered = false;  // depends on memory that the function writes: stays where it was made
  uint8_t lane = 0;
  RegionId region = 0;
  ValueId a = 0, b = 0, c = 0;
  uint64_t imm = 0, imm_high = 0;  // bits of a constant, address offset, number of a parameter, ...
  Interval range;
};

struct Item {
  enum class Kind : uint8_t { store, set_local, loop, branch, leave_unless, open_local };
  Kind kind;
  Op op = Op::none;      // store
  uint8_t lane = 0;      // store of one lane
  ValueId a = 0, b = 0;  // store: address, value; set_local: value in b; others: condition in a
  uint64_t imm = 0;      // store: offset; locals: its id (open until its region ends)
  RegionId region = 0, other = 0;  // loop: body; branch: the arms (other may be absent: 0)
};

struct Region {
  enum class Kind : uint8_t { function, grid, counted, while_true, arm };
  Kind kind = Kind::function;
  RegionId parent = 0;
  uint32_t depth = 0;
  bool runs = true;    // a loop known to run at least once
  ValueId extent = 0;  // counted: how often
  ValueId loop_var = 0;
  ValueId result = 0;  // an arm of if_else
  std::vector<Item> items;
  std::vector<ValueId> inductions;

  bool is_loop() const { return kind != Kind::function && kind != Kind::arm; }
};

class Function {
 public:
  Function();

  const Value& operator[](ValueId id) const { return values_[id]; }
  Region& region(RegionId id) { return regions_[id]; }
  const Region& region(RegionId id) const { return regions_[id]; }
  const std::vector<ValType>& locals() const { return locals_; }
  size_t value_count() const { return values_.size(); }
  size_t region_count() const { return regions_.size(); }

  // Where values and items are made.
  RegionId current() const { return current_; }
  void enter(RegionId id) { current_ = id; }
  RegionId add_region(Region::Kind kind);  // a child of the current one
  void add_item(Item item) { regions_[current_].items.push_back(item); }
  LocalId add_local(ValType type);

  // An effect-free operation: shared with an equal one that is visible here, simplified, hoisted.
  ValueId op(Op op, ValType type, ValueId a = 0, ValueId b = 0, ValueId c = 0, uint64_t imm = 0,
             uint64_t imm_high = 0, int lane = 0);
  // A load from memory. `order`: of memory that the function writes, a number that is another one
  // after each change. 0: it does not change, and the load moves out of loops that surely run.
  ValueId load(Op op, ValType type, ValueId address, uint64_t offset, uint32_t order,
               ValueId vector = 0, int lane = 0);
  ValueId i32(int64_t value);
  ValueId i64(int64_t value);
  ValueId f32(float value);
  ValueId f64(double value);
  ValueId v128(uint64_t low, uint64_t high);
  ValueId get_local(LocalId local, bool ordered);
  ValueId loop_variable(RegionId loop, Interval range);
  ValueId induction(RegionId loop, ValueId first, ValueId step);
  ValueId if_else(ValueId condition, RegionId yes, RegionId no, ValType type);
  void set_range(ValueId id, Interval range) { values_[id].range = range; }
  // Call after every effect on ordered memory: what was read before is not what would be read now.
  void memory_changed() { ++version_; }
  uint32_t version() const { return version_; }
  // The order of what may change at any time.
  uint32_t order() const { return version_ + 1; }

  // The constant that an i32 value is known to be.
  bool is_i32(ValueId id, int64_t* value = nullptr) const;
  bool visible(RegionId inner) const;  // `inner` encloses (or is) the current region
  bool encloses(RegionId outer, RegionId inner) const;

 private:
  ValueId intern(Value value, bool is_load);
  ValueId fold(Op op, ValueId a, ValueId b);
  RegionId place(const Value& value, bool is_load) const;
  void grow();

  std::vector<Value> values_;
  std::vector<Region> regions_;
  std::vector<ValType> locals_;
  std::vector<uint32_t> table_;  // open addressing by content
  RegionId current_ = 0;
  uint32_t version_ = 0;
};

// Bounds of the result of an i32 operation.
Interval range_of(Op op, Interval a, Interval b);

}  // namespace gossamer::codegen::wasm
