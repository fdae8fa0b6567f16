#include "ir/nodes.h"

#include <array>

#include "base/small_vector.h"

namespace gossamer::ir {
namespace {

constexpr std::array unary_names{
#define GS_UNARY(name, spelling) std::string_view(#name),
#define GS_BINARY(name, spelling, kind)
#include "ir/ops.def"
#undef GS_UNARY
#undef GS_BINARY
};
constexpr std::array unary_spellings{
#define GS_UNARY(name, spelling) std::string_view(spelling),
#define GS_BINARY(name, spelling, kind)
#include "ir/ops.def"
#undef GS_UNARY
#undef GS_BINARY
};

enum class OpKind : uint8_t { arith, compare, logic, bits };
struct BinaryRow {
  std::string_view name, spelling;
  OpKind kind;
};
constexpr std::array binary_rows{
#define GS_UNARY(name, spelling)
#define GS_BINARY(name, spelling, kind) BinaryRow{#name, spelling, OpKind::kind},
#include "ir/ops.def"
#undef GS_UNARY
#undef GS_BINARY
};
const BinaryRow& row(BinaryOp op) { return binary_rows[static_cast<size_t>(op)]; }

constexpr std::array node_names{
#define GS_EXPR(Name, ...) std::string_view(#Name),
#define GS_STMT(Name, ...) std::string_view(#Name),
    std::string_view("Var"),
#include "ir/nodes.def"
    std::string_view("Buffer"),
#undef GS_EXPR
#undef GS_STMT
};

// Takes the references out of a node that is about to go, and lists those that nobody else holds.
struct Detacher {
  SmallVector<const Node*, 32>& dead;

  template <class T>
  void operator()(const char*, Ref<T>& child) {
    const T* node = child.detach();
    if (node && --node->references == 0) dead.push_back(node);
  }
  template <class T>
  void operator()(const char* name, std::vector<Ref<T>>& children) {
    for (Ref<T>& child : children) (*this)(name, child);
  }
  template <class T>
  void operator()(const char*, T&) {}
};

}  // namespace

std::string_view name_of(UnaryOp op) { return unary_names[static_cast<size_t>(op)]; }
std::string_view name_of(BinaryOp op) { return row(op).name; }
std::string_view spelling_of(UnaryOp op) { return unary_spellings[static_cast<size_t>(op)]; }
std::string_view spelling_of(BinaryOp op) { return row(op).spelling; }
bool is_comparison(BinaryOp op) { return row(op).kind == OpKind::compare; }
bool is_logical(BinaryOp op) { return row(op).kind == OpKind::logic; }
bool is_bitwise(BinaryOp op) { return row(op).kind == OpKind::bits; }
bool gives_boolean(UnaryOp op) { return op == UnaryOp::is_nan || op == UnaryOp::is_inf; }

std::string_view name_of(LoopKind kind) {
  constexpr std::array<std::string_view, 5> names{"serial", "unrolled", "vectorized", "grid",
                                                  "group"};
  return names[static_cast<size_t>(kind)];
}

std::string_view name_of(Scope scope) {
  constexpr std::array<std::string_view, 4> names{"global", "group", "private", "constant"};
  return names[static_cast<size_t>(scope)];
}

std::string_view name_of(NodeKind kind) { return node_names[static_cast<size_t>(kind)]; }

void release(const Node* root) {
  SmallVector<const Node*, 32> dead;
  Detacher detach{dead};
  const Node* node = root;
  while (true) {
    switch (node->kind) {
#define GS_EXPR(Name, ...)                                              \
  case NodeKind::Name: {                                                \
    auto* concrete = const_cast<Name*>(static_cast<const Name*>(node)); \
    visit_fields(*concrete, detach);                                    \
    delete concrete;                                                    \
    break;                                                              \
  }
#define GS_STMT(Name, ...) GS_EXPR(Name)
#include "ir/nodes.def"
#undef GS_EXPR
#undef GS_STMT
      case NodeKind::Var:
        delete static_cast<const VarNode*>(node);
        break;
      case NodeKind::Buffer: {
        auto* buffer = const_cast<BufferNode*>(static_cast<const BufferNode*>(node));
        detach("shape", buffer->shape);
        delete buffer;
        break;
      }
    }
    if (dead.empty()) return;
    node = dead.back();
    dead.pop_back();
  }
}

std::string to_string(const Layout& layout) {
  std::string text = layout.flat ? "flat[" : "[";
  for (size_t i = 0; i < layout.axes.size(); ++i) {
    const LayoutAxis& axis = layout.axes[i];
    if (i) text += ", ";
    text += cat(axis.dim);
    if (axis.divide != 1) text += cat("/", axis.divide);
    if (axis.modulo != 0) text += cat("%", axis.modulo);
  }
  text += "]";
  if (layout.memory == Memory::texture) {
    text += cat(" texture ", layout.width);
    if (layout.layers != 1) text += cat(" layers ", layout.layers);
  }
  if (layout.pack != 1) text += cat(" pack ", layout.pack);
  return text;
}

}  // namespace gossamer::ir
