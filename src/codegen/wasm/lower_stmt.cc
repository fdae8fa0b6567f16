#include "codegen/digits.h"
#include "codegen/wasm/lower.h"
#include "ir/build.h"

namespace gossamer::codegen::wasm {

using ir::DType;

namespace {

constexpr int64_t max_locals = 64;  // of one private buffer

}  // namespace

void Lowering::kernel(const ir::Kernel& kernel) {
  usage_ = usage_of(kernel.body);
  const ValueId args = f_.op(Op::param, ValType::i32, 0, 0, 0, 2, 1);
  auto argument = [&](size_t number) {
    return f_.load(Op::i32_load, ValType::i32, args, 4 * number, 0);
  };
  size_t number = 0;
  for (const auto& param : kernel.params) {
    Place place;
    place.base = argument(number++);
    const Usage& usage = usage_[param.buffer.get()];
    place.ordered = usage.read && usage.written;
    places_[param.buffer.get()] = place;
  }
  for (const ir::Var& var : kernel.scalars) {
    const ValueId value = argument(number++);
    f_.set_range(value, {0, max_index});
    vars_[var.get()] = {true, Linear::of_atom(value), {}};
  }
  stmt(kernel.body);
}

void Lowering::plan(const PlanFunction& plan, int segment) {
  const ValueId dims = f_.op(Op::param, ValType::i32, 0, 0, 0, 0, 1);
  const ValueId values = f_.op(Op::param, ValType::i32, 0, 0, 0, 1, 1);
  for (size_t k = 0; k < plan.dims.size(); ++k) {
    const ValueId value = f_.load(Op::f64_load, ValType::f64, dims, 8 * k, 0);
    vars_[plan.dims[k].get()] = {false, {}, {value}};
  }
  for (size_t k = 0; k < plan.values.size(); ++k) {
    if (plan.segment_of(k) != segment) continue;
    store_item(Op::f64_store, {values, 8 * k}, scalar(plan.values[k]));
  }
}

void Lowering::stmt(const ir::Stmt& s) {
  switch (s->kind) {
    case ir::NodeKind::Block:
      for (const ir::Stmt& part : static_cast<const ir::Block&>(*s).stmts) stmt(part);
      return;
    case ir::NodeKind::Let:
      return let(static_cast<const ir::Let&>(*s));
    case ir::NodeKind::For:
      return for_loop(static_cast<const ir::For&>(*s));
    case ir::NodeKind::While:
      return while_loop(static_cast<const ir::While&>(*s));
    case ir::NodeKind::If:
      return branch(static_cast<const ir::If&>(*s));
    case ir::NodeKind::Store:
      return store(static_cast<const ir::Store&>(*s));
    case ir::NodeKind::Alloc:
      return alloc(static_cast<const ir::Alloc&>(*s));
    case ir::NodeKind::Barrier:
      return;  // one invocation a group
    default:
      break;
  }
  GS_CHECK(false, "no code for ", name_of(s->kind));
}

void Lowering::let(const ir::Let& s) {
  if (const auto found = counted_.find(s.var.get()); found != counted_.end()) {
    vars_[s.var.get()] = {true, Linear::of_atom(found->second), {}};
    return stmt(s.body);
  }
  Binding binding;
  const ir::Type type = s.value->type;
  if (type == ir::Type(DType::index)) {
    binding.linear = linear(s.value);
    binding.is_linear = !binding.linear.is_ordered(f_);
  }
  if (!binding.is_linear) {
    binding.pieces = value(s.value);
    settle(binding.pieces);  // what it was read from may change before the variable is used
    if (type == ir::Type(DType::index)) {
      binding.is_linear = true;
      binding.linear = Linear::of_atom(binding.pieces[0]);
    }
  }
  vars_[s.var.get()] = std::move(binding);
  stmt(s.body);
}

void Lowering::alloc(const ir::Alloc& s) {
  const ir::BufferNode& buffer = *s.buffer;
  const Usage& usage = usage_[&buffer];
  Place place;
  place.ordered = true;
  const int lanes = usage.vectors ? lanes_per_piece(buffer.dtype) : 1;
  const int64_t count = (usage.elements + lanes - 1) / lanes;
  if (usage.constant && usage.aligned && count <= max_locals) {
    place.kind = Place::Kind::locals;
    place.lanes = lanes;
    for (int64_t k = 0; k < count; ++k) {
      const LocalId local =
          f_.add_local(usage.vectors ? ValType::v128 : machine_type(buffer.dtype));
      place.locals.push_back(local);
      f_.add_item({.kind = Item::Kind::open_local, .imm = local});
    }
  } else {
    int64_t bytes = byte_size(buffer.dtype);
    for (const ir::Expr& extent : buffer.shape) {
      auto known = ir::as_int(extent);
      GS_CHECK(known, "private buffer ", buffer.name, " has no known size");
      bytes *= *known;
    }
    const ValueId scratch = f_.op(Op::global_get, ValType::i32, 0, 0, 0, 0, 1);
    place.base = f_.op(Op::i32_add, ValType::i32, scratch, f_.i32(scratch_bytes_));
    scratch_bytes_ += (bytes + 31) & ~int64_t{15};
  }
  places_[&buffer] = std::move(place);
  // What is filled first and then only read is the same at each of its loads.
  const auto* steps = ir::as<ir::Block>(s.body);
  if (!steps || places_[&buffer].kind == Place::Kind::locals) return stmt(s.body);
  size_t last = steps->stmts.size();
  while (last > 0 && !usage_of(steps->stmts[last - 1])[&buffer].written) --last;
  for (size_t i = 0; i < steps->stmts.size(); ++i) {
    if (i == last) places_[&buffer].settled = f_.order();
    stmt(steps->stmts[i]);
  }
}

void Lowering::for_loop(const ir::For& loop) {
  const bool is_grid = loop.loop == ir::LoopKind::grid;
  GS_CHECK(loop.loop != ir::LoopKind::vectorized, "vectorized loop over ", loop.var->name);
  const auto known = ir::as_int(loop.extent);
  if (!is_grid && known && *known <= 0) return;
  if (!is_grid && known && *known == 1) {
    vars_[loop.var.get()] = {true, Linear::of(0), {}};
    return stmt(loop.body);
  }
  const ValueId extent = is_grid ? 0 : scalar(loop.extent);
  std::vector<Counter> counters;
  if (is_grid) counters = start_counting(loop);
  const RegionId here = f_.current();
  const RegionId body = f_.add_region(is_grid ? Region::Kind::grid : Region::Kind::counted);
  // A launch is never of nothing.
  f_.region(body).runs = is_grid || f_[extent].range.low > 0;
  f_.region(body).extent = extent;
  int64_t last = max_index;
  if (known) last = *known - 1;
  if (!is_grid) last = std::min(last, std::max<int64_t>(0, f_[extent].range.high - 1));
  const ValueId counter = f_.loop_variable(body, {0, last});
  vars_[loop.var.get()] = {true, Linear::of_atom(counter), {}};
  f_.memory_changed();
  f_.enter(body);
  for (Counter& counter : counters) {
    Pieces now{f_.get_local(counter.local, true)};
    settle(now);
    f_.set_range(now[0], {0, counter.last});
    counted_[counter.var] = counter.now = now[0];
  }
  stmt(loop.body);
  count(counters);
  f_.enter(here);
  f_.memory_changed();
  f_.add_item({.kind = Item::Kind::loop, .region = body});
}

// The digits of the first item, which is the function's first parameter.
std::vector<Lowering::Counter> Lowering::start_counting(const ir::For& loop) {
  std::vector<Counter> counters;
  const ValueId begin = f_.op(Op::param, ValType::i32, 0, 0, 0, 0, 1);
  for (const auto& [let, extent] : digits_of(loop)) {
    vars_[loop.var.get()] = {true, Linear::of_atom(begin), {}};
    Counter counter{let->var.get(), f_.add_local(ValType::i32), extent ? scalar(extent) : 0};
    if (const auto known = extent ? ir::as_int(extent) : std::nullopt) counter.last = *known - 1;
    f_.add_item({.kind = Item::Kind::open_local, .imm = counter.local});
    f_.add_item({.kind = Item::Kind::set_local, .b = scalar(let->value), .imm = counter.local});
    counters.push_back(counter);
  }
  return counters;
}

void Lowering::count(const std::vector<Counter>& counters) {
  ValueId carry = f_.i32(1);
  for (const Counter& counter : counters) {
    ValueId next = f_.op(Op::i32_add, ValType::i32, counter.now, carry);
    if (counter.extent) {
      carry = f_.op(Op::i32_eq, ValType::i32, next, counter.extent);
      next = f_.op(Op::select, ValType::i32, f_.i32(0), next, carry);
    }
    f_.add_item({.kind = Item::Kind::set_local, .b = next, .imm = counter.local});
  }
}

void Lowering::while_loop(const ir::While& loop) {
  const RegionId here = f_.current();
  const RegionId body = f_.add_region(Region::Kind::while_true);
  f_.region(body).runs = false;
  f_.memory_changed();
  f_.enter(body);
  f_.add_item({.kind = Item::Kind::leave_unless, .a = scalar(loop.condition)});
  stmt(loop.body);
  f_.enter(here);
  f_.memory_changed();
  f_.add_item({.kind = Item::Kind::loop, .region = body});
}

void Lowering::branch(const ir::If& s) {
  const ValueId condition = scalar(s.condition);
  if (int64_t known; f_.is_i32(condition, &known)) {
    if (known) return stmt(s.yes);
    if (s.no) stmt(s.no);
    return;
  }
  const RegionId here = f_.current();
  const RegionId yes = f_.add_region(Region::Kind::arm);
  f_.enter(yes);
  stmt(s.yes);
  f_.enter(here);
  RegionId no = 0;
  if (s.no) {
    f_.memory_changed();
    no = f_.add_region(Region::Kind::arm);
    f_.enter(no);
    stmt(s.no);
    f_.enter(here);
  }
  f_.memory_changed();
  f_.add_item({.kind = Item::Kind::branch, .a = condition, .region = yes, .other = no});
}

}  // namespace gossamer::codegen::wasm
