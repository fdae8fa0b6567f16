#include "ir/print.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/text.h"

namespace gossamer::ir {
namespace {

constexpr size_t longest = size_t{1} << 20;  // a shared expression may unfold without end

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A name that the parser takes: letters, digits, _ and single dots inside.
std::string legal(const std::string& name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool dot = name[i] == '.' && i > 0 && i + 1 < name.size() && is_name_char(name[i - 1]) &&
                     is_name_char(name[i + 1]);
    out += dot || is_name_char(name[i]) ? name[i] : '_';
  }
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out = "_" + out;
  return out;
}

class Printer {
 public:
  std::string text;

  void kernel(const Kernel& k) {
    text += "kernel " + legal(k.name);
    if (!k.scalars.empty()) {
      text += "[";
      for (size_t i = 0; i < k.scalars.size(); ++i) {
        if (i) text += ", ";
        text += name_of(k.scalars[i].get());
      }
      text += "]";
    }
    text += "(";
    for (size_t i = 0; i < k.params.size(); ++i) {
      if (i) text += ", ";
      if (k.params[i].written) text += k.params[i].updated ? "update " : "write ";
      declare(*k.params[i].buffer, Scope::global);
    }
    text += ") ";
    braces(k.body);
    text += "\n";
  }

  void statement(const Stmt& s, bool last) {
    if (!s || full()) return;
    indent();
    switch (s->kind) {
      case NodeKind::Block:
        text += "block ";
        return braced_list(as<Block>(s)->stmts);
      case NodeKind::Let: {
        auto* l = as<Let>(s);
        text += "let " + name_of(l->var.get()) + ": " + to_string(l->var->type) + " = ";
        expr(l->value);
        return rest(l->body, last);
      }
      case NodeKind::Alloc: {
        auto* a = as<Alloc>(s);
        text += "alloc ";
        declare(*a->buffer, Scope::priv);
        return rest(a->body, last);
      }
      case NodeKind::For: {
        auto* f = as<For>(s);
        text += f->loop == LoopKind::serial ? "for" : ir::name_of(f->loop);
        text += " " + name_of(f->var.get()) + " in 0..";
        expr(f->extent);
        text += " ";
        return body(f->body);
      }
      case NodeKind::While:
        text += "while ";
        expr(as<While>(s)->condition);
        text += " ";
        return body(as<While>(s)->body);
      case NodeKind::If: {
        auto* i = as<If>(s);
        text += "if ";
        expr(i->condition);
        text += " ";
        braces(i->yes);
        if (i->no) {
          text += " else ";
          braces(i->no);
        }
        text += "\n";
        return;
      }
      case NodeKind::Store: {
        auto* st = as<Store>(s);
        text += name_of(st->buffer.get());
        list("[", st->indices, "]");
        text += " = ";
        expr(st->value);
        break;
      }
      case NodeKind::Barrier:
        text += "barrier ";
        text += ir::name_of(as<Barrier>(s)->scope);
        break;
      default:
        GS_CHECK(false, "not a statement: ", ir::name_of(s->kind));
    }
    text += "\n";
  }

  void expr(const Expr& e, int strength = 0) {
    if (full()) return;
    if (!e.get()) {
      text += "<none>";
      return;
    }
    switch (e->kind) {
      case NodeKind::Var:
        text += name_of(as<VarNode>(e));
        return;
      case NodeKind::IntImm:
        text += text::number(e->type.dtype, as<IntImm>(e)->value);
        return;
      case NodeKind::FloatImm:
        text += text::number(e->type.dtype, as<FloatImm>(e)->value);
        return;
      case NodeKind::Unary:
        return unary_expr(*as<Unary>(e), strength);
      case NodeKind::Binary:
        return binary_expr(*as<Binary>(e), strength);
      case NodeKind::Fma:
        return call("fma", {as<Fma>(e)->a, as<Fma>(e)->b, as<Fma>(e)->c});
      case NodeKind::Dot: {
        auto* d = as<Dot>(e);
        return call(cat("dot", d->terms), {d->a, d->b, d->c});
      }
      case NodeKind::Select: {
        auto* s = as<Select>(e);
        return call("select", {s->condition, s->yes, s->no});
      }
      case NodeKind::Cast:
        return call(to_string(e->type), {as<Cast>(e)->a});
      case NodeKind::Bitcast:
        return call("bitcast<" + to_string(e->type) + ">", {as<Bitcast>(e)->a});
      case NodeKind::Load: {
        auto* l = as<Load>(e);
        text += name_of(l->buffer.get());
        list("[", l->indices, "]");
        if (l->type != plain_type(*l)) text += ":" + to_string(l->type);
        return;
      }
      case NodeKind::Ramp:
        text += "ramp(";
        expr(as<Ramp>(e)->base);
        text += cat(", ", as<Ramp>(e)->stride, ", ", e->type.lanes, ")");
        return;
      case NodeKind::Broadcast:
        return call(cat("x", e->type.lanes), {as<Broadcast>(e)->a});
      case NodeKind::Lane:
        return call("lane", {as<Lane>(e)->a, as<Lane>(e)->lane});
      case NodeKind::MakeVector:
        return call("vec", as<MakeVector>(e)->lanes);
      default:
        GS_CHECK(false, "not an expression: ", ir::name_of(e->kind));
    }
  }

