#include "codegen/text/share_expressions.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::codegen::text {
namespace {

using namespace ir;

using Id = uint32_t;
using Key = std::vector<uint64_t>;
struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (uint64_t word : key) hash = std::rotl((hash ^ word) * 0xff51afd7ed558ccd, 29);
    return static_cast<size_t>(hash);
  }
};
using Buffers = std::unordered_set<const BufferNode*>;

constexpr int deepest_expression = 40;

std::vector<Expr> children_of(const Expr& e) {
  std::vector<Expr> children;
  dispatch(*e, [&](const auto& node) {
    visit_fields(node, [&]<class F>(const char*, const F& field) {
      if constexpr (std::is_same_v<F, Expr>) {
        children.push_back(field);
      } else if constexpr (std::is_same_v<F, std::vector<Expr>>) {
        children.insert(children.end(), field.begin(), field.end());
      }
    });
  });
  return children;
}

Expr with_children(const Expr& e, const std::vector<Expr>& children) {
  return dispatch(*e, [&]<class T>(const T& node) {
    if constexpr (!std::is_base_of_v<ExprNode, T> || std::is_same_v<T, VarNode>) {
      return e;
    } else {
      auto* copy = new T(node);
      size_t next = 0;
      visit_fields(*copy, [&]<class F>(const char*, F& field) {
        if constexpr (std::is_same_v<F, Expr>) {
          field = children[next++];
        } else if constexpr (std::is_same_v<F, std::vector<Expr>>) {
          for (Expr& part : field) part = children[next++];
        }
      });
      return Expr(copy);
    }
  });
}

void add_stored(const Stmt& s, Buffers& buffers, bool& barrier) {
  visit(
      s,
      [&](const Stmt& inner) {
        if (auto* node = as<Store>(inner)) buffers.insert(node->buffer.get());
        if (as<Barrier>(inner)) barrier = true;
        return true;
      },
      [](const Expr&) { return false; });
}

// One value number: all expressions that are equal and see the same memory.
struct Value {
  Expr expr;
  std::vector<Id> children;
  int level = 0;   // the deepest scope that defines what it reads
  int height = 0;  // of its tree
  bool loads = false;
  bool stays = false;  // in its branch: loads and floating point are not computed in vain
  int uses = 0;
  Var bound;  // the variable that holds it, while in scope
};

struct Item {  // of a scope's statements: a Let or Alloc around what follows, or a statement
  Var var;
  Expr value;
  Buffer buffer;
  Stmt stmt;
};

struct Scope {
  bool loops = false, branches = false;
  std::vector<Item> items;
  std::vector<Id> bound;
};

Stmt fold(std::vector<Item> items) {
  std::vector<Stmt> tail;  // in reverse
  auto rest = [&] {
    std::ranges::reverse(tail);
    return block(std::exchange(tail, {}));
  };
  for (size_t i = items.size(); i-- > 0;) {
    Item& item = items[i];
    if (item.stmt) {
      tail.push_back(std::move(item.stmt));
    } else {
      const Stmt body = rest();
      tail = {item.buffer ? alloc(item.buffer, body) : let(item.var, item.value, body)};
    }
  }
  return rest();
}

class Sharer {
 public:
  Stmt run(const Stmt& body) {
    bool barrier = false;
    add_stored(body, stored_, barrier);
    for (bool emitting : {false, true}) {
      emitting_ = emitting;
      scopes_.assign(1, {});
      epochs_.clear();
      next_epoch_ = 0;
      aliases_.clear();
      statement(body);
    }
    return fold(std::move(scopes_[0].items));
  }

 private:
  int depth() const { return static_cast<int>(scopes_.size()) - 1; }

  // Memory.

  bool is_mutable(const BufferNode* buffer) const {
    return buffer->scope != ir::Scope::global || stored_.contains(buffer);
  }
  void touch(const BufferNode* buffer) { epochs_[buffer] = {++next_epoch_, depth()}; }
  void touch(const Buffers& buffers, bool barrier) {
    for (const BufferNode* buffer : stored_) {  // stored_: an order that both passes share
      const bool by_others = barrier && buffer->scope != ir::Scope::priv;
      if (by_others || buffers.contains(buffer)) touch(buffer);
    }
  }

