#include "codegen/wasm/liveness.h"

#include <algorithm>

namespace gossamer::codegen::wasm {

bool is_trivial(const Value& value) {
  switch (value.op) {
    case Op::param:
    case Op::loop_var:
    case Op::induction:
    case Op::local_get:
    case Op::i32_const:
    case Op::i64_const:
    case Op::f32_const:
    case Op::f64_const:
      return true;
    default:
      return false;
  }
}

namespace {

class Analysis {
 public:
  explicit Analysis(const Function& function) : f_(function) {
    live_.uses.assign(function.value_count(), 0);
    live_.imports.resize(function.region_count());
  }

  void region(RegionId id) {
    for (const Item& item : f_.region(id).items) {
      switch (item.kind) {
        case Item::Kind::store:
          use(id, item.a);
          use(id, item.b);
          break;
        case Item::Kind::set_local:
          use(id, item.b);
          break;
        case Item::Kind::leave_unless:
          use(id, item.a);
          break;
        case Item::Kind::branch:
          use(id, item.a);
          region(item.region);
          if (item.other) region(item.other);
          break;
        case Item::Kind::loop:
          loop(id, item.region);
          break;
        case Item::Kind::open_local:
          break;
      }
    }
  }

  Liveness take() { return std::move(live_); }

 private:
  void loop(RegionId outside, RegionId body) {
    region(body);
    const Region& loop = f_.region(body);
    if (loop.kind != Region::Kind::counted) return;
    // Compared with at the end of each iteration; or counted down from, once.
    const bool counts_up = live_.uses[loop.loop_var] != 0;
    if (counts_up) use(body, loop.extent);
    if (!counts_up || !loop.runs) use(outside, loop.extent);
  }

  void use(RegionId from, ValueId id) {
    if (id == 0) return;
    const Value& value = f_[id];
    const bool first = live_.uses[id]++ == 0;
    if (!is_trivial(value)) {
      for (RegionId at = from; at != value.region; at = f_.region(at).parent) {
        auto& imports = live_.imports[at];
        if (std::find(imports.begin(), imports.end(), id) != imports.end()) break;
        imports.push_back(id);
      }
    }
    if (!first) return;
    switch (value.op) {
      case Op::param:
      case Op::loop_var:
      case Op::local_get:
        break;
      case Op::induction:
        use(f_.region(value.region).parent, value.a);
        use(value.region, value.b);
        break;
      case Op::if_else:
        use(value.region, value.a);
        for (uint64_t arm : {value.imm, value.imm_high}) {
          const auto id = static_cast<RegionId>(arm);
          region(id);
          use(id, f_.region(id).result);
        }
        break;
      default:
        use(value.region, value.a);
        use(value.region, value.b);
        use(value.region, value.c);
        break;
    }
  }

  const Function& f_;
  Liveness live_;
};

}  // namespace

Liveness liveness_of(const Function& function) {
  Analysis analysis(function);
  analysis.region(0);
  return analysis.take();
}

}  // namespace gossamer::codegen::wasm
