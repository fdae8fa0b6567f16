#include "codegen/c/function_emitter.h"

#include "codegen/c/literals.h"
#include "codegen/private_cells.h"
#include "ir/build.h"

namespace gossamer::codegen::c {

using ir::BinaryOp;
using ir::DType;
using ir::Expr;
using ir::Stmt;
using ir::Type;

namespace {

// Longer expressions are named: compilers count brackets.
constexpr size_t longest = 160;
// Vectors may read so many elements behind a private array (as codegen/llvm has it).
constexpr int64_t slack = 64;

bool is_name(const std::string& text) { return text.find_first_of("(.[ ") == std::string::npos; }

}  // namespace

void FunctionEmitter::line(const std::string& text) {
  text_.append(2 * static_cast<size_t>(depth_), ' ');
  text_ += text;
  text_ += '\n';
}

std::string FunctionEmitter::named(const Type& type, const std::string& value) {
  const std::string name = fresh("t");
  line(cat("const ", operations_.type(type), " ", name, " = ", value, ";"));
  return name;
}

void FunctionEmitter::emit_kernel(const Stmt& body) {
  Stmt at = body;
  std::vector<const ir::Let*> lets;
  for (const auto* let = ir::as<ir::Let>(at); let; let = ir::as<ir::Let>(at)) {
    const std::string name = fresh("v");
    line(cat("const ", operations_.type(let->value->type), " ", name, " = ", value(let->value),
             ";"));
    vars_[let->var.get()] = name;
    lets.push_back(let);
    at = let->body;
  }
  const auto* grid = ir::as<ir::For>(at);
  GS_CHECK(grid && grid->loop == ir::LoopKind::grid, "a kernel is Let* For(grid)");
  emit_loop(*grid, "begin", "end");
  for (const ir::Let* let : lets)
    if (!uses(let->var.get())) line(cat("(void)", vars_[let->var.get()], ";"));
}

void FunctionEmitter::emit(const Stmt& stmt) {
  if (!stmt) return;
  cache_.clear();
  switch (stmt->kind) {
    case ir::NodeKind::Block:
      for (const Stmt& part : ir::as<ir::Block>(stmt)->stmts) emit(part);
      return;
    case ir::NodeKind::Let:
      return emit_let(*ir::as<ir::Let>(stmt));
    case ir::NodeKind::For: {
      const auto* loop = ir::as<ir::For>(stmt);
      std::string extent = value(loop->extent);
      if (!is_name(extent)) extent = named(loop->extent->type, extent);
      return emit_loop(*loop, "0", extent);
    }
    case ir::NodeKind::While:
      return emit_while(*ir::as<ir::While>(stmt));
    case ir::NodeKind::If:
      return emit_branch(*ir::as<ir::If>(stmt));
    case ir::NodeKind::Store:
      return emit_store(*ir::as<ir::Store>(stmt));
    case ir::NodeKind::Alloc:
      return emit_alloc(*ir::as<ir::Alloc>(stmt));
    default:
      GS_CHECK(false, "no C for ", ir::name_of(stmt->kind), " in a kernel");
  }
}

void FunctionEmitter::emit_let(const ir::Let& let) {
  const std::string name = fresh("v");
  line(cat("const ", operations_.type(let.value->type), " ", name, " = ", value(let.value), ";"));
  vars_[let.var.get()] = name;
  emit(let.body);
  if (!uses(let.var.get())) line(cat("(void)", name, ";"));
}

void FunctionEmitter::in_braces(const Stmt& body) {
  ++depth_;
  emit(body);
  --depth_;
  cache_.clear();
  line("}");
}

void FunctionEmitter::emit_loop(const ir::For& loop, const std::string& begin,
                                const std::string& end) {
  const std::string name = fresh("i");
  vars_[loop.var.get()] = name;
  line(cat("for (gs_word ", name, " = ", begin, "; ", name, " < ", end, "; ++", name, ") {"));
  in_braces(loop.body);
}

void FunctionEmitter::emit_while(const ir::While& loop) {
  line("for (;;) {");
  ++depth_;
  line(cat("if (!", value(loop.condition), ") break;"));
  --depth_;
  in_braces(loop.body);
}

void FunctionEmitter::emit_branch(const ir::If& branch) {
  line(cat("if (", value(branch.condition), ") {"));
  in_braces(branch.yes);
  if (!branch.no) return;
  line("else {");
  in_braces(branch.no);
}

void FunctionEmitter::emit_alloc(const ir::Alloc& alloc) {
  const ir::BufferNode* buffer = alloc.buffer.get();
  const int64_t count = private_elements(buffer);
  Memory memory;
  memory.name = fresh("m");
  memory.cell_lanes = cell_lanes_of(buffer, alloc.body, false);
  if (memory.cell_lanes == 0) {
    line(cat(memory_name(buffer->storage), " ", memory.name, "[", count + slack, "];"));
    memories_[buffer] = memory;
    emit(alloc.body);
    if (!uses(buffer)) line(cat("(void)", memory.name, ";"));
    return;
  }
  const int64_t cells = (count + memory.cell_lanes - 1) / memory.cell_lanes;
  const std::string type = operations_.type({buffer->storage, memory.cell_lanes});
  for (int64_t cell = 0; cell < cells; ++cell) line(cat(type, " ", memory.name, "_", cell, ";"));
  memory.cells.resize(static_cast<size_t>(cells));
  memories_[buffer] = memory;
  emit(alloc.body);
  for (size_t cell = 0; cell < memory.cells.size(); ++cell)
    if (!memories_[buffer].cells[cell]) line(cat("(void)", memory.name, "_", cell, ";"));
}

FunctionEmitter::Memory& FunctionEmitter::memory(const ir::Buffer& buffer) {
  const auto found = memories_.find(buffer.get());
  GS_CHECK(found != memories_.end(), "buffer ", buffer->name, " is not bound");
  used_.insert(buffer.get());
  return found->second;
}

// A whole cell, or one of its elements.
std::string FunctionEmitter::cell(const Memory& memory, const Expr& index) {
  const int64_t offset = constant_offset(index);
  const int64_t number = offset / memory.cell_lanes;
  const std::string name = cat(memory.name, "_", number);
  if (index->type.lanes == memory.cell_lanes) return name;
  return cat(name, ".v[", offset % memory.cell_lanes, "]");
}

std::string FunctionEmitter::value(const Expr& expr) {
  if (const auto* var = ir::as<ir::VarNode>(expr)) {
    const auto found = vars_.find(var);
    GS_CHECK(found != vars_.end(), "variable ", var->name, " is not bound");
    used_.insert(var);
    return found->second;
  }
  const bool shared = expr->references > 1;
  if (shared) {
    const auto found = cache_.find(expr.get());
    if (found != cache_.end()) return found->second;
  }
  std::string text = uncached(expr);
  if (!is_name(text) && (shared || text.size() > longest)) text = named(expr->type, text);
  if (shared) cache_[expr.get()] = text;
  return text;
}

std::string FunctionEmitter::uncached(const Expr& expr) {
  const Type type = expr->type;
  const auto in_lanes = [&](const std::string& number) {
    return type.is_scalar() ? number : cat(operations_.splat(type), "(", number, ")");
  };
  switch (expr->kind) {
    case ir::NodeKind::IntImm:
      return in_lanes(int_literal(type.dtype, ir::as<ir::IntImm>(expr)->value));
    case ir::NodeKind::FloatImm:
      return in_lanes(float_literal(type.dtype, ir::as<ir::FloatImm>(expr)->value));
    case ir::NodeKind::Unary: {
      const auto* node = ir::as<ir::Unary>(expr);
      const std::string a = value(node->a);
      return cat(operations_.unary(node->op, node->a->type), "(", a, ")");
    }
    case ir::NodeKind::Binary:
      return binary(*ir::as<ir::Binary>(expr));
    case ir::NodeKind::Fma: {
      const auto* node = ir::as<ir::Fma>(expr);
      const std::string a = value(node->a), b = value(node->b), c = value(node->c);
      return cat(operations_.fma(type), "(", a, ", ", b, ", ", c, ")");
    }
    case ir::NodeKind::Dot:
      expanded_.push_back(ir::dot_by_terms(*ir::as<ir::Dot>(expr)));
      return value(expanded_.back());
    case ir::NodeKind::Select: {
      const auto* node = ir::as<ir::Select>(expr);
      const std::string condition = value(node->condition);
      const std::string yes = value(node->yes), no = value(node->no);
      if (node->condition->type.is_scalar()) return cat("(", condition, " ? ", yes, " : ", no, ")");
      return cat(operations_.select(type), "(", condition, ", ", yes, ", ", no, ")");
    }
    case ir::NodeKind::Cast: {
      const Expr& from = ir::as<ir::Cast>(expr)->a;
      const std::string a = value(from);
      return from->type == type ? a : cat(operations_.cast(from->type, type), "(", a, ")");
    }
    case ir::NodeKind::Bitcast: {
      const Expr& from = ir::as<ir::Bitcast>(expr)->a;
      const std::string a = value(from);
      return from->type == type ? a : cat(operations_.bitcast(from->type, type), "(", a, ")");
    }
    case ir::NodeKind::Load:
      return load(*ir::as<ir::Load>(expr));
    case ir::NodeKind::Ramp: {
      const auto* ramp = ir::as<ir::Ramp>(expr);
      const std::string base = value(ramp->base);
      return cat(operations_.ramp(type), "(", base, ", ", int_literal(type.dtype, ramp->stride),
                 ")");
    }
    case ir::NodeKind::Broadcast:
      return in_lanes(value(ir::as<ir::Broadcast>(expr)->a));
    case ir::NodeKind::Lane: {
      const auto* node = ir::as<ir::Lane>(expr);
      std::string vector = value(node->a);
      if (!is_name(vector)) vector = named(node->a->type, vector);
      return cat(vector, ".v[", value(node->lane), "]");
    }
    case ir::NodeKind::MakeVector: {
      std::string lanes;
      for (const Expr& lane : ir::as<ir::MakeVector>(expr)->lanes)
        lanes += cat(lanes.empty() ? "" : ", ", value(lane));
      return cat(operations_.make(type), "(", lanes, ")");
    }
    default:
      GS_CHECK(false, "no C for ", ir::name_of(expr->kind));
  }
}

// Sums and products that cannot overflow are written as such, so that the text may be read.
std::string FunctionEmitter::binary(const ir::Binary& binary) {
  const Type type = binary.a->type;
  const std::string a = value(binary.a), b = value(binary.b);
  const bool floats = ir::is_float(type.dtype);
  if (type.is_scalar() && (floats || type.dtype == DType::index)) {
    switch (binary.op) {
      case BinaryOp::add:
        return cat("(", a, " + ", b, ")");
      case BinaryOp::sub:
        return cat("(", a, " - ", b, ")");
      case BinaryOp::mul:
        return cat("(", a, " * ", b, ")");
      default:
        break;
    }
  }
  return cat(operations_.binary(binary.op, type), "(", a, ", ", b, ")");
}

namespace {

// The first of consecutive elements, where a vector's are.
const ir::Ramp* consecutive(const Expr& index) {
  const auto* ramp = ir::as<ir::Ramp>(index);
  return ramp && ramp->stride == 1 ? ramp : nullptr;
}

}  // namespace

std::string FunctionEmitter::load(const ir::Load& load) {
  GS_CHECK(load.indices.size() == 1, "load of ", load.buffer->name, " is not flat");
  Memory& place = memory(load.buffer);
  if (place.cell_lanes > 0) {
    place.cells[static_cast<size_t>(constant_offset(load.indices[0]) / place.cell_lanes)] = true;
    return cell(place, load.indices[0]);
  }
  const std::string from = place.name;
  const DType storage = load.buffer->storage;
  const Expr& index = load.indices[0];
  const int lanes = index->type.lanes;
  const auto number = [&](const Expr& at) {
    const std::string text = cat(from, "[", value(at), "]");
    return storage == DType::boolean ? cat("(", text, " != 0)") : text;
  };
  if (index->type.is_scalar()) return number(index);
  if (const auto* one = ir::as<ir::Broadcast>(index))
    return cat(operations_.splat({storage, lanes}), "(", number(one->a), ")");
  if (const auto* ramp = consecutive(index))
    return cat(operations_.load(storage, lanes), "(", from, " + ", value(ramp->base), ")");
  return cat(operations_.gather(storage, lanes), "(", from, ", ", value(index), ")");
}

void FunctionEmitter::emit_store(const ir::Store& store) {
  GS_CHECK(store.indices.size() == 1, "store to ", store.buffer->name, " is not flat");
  Memory& memory = this->memory(store.buffer);
  if (memory.cell_lanes > 0) {
    const std::string what = value(store.value);
    return line(cat(cell(memory, store.indices[0]), " = ", what, ";"));
  }
  const std::string to = memory.name;
  const DType storage = store.buffer->storage;
  const Expr& index = store.indices[0];
  const int lanes = index->type.lanes;
  const std::string what = value(store.value);
  if (index->type.is_scalar()) {
    const std::string place = value(index);
    const bool narrow = storage == DType::index || storage == DType::boolean;
    line(cat(to, "[", place, "] = ", narrow ? cat("(", memory_name(storage), ")") : "", what, ";"));
  } else if (const auto* ramp = consecutive(index)) {
    const std::string place = value(ramp->base);
    line(cat(operations_.store(storage, lanes), "(", to, " + ", place, ", ", what, ");"));
  } else {
    const std::string places = value(index);
    line(cat(operations_.scatter(storage, lanes), "(", to, ", ", places, ", ", what, ");"));
  }
}

}  // namespace gossamer::codegen::c
