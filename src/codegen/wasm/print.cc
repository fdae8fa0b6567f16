#include "codegen/wasm/print.h"

#include <array>

#include "base/result.h"
#include "codegen/wasm/liveness.h"

namespace gossamer::codegen::wasm {

void append_unsigned(Bytes& bytes, uint64_t value) {
  while (value >= 0x80) {
    bytes.push_back(static_cast<uint8_t>(value) | 0x80);
    value >>= 7;
  }
  bytes.push_back(static_cast<uint8_t>(value));
}

void append_signed(Bytes& bytes, int64_t value) {
  while (value < -64 || value > 63) {
    bytes.push_back(static_cast<uint8_t>(value & 0x7f) | 0x80);
    value >>= 7;
  }
  bytes.push_back(static_cast<uint8_t>(value & 0x7f));
}

namespace {

constexpr uint8_t op_block = 0x02, op_loop = 0x03, op_if = 0x04, op_else = 0x05, op_end = 0x0b,
                  op_br = 0x0c, op_br_if = 0x0d, local_get = 0x20, local_set = 0x21,
                  local_tee = 0x22, type_none = 0x40;
constexpr int32_t no_local = -1;

class Printer {
 public:
  Printer(const Function& function, uint32_t params)
      : f_(function), live_(liveness_of(function)), params_(params) {
    local_of_.assign(function.value_count(), no_local);
    opened_.assign(function.locals().size(), no_local);
    release_.resize(function.region_count());
    code_.reserve(function.value_count() * 4);
  }

  Bytes run() {
    region(0);
    byte(op_end);
    return assemble();
  }

 private:
  struct Fixup {  // a local's number belongs here
    size_t at;
    uint32_t local;
  };

  void byte(uint8_t value) { code_.push_back(value); }
  void op(Op op) {
    const auto number = static_cast<uint32_t>(op);
    if (number < 0x100) return byte(static_cast<uint8_t>(number));
    byte(static_cast<uint8_t>(number >> 16));
    append_unsigned(code_, number & 0xffff);
  }
  void local(uint8_t name, int32_t which) {
    GS_CHECK(which != no_local, "use of a local that is not open");
    byte(name);
    fixups_.push_back({code_.size(), static_cast<uint32_t>(which)});
  }
  void i32(int64_t value) {
    op(Op::i32_const);
    append_signed(code_, value);
  }

  // Locals below params_ are the parameters; the others are numbered as they come and sorted by
  // type at the end.
  int32_t open(ValType type) {
    auto& free = free_[type_index(type)];
    if (!free.empty()) {
      const int32_t which = free.back();
      free.pop_back();
      return which;
    }
    types_.push_back(type);
    return static_cast<int32_t>(params_ + types_.size() - 1);
  }
  void close(int32_t which) {
    free_[type_index(types_[static_cast<uint32_t>(which) - params_])].push_back(which);
  }
  static size_t type_index(ValType type) { return 0x7f - static_cast<size_t>(type); }

  void bytes_of(uint64_t bits, int count) {
    for (int k = 0; k < count; ++k) byte(static_cast<uint8_t>(bits >> (8 * k)));
  }

  // Leaves the value on the stack.
  void use(ValueId id) {
    const Value& value = f_[id];
    switch (value.op) {
      case Op::i32_const:
        return i32(static_cast<int64_t>(value.imm));
      case Op::i64_const:
        op(value.op);
        return append_signed(code_, static_cast<int64_t>(value.imm));
      case Op::f32_const:
        op(value.op);
        return bytes_of(value.imm, 4);
      case Op::f64_const:
        op(value.op);
        return bytes_of(value.imm, 8);
      case Op::param:
        return local(local_get, static_cast<int32_t>(value.imm));
      case Op::local_get:
        return local(local_get, opened_[value.imm]);
      case Op::loop_var:
      case Op::induction:
        return local(local_get, local_of_[id]);
      default:
        break;
    }
    if (local_of_[id] != no_local) {
      local(local_get, local_of_[id]);
    } else {
      compute(id);
      if (live_.uses[id] > 1) local(local_tee, local_of_[id] = open(value.type));
    }
    used(id);
  }