  // Numbering.

  Id intern(Key key, const Expr& e, std::vector<Id> children, int level, bool loads) {
    auto [found, is_new] = ids_.try_emplace(std::move(key), static_cast<Id>(values_.size()));
    if (is_new) {
      int height = 0;
      bool stays = loads || (is_float(e->type.dtype) && !children.empty());
      for (Id child : children) {
        level = std::max(level, values_[child].level);
        height = std::max(height, values_[child].height + 1);
        loads |= values_[child].loads;
        stays |= values_[child].stays;
      }
      values_.push_back({e, std::move(children), level, height, loads, stays, 0, {}});
    }
    return found->second;
  }

  Id number(const Expr& e) {
    if (auto known = memo_.find(e.get()); known != memo_.end()) return known->second;
    Id id;
    if (auto* v = as<VarNode>(e)) {
      if (auto alias = aliases_.find(v); alias != aliases_.end()) return alias->second;
      auto level = var_levels_.find(v);
      id = intern({static_cast<uint64_t>(e->kind), reinterpret_cast<uintptr_t>(v)}, e, {},
                  level == var_levels_.end() ? 0 : level->second, false);
    } else if (is_index_sum(e)) {
      id = number_sum(e);
    } else {
      id = number_node(e);
    }
    memo_.emplace(e.get(), id);
    return id;
  }

  Id number_node(const Expr& e) {
    std::vector<Id> children;
    for (const Expr& child : children_of(e)) children.push_back(number(child));
    Key key = {static_cast<uint64_t>(e->kind), static_cast<uint64_t>(e->type.dtype),
               static_cast<uint64_t>(e->type.lanes)};
    int level = 0;
    dispatch(*e, [&](const auto& node) {
      visit_fields(node, [&]<class F>(const char*, const F& field) {
        if constexpr (std::is_enum_v<F> || std::is_same_v<F, int64_t>) {
          key.push_back(static_cast<uint64_t>(field));
        } else if constexpr (std::is_same_v<F, double>) {
          key.push_back(std::bit_cast<uint64_t>(field));
        } else if constexpr (std::is_same_v<F, Buffer>) {
          key.push_back(reinterpret_cast<uintptr_t>(field.get()));
          if (is_mutable(field.get())) {
            key.push_back(epochs_[field.get()].first);
            level = epochs_[field.get()].second;
          }
        }
      });
    });
    key.insert(key.end(), children.begin(), children.end());
    return intern(std::move(key), e, std::move(children), level, as<Load>(e) != nullptr);
  }

  static bool is_index_sum(const Expr& e) {
    auto* node = as<Binary>(e);
    return node && node->type == Type(DType::index) &&
           (node->op == BinaryOp::add || node->op == BinaryOp::sub);
  }

  struct Term {
    Id id;
    bool negative;
  };
  void add_terms(const Expr& e, bool negative, std::vector<Term>& terms, int64_t& constant) {
    if (auto value = as_int(e)) {
      constant += negative ? -*value : *value;
    } else if (is_index_sum(e)) {
      auto* node = as<Binary>(e);
      add_terms(node->a, negative, terms, constant);
      add_terms(node->b, negative != (node->op == BinaryOp::sub), terms, constant);
    } else {
      terms.push_back({number(e), negative});
    }
  }
  // Terms of outer loops first, the constant last, so that prefixes are shared and invariant.
  Id number_sum(const Expr& e) {
    std::vector<Term> terms;
    int64_t constant = 0;
    add_terms(e, false, terms, constant);
    std::ranges::sort(terms, [&](const Term& a, const Term& b) {
      return std::tuple(values_[a.id].level, a.id, a.negative) <
             std::tuple(values_[b.id].level, b.id, b.negative);
    });
    if (auto first = std::ranges::find(terms, false, &Term::negative); first != terms.end()) {
      std::rotate(terms.begin(), first, first + 1);
    } else {
      terms.insert(terms.begin(), {number_node(index(constant)), false});
      constant = 0;
    }
    Id sum = terms[0].id;
    auto join = [&](Id term, BinaryOp op) {
      auto* node = new Binary(Type(DType::index));
      node->op = op;
      node->a = values_[sum].expr;
      node->b = values_[term].expr;
      const Expr made(node);
      sum = intern({static_cast<uint64_t>(made->kind), static_cast<uint64_t>(DType::index), 1,
                    static_cast<uint64_t>(op), sum, term},
                   made, {sum, term}, 0, false);
    };
    for (size_t i = 1; i < terms.size(); ++i) {
      join(terms[i].id, terms[i].negative ? BinaryOp::sub : BinaryOp::add);
    }
    if (constant > 0) join(number_node(index(constant)), BinaryOp::add);
    if (constant < 0) join(number_node(index(-constant)), BinaryOp::sub);
    return sum;
  }