 private:
  bool full() {
    if (text.size() < longest) return false;
    if (!text.ends_with("...")) text += "...";
    return true;
  }

  // The type that a load has unless a pass says otherwise.
  static Type plain_type(const Load& l) {
    int lanes = 1;
    for (const Expr& i : l.indices) lanes = std::max<int>(lanes, i->type.lanes);
    return {l.buffer->dtype, lanes};
  }

  const std::string& name_of(const Node* node) {
    std::string& name = names_[node];
    if (name.empty()) {
      const std::string base =
          legal(node->kind == NodeKind::Var ? static_cast<const VarNode*>(node)->name
                                            : static_cast<const BufferNode*>(node)->name);
      name = base;
      for (int i = 1; text::is_reserved(name) || used_.contains(name); ++i) {
        name = base + "_" + std::to_string(i);
      }
      used_.insert(name);
    }
    return name;
  }

  void declare(const BufferNode& buffer, Scope usual) {
    text += name_of(&buffer) + ": ";
    text += ir::name_of(buffer.dtype);
    list("[", buffer.shape, "]");
    if (buffer.scope != usual) text += " " + std::string(ir::name_of(buffer.scope));
    if (buffer.storage != buffer.dtype)
      text += " stored " + std::string(ir::name_of(buffer.storage));
    if (buffer.layout != Layout()) text += " layout " + to_string(buffer.layout);
  }

  void unary_expr(const Unary& u, int strength) {
    const bool sign =
        u.op == UnaryOp::neg || u.op == UnaryOp::logical_not || u.op == UnaryOp::bit_not;
    if (!sign) return call(ir::name_of(u.op), {u.a});
    const bool parens = strength > text::unary_precedence;
    if (parens) text += "(";
    text += spelling_of(u.op);
    // -(5) is an operation, -5 a number.
    const bool literal = u.a->kind == NodeKind::IntImm || u.a->kind == NodeKind::FloatImm;
    if (literal) text += "(";
    expr(u.a, text::unary_precedence + 1);
    if (literal) text += ")";
    if (parens) text += ")";
  }

  void binary_expr(const Binary& b, int strength) {
    const int own = text::precedence(b.op);
    if (own == 0) return call(ir::name_of(b.op), {b.a, b.b});
    const bool parens = own < strength;
    if (parens) text += "(";
    // Left to right, but comparisons do not chain.
    expr(b.a, is_comparison(b.op) ? own + 1 : own);
    text += " ";
    text += spelling_of(b.op);
    text += " ";
    expr(b.b, own + 1);
    if (parens) text += ")";
  }

  void call(std::string_view function, const std::vector<Expr>& arguments) {
    text += function;
    list("(", arguments, ")");
  }

  void list(std::string_view open, const std::vector<Expr>& exprs, std::string_view close) {
    text += open;
    for (size_t i = 0; i < exprs.size(); ++i) {
      if (i) text += ", ";
      expr(exprs[i]);
    }
    text += close;
  }

  // The statements of a body: a block of one is spelled out, so that it stays one.
  void lines(const Stmt& s) {
    auto* b = as<Block>(s);
    if (b && b->stmts.size() != 1) {
      for (size_t i = 0; i < b->stmts.size(); ++i) statement(b->stmts[i], i + 1 == b->stmts.size());
    } else {
      statement(s, true);
    }
  }

  void braces(const Stmt& s) {
    text += "{\n";
    ++depth_;
    lines(s);
    --depth_;
    indent();
    text += "}";
  }

  void body(const Stmt& s) {
    braces(s);
    text += "\n";
  }

  void braced_list(const std::vector<Stmt>& stmts) {
    text += "{\n";
    ++depth_;
    for (size_t i = 0; i < stmts.size(); ++i) statement(stmts[i], i + 1 == stmts.size());
    --depth_;
    indent();
    text += "}\n";
  }

  // What a Let or Alloc holds for: the rest of the enclosing braces, or braces of its own.
  void rest(const Stmt& s, bool last) {
    if (!last) {
      text += " ";
      return body(s);
    }
    text += "\n";
    lines(s);
  }

  void indent() { text.append(2 * static_cast<size_t>(depth_), ' '); }

  std::unordered_map<const Node*, std::string> names_;
  std::unordered_set<std::string> used_;
  int depth_ = 0;
};

}  // namespace

std::string print(const Expr& e) {
  Printer printer;
  printer.expr(e);
  return std::move(printer.text);
}

std::string print(const Stmt& s) {
  Printer printer;
  auto* b = as<Block>(s);
  if (b) {
    for (size_t i = 0; i < b->stmts.size(); ++i) {
      printer.statement(b->stmts[i], i + 1 == b->stmts.size());
    }
  } else {
    printer.statement(s, true);
  }
  return std::move(printer.text);
}

std::string print(const Kernel& k) {
  Printer printer;
  printer.kernel(k);
  return std::move(printer.text);
}

}  // namespace gossamer::ir