  void used(ValueId id) {
    if (--live_.uses[id] != 0 || local_of_[id] == no_local) return;
    const RegionId home = f_[id].region;
    if (home == current_) {
      close(local_of_[id]);
      local_of_[id] = no_local;
    } else {
      release_[home].push_back(id);  // the next iteration needs it too
    }
  }

  void compute(ValueId id) {
    const Value& value = f_[id];
    if (value.op == Op::if_else) {
      const auto yes = static_cast<RegionId>(value.imm), no = static_cast<RegionId>(value.imm_high);
      prepare(yes);
      prepare(no);
      use(value.a);
      byte(op_if);
      byte(static_cast<uint8_t>(value.type));
      region(yes);
      byte(op_else);
      region(no);
      byte(op_end);
      return;
    }
    for (ValueId operand : {value.a, value.b, value.c}) {
      if (operand) use(operand);
    }
    // A lane's load takes the address first, then the vector: the order of the operands.
    op(value.op);
    immediates(value.op, value.imm, value.lane);
    switch (value.op) {
      case Op::v128_const:
      case Op::i8x16_shuffle:
        bytes_of(value.imm, 8);
        bytes_of(value.imm_high, 8);
        break;
      case Op::global_get:
      case Op::memory_size:
        byte(0);
        break;
      default:
        break;
    }
  }

  void immediates(Op op, uint64_t offset, uint8_t lane) {
    if (has_address(op)) {
      byte(0);  // no promise of alignment
      append_unsigned(code_, offset);
    }
    if (has_lane(op)) byte(lane);
  }

  // Values of the current region that `inner` will want.
  void prepare(RegionId inner) {
    for (ValueId id : live_.imports[inner]) {
      if (f_[id].region != current_ || local_of_[id] != no_local) continue;
      compute(id);
      local(local_set, local_of_[id] = open(f_[id].type));
    }
  }

  void region(RegionId id) {
    const RegionId outside = current_;
    current_ = id;
    std::vector<int32_t> mine;
    for (const Item& item : f_.region(id).items) {
      this->item(item, mine);
      for (ValueId value : release_[id]) {
        close(local_of_[value]);
        local_of_[value] = no_local;
      }
      release_[id].clear();
    }
    if (f_.region(id).result) use(f_.region(id).result);
    for (int32_t which : mine) close(which);
    current_ = outside;
  }

  void item(const Item& item, std::vector<int32_t>& mine) {
    switch (item.kind) {
      case Item::Kind::open_local:
        mine.push_back(opened_[item.imm] = open(f_.locals()[item.imm]));
        break;
      case Item::Kind::set_local:
        use(item.b);
        local(local_set, opened_[item.imm]);
        break;
      case Item::Kind::store:
        use(item.a);
        use(item.b);
        op(item.op);
        immediates(item.op, item.imm, item.lane);
        break;
      case Item::Kind::branch:
        prepare(item.region);
        if (item.other) prepare(item.other);
        use(item.a);
        byte(op_if);
        byte(type_none);
        region(item.region);
        if (item.other) {
          byte(op_else);
          region(item.other);
        }
        byte(op_end);
        break;
      case Item::Kind::leave_unless:
        use(item.a);
        op(Op::i32_eqz);
        byte(op_br_if);
        byte(1);
        break;
      case Item::Kind::loop:
        loop(item.region);
        break;
    }
  }

  void loop(RegionId id) {
    const Region& body = f_.region(id);
    prepare(id);
    std::vector<ValueId> inductions;
    for (ValueId induction : body.inductions) {
      if (live_.uses[induction] == 0) continue;
      inductions.push_back(induction);
      use(f_[induction].a);
      local(local_set, local_of_[induction] = open(f_[induction].type));
    }
    switch (body.kind) {
      case Region::Kind::grid:
        grid_loop(id, inductions);
        break;
      case Region::Kind::counted:
        counted_loop(id, inductions);
        break;
      default:
        byte(op_block);
        byte(type_none);
        byte(op_loop);
        byte(type_none);
        region(id);
        byte(op_br);
        byte(0);
        byte(op_end);
        byte(op_end);
        break;
    }
    for (ValueId induction : inductions) {
      close(local_of_[induction]);
      local_of_[induction] = no_local;
    }
  }