  // What is written again at every use takes what it reads along.
  void count(Id id) {
    const int uses = ++values_[id].uses;
    if (uses > 2 || (uses == 2 && pays(values_[id]))) return;
    for (Id child : values_[id].children) count(child);
  }

  // Binding.

  bool is_leaf(Id id) const { return values_[id].children.empty() && !values_[id].loads; }

  // Whether a variable is better than writing it again.
  bool pays(const Value& value) const {
    const Expr& e = value.expr;
    if (auto* node = as<Load>(e)) return node->buffer->scope != ir::Scope::priv;
    if (auto* node = as<Lane>(e)) return !as_int(node->lane);
    if (auto* node = as<Cast>(e)) return is_float(e->type.dtype) || is_float(node->a->type.dtype);
    if (auto* node = as<Binary>(e); node && node->type == Type(DType::index)) {
      const bool sum = node->op == BinaryOp::add || node->op == BinaryOp::sub;
      return !sum || !as_int(values_[value.children[1]].expr);
    }
    return !value.children.empty() && !as<Broadcast>(e);
  }

  int level_to_bind(const Value& value, int at) const {
    int level = value.level;
    if (!value.stays) return level;
    for (int i = at; i > level; --i) {
      if (scopes_[static_cast<size_t>(i)].branches) return i;
    }
    return level;
  }

  Expr bind(Id id, int level, const std::string& name) {
    const Expr made = rebuild(id, level, true);
    Value& value = values_[id];
    value.bound = var(name, value.expr->type);
    Scope& scope = scopes_[static_cast<size_t>(level)];
    scope.items.push_back({value.bound, made, {}, {}});
    scope.bound.push_back(id);
    return value.bound;
  }

  Expr rebuild(Id id, int at, bool may_bind) {
    std::vector<Expr> children;
    for (size_t i = 0; i < values_[id].children.size(); ++i) {
      children.push_back(build(values_[id].children[i], at, may_bind));
    }
    return with_children(values_[id].expr, children);
  }

  // The expression to write in scope `at` for a value.
  Expr build(Id id, int at, bool may_bind) {
    const Value& value = values_[id];
    if (value.bound) return value.bound;
    if (is_leaf(id)) return value.expr;
    if (may_bind && pays(value)) {
      const int level = level_to_bind(value, at);
      bool again = value.uses > 1 || value.height % deepest_expression == deepest_expression - 1;
      for (int i = level + 1; i <= at && !again; ++i) {
        again = scopes_[static_cast<size_t>(i)].loops;
      }
      if (again) return bind(id, level, name_for(value));
    }
    return rebuild(id, at, may_bind);
  }

  static std::string name_for(const Value& value) {
    if (auto* node = as<Load>(value.expr)) return node->buffer->name;
    return value.expr->type.dtype == DType::index ? "i" : "t";
  }

  // Statements.

  Expr use(const Expr& e, bool may_bind = true) {
    const Id id = number(e);
    if (!emitting_) {
      count(id);
      return e;
    }
    return build(id, depth(), may_bind);
  }

  void push(Stmt s) {
    if (emitting_) scopes_.back().items.push_back({{}, {}, {}, std::move(s)});
    memo_.clear();
  }

  // The statements of a nested scope; `stored` and `barrier` happen inside it.
  template <class Enter>
  Stmt nested(const Stmt& body, bool loops, Enter enter) {
    memo_.clear();
    scopes_.push_back({loops, !loops, {}, {}});
    enter();
    statement(body);
    Scope done = std::move(scopes_.back());
    scopes_.pop_back();
    for (Id id : done.bound) values_[id].bound = {};
    memo_.clear();
    return emitting_ ? fold(std::move(done.items)) : body;
  }

