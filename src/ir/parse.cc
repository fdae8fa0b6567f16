#include "ir/parse.h"

#include "ir/build.h"
#include "ir/parser.h"

namespace gossamer::ir::text {
namespace {

Stmt together(std::vector<Stmt> list) {
  if (list.size() == 1) return list[0];
  auto* made = new Block();
  made->stmts = std::move(list);
  return Stmt(made);
}

}  // namespace

Result<Kernel> Parser::kernel() {
  Kernel k;
  GS_TRY(expect("kernel"));
  GS_ASSIGN(k.name, name("the kernel's name"));
  if (accept("[")) {
    while (!accept("]")) {
      if (!k.scalars.empty()) GS_TRY(expect(","));
      GS_ASSIGN(std::string scalar, name("a scalar's name"));
      k.scalars.push_back(var(scalar));
      declare(k.scalars.back());
    }
  }
  GS_TRY(expect("("));
  while (!accept(")")) {
    if (!k.params.empty()) GS_TRY(expect(","));
    const bool updated = accept("update");
    const bool written = updated || accept("write");
    GS_ASSIGN(Buffer param, buffer(Scope::global));
    declare(param);
    k.params.push_back({param, written, updated});
  }
  GS_ASSIGN(k.body, braces());
  if (!at_end()) return error(cat("text after the kernel: '", peek().text, "'"));
  return k;
}

Result<Buffer> Parser::buffer(Scope usual) {
  GS_ASSIGN(std::string buffer_name, name("a buffer's name"));
  GS_TRY(expect(":"));
  GS_ASSIGN(Type element, type());
  if (!element.is_scalar()) return error("a buffer of vectors");
  GS_ASSIGN(std::vector<Expr> shape, index_list());
  for (const Expr& extent : shape) {
    if (!extent->type.is_scalar()) return error("an extent that is a vector");
  }
  Scope scope = usual;
  for (Scope other : {Scope::global, Scope::group, Scope::priv, Scope::constant}) {
    if (accept(name_of(other))) scope = other;
  }
  auto* made = new BufferNode(buffer_name, element.dtype, std::move(shape), scope);
  Buffer result(made);
  if (accept("stored")) {
    GS_ASSIGN(Type storage, type());
    if (!storage.is_scalar()) return error("a buffer of vectors");
    made->storage = storage.dtype;
  }
  if (accept("layout")) {
    GS_ASSIGN(made->layout, layout());
  }
  return result;
}

Result<Layout> Parser::layout() {
  Layout result;
  result.flat = accept("flat");
  GS_TRY(expect("["));
  while (!accept("]")) {
    if (!result.axes.empty()) GS_TRY(expect(","));
    LayoutAxis axis;
    GS_ASSIGN(int64_t dim, integer("an axis"));
    if (dim < 0 || dim > 64) return error(cat("axis ", dim));
    axis.dim = static_cast<int>(dim);
    if (accept("/")) {
      GS_ASSIGN(axis.divide, integer("a divisor"));
    }
    if (accept("%")) {
      GS_ASSIGN(axis.modulo, integer("a modulus"));
    }
    if (axis.divide < 1 || axis.modulo < 0) return error("a divisor below 1");
    result.axes.push_back(axis);
  }
  if (accept("texture")) {
    result.memory = Memory::texture;
    GS_ASSIGN(int64_t width, integer("a texture's width"));
    int64_t layers = 1;
    if (accept("layers")) {
      GS_ASSIGN(layers, integer("a number of layers"));
    }
    if (width < 0 || width > 65536 || layers < 1 || layers > 64) return error("a texture's size");
    result.width = static_cast<int>(width);
    result.layers = static_cast<int>(layers);
  }
  if (accept("pack")) {
    GS_ASSIGN(const int64_t pack, integer("elements of a word"));
    if (pack != 4 && pack != 2) return error("words hold 4 or 2 elements");
    result.pack = static_cast<int>(pack);
  }
  return result;
}

Result<Buffer> Parser::known_buffer() {
  GS_ASSIGN(std::string buffer_name, name("a buffer's name"));
  auto known = buffers_.find(buffer_name);
  if (known == buffers_.end() || known->second.empty()) {
    return error(cat("unknown buffer '", buffer_name, "'"));
  }
  return known->second.back();
}

Result<std::vector<Stmt>> Parser::braced_list() {
  if (++depth_ > deepest_nesting) return error("nested too deeply");
  GS_TRY(expect("{"));
  GS_ASSIGN(std::vector<Stmt> list, statements());
  GS_TRY(expect("}"));
  --depth_;
  return list;
}

Result<Stmt> Parser::braces() {
  GS_ASSIGN(std::vector<Stmt> list, braced_list());
  return together(std::move(list));
}

// Lets and Allocs that hold to the end of the braces nest without recursion: there may be
// thousands.
Result<std::vector<Stmt>> Parser::statements() {
  struct Open {
    std::vector<Stmt> before;
    Var var;  // of a Let
    Expr value;
    Buffer buffer;  // of an Alloc
  };
  std::vector<Open> open;
  std::vector<Stmt> stmts;
  auto scoped = [](Open& o, Stmt body) {
    if (o.buffer) {
      auto* made = new Alloc();
      made->buffer = o.buffer;
      made->body = std::move(body);
      return Stmt(made);
    }
    auto* made = new Let();
    made->var = o.var;
    made->value = o.value;
    made->body = std::move(body);
    return Stmt(made);
  };
  auto forget = [this](Open& o) {
    if (o.buffer) {
      buffers_[o.buffer->name].pop_back();
    } else {
      vars_[o.var->name].pop_back();
    }
  };
  while (!at("}") && !at_end()) {
    if (!at("let") && !at("alloc")) {
      GS_ASSIGN(Stmt one, statement());
      stmts.push_back(std::move(one));
      continue;
    }
    Open o;
    if (accept("let")) {
      GS_ASSIGN(std::string var_name, name("a variable's name"));
      GS_TRY(expect(":"));
      GS_ASSIGN(Type var_type, type());
      GS_TRY(expect("="));
      GS_ASSIGN(o.value, expr());
      if (o.value->type != var_type) {
        return error(cat("'", var_name, "' is ", to_string(var_type), ", its value ",
                         to_string(o.value->type)));
      }
      o.var = bound(var_name, var_type);
      declare(o.var);
    } else {
      ++at_;
      GS_ASSIGN(o.buffer, buffer(Scope::priv));
      declare(o.buffer);
    }
    if (at("{")) {
      GS_ASSIGN(Stmt body, braces());
      forget(o);
      stmts.push_back(scoped(o, std::move(body)));
    } else {
      o.before = std::move(stmts);
      stmts.clear();
      open.push_back(std::move(o));
    }
  }
  while (!open.empty()) {
    Open o = std::move(open.back());
    open.pop_back();
    forget(o);
    Stmt inner = scoped(o, together(std::move(stmts)));
    stmts = std::move(o.before);
    stmts.push_back(std::move(inner));
  }
  return stmts;
}

Result<Stmt> Parser::statement() {
  GS_ASSIGN(std::string word, name("a statement"));
  if (word == "for") return loop(LoopKind::serial);
  for (LoopKind kind :
       {LoopKind::unrolled, LoopKind::vectorized, LoopKind::grid, LoopKind::group}) {
    if (word == name_of(kind)) return loop(kind);
  }
  if (word == "block") {
    GS_ASSIGN(std::vector<Stmt> list, braced_list());
    auto* made = new Block();
    made->stmts = std::move(list);
    return Stmt(made);
  }
  if (word == "while" || word == "if") {
    GS_ASSIGN(Expr condition, expr());
    if (condition->type != Type(DType::boolean)) {
      return error(cat("a condition of type ", to_string(condition->type)));
    }
    GS_ASSIGN(Stmt body, braces());
    if (word == "while") return while_loop(condition, body);
    auto* made = new If();
    Stmt result(made);
    made->condition = condition;
    made->yes = body;
    if (accept("else")) {
      GS_ASSIGN(made->no, braces());
    }
    return result;
  }
  if (word == "barrier") {
    for (Scope scope : {Scope::global, Scope::group, Scope::priv, Scope::constant}) {
      if (accept(name_of(scope))) return barrier(scope);
    }
    return error("expected a scope");
  }
  if (at("[")) return store(word);
  return error(cat("unknown statement '", word, "'"));
}

Var Parser::bound(const std::string& name, Type type) {
  Var& last = last_bound_[name];
  const bool in_scope = !vars_[name].empty();
  if (!last.get() || in_scope || last->type != type) last = var(name, type);
  return last;
}

Result<Stmt> Parser::loop(LoopKind kind) {
  GS_ASSIGN(std::string var_name, name("a loop variable's name"));
  GS_TRY(expect("in"));
  GS_ASSIGN(int64_t start, integer("0"));
  if (start != 0) return error("loops start at 0");
  GS_TRY(expect(".."));
  GS_ASSIGN(Expr extent, expr());
  if (extent->type != Type(DType::index)) {
    return error(cat("an extent of type ", to_string(extent->type)));
  }
  Var loop_var = bound(var_name, DType::index);
  declare(loop_var);
  GS_ASSIGN(Stmt body, braces());
  vars_[var_name].pop_back();
  return ir::loop(loop_var, extent, kind, body);
}

Result<Stmt> Parser::store(const std::string& buffer_name) {
  --at_;
  GS_ASSIGN(Buffer buffer, known_buffer());
  GS_ASSIGN(std::vector<Expr> indices, index_list());
  GS_TRY(expect("="));
  GS_ASSIGN(Expr value, expr());
  if (value->type.dtype != buffer->dtype && value->type.dtype != buffer->storage) {
    return error(cat("'", buffer_name, "' holds ", name_of(buffer->dtype), ", the value is ",
                     to_string(value->type)));
  }
  return ir::store(buffer, std::move(indices), std::move(value));
}

}  // namespace gossamer::ir::text

namespace gossamer::ir {

Result<Kernel> parse_kernel(std::string_view source) {
  GS_ASSIGN(std::vector<text::Token> tokens, text::lex(source));
  return text::Parser(std::move(tokens)).kernel();
}

}  // namespace gossamer::ir