  void advance(RegionId id, const std::vector<ValueId>& inductions) {
    current_ = id;  // steps are used in the loop
    for (ValueId induction : inductions) {
      local(local_get, local_of_[induction]);
      use(f_[induction].b);
      op(Op::i32_add);
      local(local_set, local_of_[induction]);
    }
    for (ValueId value : release_[id]) close(local_of_[value]);
    release_[id].clear();
  }

  // The counter is the parameter `begin` itself.
  void grid_loop(RegionId id, const std::vector<ValueId>& inductions) {
    const RegionId outside = current_;
    const Region& body = f_.region(id);
    local_of_[body.loop_var] = 0;
    byte(op_loop);
    byte(type_none);
    region(id);
    advance(id, inductions);
    local(local_get, 0);
    i32(1);
    op(Op::i32_add);
    local(local_tee, 0);
    local(local_get, 1);
    op(Op::i32_lt_s);
    byte(op_br_if);
    byte(0);
    byte(op_end);
    local_of_[body.loop_var] = no_local;
    current_ = outside;
  }

  void counted_loop(RegionId id, const std::vector<ValueId>& inductions) {
    const RegionId outside = current_;
    const Region& body = f_.region(id);
    const bool up = live_.uses[body.loop_var] != 0;
    const int32_t counter = open(ValType::i32);
    if (!body.runs) {
      byte(op_block);
      byte(type_none);
      use(body.extent);
      if (!up) local(local_tee, counter);
      i32(0);
      op(Op::i32_le_s);
      byte(op_br_if);
      byte(0);
    } else if (!up) {
      use(body.extent);
      local(local_set, counter);
    }
    if (up) {
      i32(0);
      local(local_set, counter);
      local_of_[body.loop_var] = counter;
    }
    byte(op_loop);
    byte(type_none);
    region(id);
    advance(id, inductions);
    local(local_get, counter);
    i32(up ? 1 : -1);
    op(Op::i32_add);
    local(local_tee, counter);
    if (up) {
      use(body.extent);
      op(Op::i32_lt_s);
    }
    byte(op_br_if);
    byte(0);
    byte(op_end);
    if (!body.runs) byte(op_end);
    close(counter);
    local_of_[body.loop_var] = no_local;
    current_ = outside;
    for (ValueId value : release_[outside]) {
      close(local_of_[value]);
      local_of_[value] = no_local;
    }
    release_[outside].clear();
  }

  Bytes assemble() const {
    static constexpr ValType order[] = {ValType::i32, ValType::i64, ValType::f32, ValType::f64,
                                        ValType::v128};
    std::vector<uint32_t> number(types_.size());
    Bytes result;
    uint32_t groups = 0, next = params_;
    for (ValType type : order) {
      uint32_t count = 0;
      for (size_t k = 0; k < types_.size(); ++k) {
        if (types_[k] != type) continue;
        number[k] = next++;
        ++count;
      }
      if (count == 0) continue;
      ++groups;
      append_unsigned(result, count);
      result.push_back(static_cast<uint8_t>(type));
    }
    Bytes body;
    body.reserve(result.size() + code_.size() + fixups_.size() + 2);
    append_unsigned(body, groups);
    body.insert(body.end(), result.begin(), result.end());
    size_t done = 0;
    for (const Fixup& fixup : fixups_) {
      body.insert(body.end(), code_.begin() + static_cast<ptrdiff_t>(done),
                  code_.begin() + static_cast<ptrdiff_t>(fixup.at));
      done = fixup.at;
      append_unsigned(body, fixup.local < params_ ? fixup.local : number[fixup.local - params_]);
    }
    body.insert(body.end(), code_.begin() + static_cast<ptrdiff_t>(done), code_.end());
    return body;
  }

  const Function& f_;
  Liveness live_;
  uint32_t params_;
  Bytes code_;
  std::vector<Fixup> fixups_;
  std::vector<ValType> types_;                 // of the locals behind the parameters
  std::array<std::vector<int32_t>, 5> free_;   // by type
  std::vector<int32_t> local_of_;              // by value
  std::vector<int32_t> opened_;                // by virtual local
  std::vector<std::vector<ValueId>> release_;  // by region: locals that are free once back there
  RegionId current_ = 0;
};

}  // namespace

Bytes print(const Function& function, uint32_t params) { return Printer(function, params).run(); }

}  // namespace gossamer::codegen::wasm