  void bind_let(const Let& node) {
    const Id id = number(node.value);
    aliases_[node.var.get()] = id;
    const Value& value = values_[id];
    if (emitting_ && value.uses > 0 && value.loads && !value.bound.get()) {
      bind(id, level_to_bind(value, depth()), node.var->name);
    }
    memo_.clear();
  }

  void statement(Stmt s) {
    for (;;) {  // along chains of Lets and Allocs
      memo_.clear();
      if (auto* node = as<Let>(s)) {
        bind_let(*node);
        const Stmt body = node->body;
        s = body;
      } else if (auto* node = as<Alloc>(s)) {
        if (emitting_) scopes_.back().items.push_back({{}, {}, node->buffer, {}});
        touch(node->buffer.get());
        const Stmt body = node->body;
        s = body;
      } else {
        break;
      }
    }
    if (auto* node = as<Block>(s)) {
      for (const Stmt& inner : node->stmts) statement(inner);
    } else if (auto* node = as<For>(s)) {
      loop_over(*node);
    } else if (auto* node = as<While>(s)) {
      loop_while(*node);
    } else if (auto* node = as<If>(s)) {
      branch_on(*node);
    } else if (auto* node = as<Store>(s)) {
      auto* made = new Store(*node);
      const Stmt copy(made);
      for (Expr& i : made->indices) i = use(i);
      made->value = use(node->value);
      push(copy);
      touch(node->buffer.get());
    } else {
      GS_CHECK(as<Barrier>(s), "statement in a shader");
      push(s);
      touch({}, true);
    }
  }

  void loop_over(const For& node) {
    GS_CHECK(node.loop == LoopKind::serial, "loop ", node.var->name, " is not serial");
    Buffers stored;
    bool barrier = false;
    add_stored(node.body, stored, barrier);
    const Id extent_id = number(node.extent);
    Expr extent = use(node.extent);
    // Written in the loop's condition, it would be computed every time. As far out as it can stand,
    // since what the loop holds may use it there.
    if (emitting_ && !values_[extent_id].bound.get() && !is_leaf(extent_id)) {
      extent = bind(extent_id, level_to_bind(values_[extent_id], depth()), node.var->name);
    }
    const Stmt body = nested(node.body, true, [&] {
      var_levels_[node.var.get()] = depth();
      touch(stored, barrier);
    });
    push(emitting_ ? loop(node.var, extent, node.loop, body) : body);
    touch(stored, barrier);
  }

  void loop_while(const While& node) {
    Buffers stored;
    bool barrier = false;
    add_stored(node.body, stored, barrier);
    touch(stored, barrier);
    const Expr condition = use(node.condition, false);
    const Stmt body = nested(node.body, true, [&] { touch(stored, barrier); });
    push(emitting_ ? while_loop(condition, body) : body);
    touch(stored, barrier);
  }

  void branch_on(const If& node) {
    Buffers stored;
    bool barrier = false;
    add_stored(node.yes, stored, barrier);
    const Expr condition = use(node.condition);
    const Stmt yes = nested(node.yes, false, [] {});
    Stmt no;
    if (node.no) {
      no = nested(node.no, false, [&] { touch(stored, barrier); });
      add_stored(node.no, stored, barrier);
    }
    push(emitting_ ? branch(condition, yes, no) : yes);
    touch(stored, barrier);
  }

  bool emitting_ = false;
  Buffers stored_;
  std::unordered_map<const BufferNode*, std::pair<uint64_t, int>> epochs_;  // and their scopes
  uint64_t next_epoch_ = 0;
  std::unordered_map<const VarNode*, int> var_levels_;
  std::unordered_map<const VarNode*, Id> aliases_;  // Let variables
  std::unordered_map<const ExprNode*, Id> memo_;    // of the current statement
  std::unordered_map<Key, Id, KeyHash> ids_;
  std::deque<Value> values_;  // references last
  std::vector<Scope> scopes_;
};

}  // namespace

Stmt share_expressions(const Stmt& body) { return Sharer().run(body); }

}  // namespace gossamer::codegen::text
