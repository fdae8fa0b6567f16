// The loop IR: immutable, counted nodes. nodes.def lists every node and its fields, with the
// semantics.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/ref.h"
#include "base/result.h"
#include "ir/type.h"

namespace gossamer::ir {

enum class UnaryOp : uint8_t {
#define GS_UNARY(name, spelling) name,
#define GS_BINARY(name, spelling, kind)
#include "ir/ops.def"
#undef GS_UNARY
#undef GS_BINARY
};
enum class BinaryOp : uint8_t {
#define GS_UNARY(name, spelling)
#define GS_BINARY(name, spelling, kind) name,
#include "ir/ops.def"
#undef GS_UNARY
#undef GS_BINARY
};
std::string_view name_of(UnaryOp);
std::string_view name_of(BinaryOp);
bool is_comparison(BinaryOp);
bool is_logical(BinaryOp);
bool is_bitwise(BinaryOp);
std::string_view spelling_of(UnaryOp);
std::string_view spelling_of(BinaryOp);
bool gives_boolean(UnaryOp);  // is_nan, is_inf

// How the iterations of a loop run. A kernel's outermost loop is its only `grid` loop; its extent
// is the launch's range: work items on CPUs (any chunk [begin, end) may run on any thread),
// workgroups on compute GPUs, texels of the output texture on WebGL (a fragment each). `group` is
// the loop over a workgroup's invocations, directly inside.
enum class LoopKind : uint8_t { serial, unrolled, vectorized, grid, group };

std::string_view name_of(LoopKind);

enum class Scope : uint8_t { global, group, priv, constant };
std::string_view name_of(Scope);

enum class NodeKind : uint8_t {
#define GS_EXPR(Name, ...) Name,
#define GS_STMT(Name, ...) Name,
  Var,
#include "ir/nodes.def"
  Buffer,
#undef GS_EXPR
#undef GS_STMT
};

std::string_view name_of(NodeKind);

struct Node : RefCounted {
  const NodeKind kind;
  explicit Node(NodeKind node_kind) : kind(node_kind) {}
};
struct ExprNode : Node {
  Type type;
  ExprNode(NodeKind node_kind, Type node_type) : Node(node_kind), type(node_type) {}
};
struct StmtNode : Node {
  explicit StmtNode(NodeKind node_kind) : Node(node_kind) {}
};
struct VarNode;
struct BufferNode;

// Destroys a node that nobody refers to any more, without recursion.
void release(const Node*);

using Expr = Ref<ExprNode>;
using Stmt = Ref<StmtNode>;
using Var = Ref<VarNode>;
using Buffer = Ref<BufferNode>;

// Of a variable of which nothing is known.
constexpr int64_t default_estimate = 128;

// A variable is itself: two of the same name differ.
struct VarNode : ExprNode {
  static constexpr NodeKind static_kind = NodeKind::Var;
  std::string name;
  int64_t estimate = default_estimate;  // of a dimension: what a run is likely to have (estimate.h)
  VarNode(std::string var_name, Type var_type)
      : ExprNode(NodeKind::Var, var_type), name(std::move(var_name)) {}
};

// One physical axis of a Layout: the logical coordinate `dim`, divided by `divide`, modulo `modulo`
// (0: no modulo).
struct LayoutAxis {
  int dim = 0;
  int64_t divide = 1;
  int64_t modulo = 0;
  bool operator==(const LayoutAxis&) const = default;
};

enum class Memory : uint8_t { linear, texture };

// How a tensor lies in memory: an index map from logical coordinates to physical ones, row-major
// over the physical axes. An empty `axes` is plain row-major. docs/specs/layout.md has pictures.
// - NCHW8c:       axes {0}, {1, /8}, {2}, {3}, {1, %8};  logical extents round up to the block,
// padding lanes are undefined
// - packed B of a matmul [K, N]: {1, /8}, {0}, {1, %8}
// - `flat`: the logical coordinates are first linearised row-major into one, which is dim 0 of
// `axes` Texture memory: the last physical axis has extent 4 (the texel's RGBA); the axis before it
// is the array layer when `layers` > 1; the rest is linearised to t, and the texel is (t % width, t
// / width). `width` is a power of two.
struct Layout {
  std::vector<LayoutAxis> axes;
  bool flat = false;
  Memory memory = Memory::linear;
  int width = 0;   // texture only
  int layers = 1;  // texture only: extent of the layer axis (1, 2, 4 or 8)
  // Elements in a 32-bit word, the first in the lowest bits. 4 and 2 for types of one and two bytes
  // where kernels of a GPU alone access them; elsewhere memory holds each element in its own type.
  int pack = 1;
  bool operator==(const Layout&) const = default;
};
std::string to_string(const Layout&);

// A tensor in memory, by identity. Indices of loads and stores are logical until
// passes/flatten_access.
struct BufferNode : Node {
  static constexpr NodeKind static_kind = NodeKind::Buffer;
  std::string name;
  DType dtype;              // value type: what the operator means
  DType storage;            // storage type: what memory holds
  std::vector<Expr> shape;  // logical extents, of type index
  Scope scope = Scope::global;
  Layout layout;
  BufferNode(std::string buffer_name, DType value_dtype, std::vector<Expr> extents,
             Scope buffer_scope = Scope::global)
      : Node(NodeKind::Buffer),
        name(std::move(buffer_name)),
        dtype(value_dtype),
        storage(value_dtype),
        shape(std::move(extents)),
        scope(buffer_scope) {}
};

#define F(Type, name) Type name;
#define GS_EXPR(Name, ...)                                              \
  struct Name : ExprNode {                                              \
    static constexpr NodeKind static_kind = NodeKind::Name;             \
    explicit Name(Type node_type) : ExprNode(static_kind, node_type) {} \
    __VA_ARGS__                                                         \
  };
#define GS_STMT(Name, ...)                                  \
  struct Name : StmtNode {                                  \
    static constexpr NodeKind static_kind = NodeKind::Name; \
    Name() : StmtNode(static_kind) {}                       \
    __VA_ARGS__                                             \
  };
#include "ir/nodes.def"
#undef F
#undef GS_EXPR
#undef GS_STMT

// visit_fields(node, v) calls v("name", node.name) for each field in the order of the table; with a
// non-const node the visitor may change them (only on a node just made).
#define F(Type, field) visitor(#field, node.field);
#define GS_EXPR(Name, ...)                                                             \
  template <class V>                                                                   \
  void visit_fields([[maybe_unused]] const Name& node, [[maybe_unused]] V&& visitor) { \
    __VA_ARGS__                                                                        \
  }                                                                                    \
  template <class V>                                                                   \
  void visit_fields([[maybe_unused]] Name& node, [[maybe_unused]] V&& visitor) {       \
    __VA_ARGS__                                                                        \
  }
#define GS_STMT(Name, ...) GS_EXPR(Name, __VA_ARGS__)
#include "ir/nodes.def"
#undef F
#undef GS_EXPR
#undef GS_STMT

// Leaves: their own members are not fields.
template <class V>
void visit_fields(const VarNode&, V&&) {}

// Calls v(const Concrete&) for the node's concrete type (Var included, Buffer not).
template <class V>
decltype(auto) dispatch(const Node& node, V&& visitor) {
  switch (node.kind) {
#define GS_EXPR(Name, ...) \
  case NodeKind::Name:     \
    return visitor(static_cast<const Name&>(node));
#define GS_STMT(Name, ...) GS_EXPR(Name)
#include "ir/nodes.def"
#undef GS_EXPR
#undef GS_STMT
    case NodeKind::Var:
      return visitor(static_cast<const VarNode&>(node));
    case NodeKind::Buffer:
      break;
  }
  check_failed(__FILE_NAME__, __LINE__, "known node kind", "");
}

// Calls v(const Expr&) for each expression among the fields of a node.
template <class V>
void visit_operands(const Node& node, V&& visitor) {
  dispatch(node, [&](const auto& concrete) {
    visit_fields(concrete, [&]<class F>(const char*, const F& field) {
      if constexpr (std::is_same_v<F, Expr>) visitor(field);
      if constexpr (std::is_same_v<F, std::vector<Expr>>) {
        for (const Expr& operand : field) visitor(operand);
      }
    });
  });
}

// Checked down-cast: null where the node is of another kind.
template <class T, class N>
const T* as(const Ref<N>& node) {
  return node && node->kind == T::static_kind
             ? static_cast<const T*>(static_cast<const Node*>(node.get()))
             : nullptr;
}

// A compiled unit of work: one launch. Parameters are bound in the order given; `scalars` follow
// them.
struct Kernel {
  struct Param {
    Buffer buffer;
    bool written = false;
    bool updated = false;  // written, and read before that: it goes on from what it holds
  };
  std::string name;
  std::vector<Param> params;
  std::vector<Var> scalars;  // of type index: dimensions of a dynamic model
  Stmt body;                 // Let* For(grid)
};

}  // namespace gossamer::ir
