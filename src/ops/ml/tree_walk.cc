// All samples walk down all trees at once.
#include <algorithm>

#include "ir/print.h"
#include "ir/scalar.h"
#include "ops/ml/trees.h"

namespace gossamer::ops {
namespace {

// Levels below the roots; an error where nodes form a cycle.
Result<int> depth_of(const Builder& b, const std::vector<TreeNode>& nodes,
                     const std::vector<int32_t>& roots) {
  std::vector<int32_t> level = roots;
  for (int depth = 0; depth < 256; ++depth) {
    std::vector<int32_t> next;
    for (int32_t row : level) {
      const TreeNode& node = nodes[static_cast<size_t>(row)];
      if (node.yes != row) next.push_back(node.yes);
      if (node.no != row) next.push_back(node.no);
    }
    if (next.empty()) return depth;
    // Nodes may have several parents.
    std::ranges::sort(next);
    next.erase(std::ranges::unique(next).begin(), next.end());
    level = std::move(next);
  }
  return b.error("the trees are too deep, or their nodes form a cycle");
}

Expr holds(TreeTest test, const Expr& x, const Expr& value) {
  switch (test) {
    case TreeTest::leq:
      return x <= value;
    case TreeTest::lt:
      return x < value;
    case TreeTest::gte:
      return x >= value;
    case TreeTest::gt:
      return x > value;
    case TreeTest::eq:
      return x == value;
    case TreeTest::neq:
      return x != value;
  }
  return ir::boolean(false);
}

// Where tests differ, all become leq and lt: the opposite test has its children exchanged, and an
// equality is one test after the other.
void unify_tests(std::vector<TreeNode>& nodes) {
  using enum TreeTest;
  auto is_leaf = [&](size_t i) {
    return nodes[i].yes == nodes[i].no && nodes[i].yes == static_cast<int32_t>(i);
  };
  size_t count = nodes.size(), first = count;
  bool mixed = false;
  for (size_t i = 0; i < count; ++i) {
    if (is_leaf(i)) continue;
    if (first == count) first = i;
    mixed = mixed || nodes[i].test != nodes[first].test;
  }
  for (size_t i = 0; mixed && i < count; ++i) {
    if (is_leaf(i)) continue;
    TreeNode node = nodes[i];
    bool opposite = node.test == gt || node.test == gte || node.test == neq;
    if (opposite) {
      std::swap(node.yes, node.no);
      node.missing = !node.missing;
    }
    if (node.test == eq || node.test == neq) {
      TreeNode less = node;
      less.test = lt;
      less.yes = node.no;
      less.no = static_cast<int32_t>(nodes.size());
      less.missing = false;
      node.test = leq;
      nodes.push_back(node);
      nodes[i] = less;
      continue;
    }
    node.test = node.test == leq || node.test == gt ? leq : lt;
    nodes[i] = node;
  }
}

}  // namespace

Result<Tensor> leaves_reached(Builder& b, const Tensor& x, std::vector<TreeNode> nodes,
                              const std::vector<int32_t>& roots) {
  int32_t last_feature = 0;
  for (const TreeNode& node : nodes) last_feature = std::max(last_feature, node.feature);
  GS_TRY(b.require(x.dim(1) > static_cast<double>(last_feature),
                   cat("a node tests feature ", last_feature, " of ", ir::print(x.dim(1)))));
  unify_tests(nodes);
  GS_ASSIGN(int depth, depth_of(b, nodes, roots));
  size_t count = nodes.size();
  std::vector<int32_t> features(count), children(2 * count);
  std::vector<float> values(count);
  std::vector<uint8_t> missing(count), strict(count);
  std::optional<TreeTest> test;
  bool mixed = false;
  for (size_t i = 0; i < count; ++i) {
    const TreeNode& node = nodes[i];
    features[i] = node.feature;
    children[2 * i] = node.no;
    children[2 * i + 1] = node.yes;
    values[i] = static_cast<float>(node.value);
    missing[i] = node.missing ? 1 : 0;
    strict[i] = node.test == TreeTest::lt ? 1 : 0;
    if (node.yes == node.no && node.yes == static_cast<int32_t>(i)) continue;
    mixed = mixed || (test && *test != node.test);
    test = node.test;
  }
  int64_t rows = static_cast<int64_t>(count);
  DType wide = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  TensorData table = floats({rows}, values);
  if (wide == DType::f64) {
    table = {DType::f64, {rows}, std::vector<std::byte>(count * 8), {}};
    for (size_t i = 0; i < count; ++i)
      ir::write_scalar(ir::Scalar::of_float(wide, nodes[i].value), &table.bytes[i * 8]);
  }
  Tensor feature = b.constant(int32s({rows}, features)), value = b.constant(table),
         child = b.constant(int32s({rows, 2}, children)), only_less, missing_yes;
  if (mixed) only_less = b.constant(booleans({rows}, strict));
  if (std::ranges::find(missing, 1) != missing.end())
    missing_yes = b.constant(booleans({rows}, missing));
  int64_t trees = static_cast<int64_t>(roots.size());
  Tensor first = b.constant(int32s({trees}, roots));
  Shape shape = {x.dim(0), ir::index(trees)};
  Tensor place = b.compute("trees.root", DType::i32, shape, [&](Point p) { return first({p[1]}); });
  for (int level = 0; level < depth; ++level) {
    Tensor before = place;
    place = b.compute("trees.level", DType::i32, shape, [&](Point p) {
      Expr at = as_index(before.at(p));
      Expr here = ir::cast(wide, x({p[0], as_index(feature({at}))}));
      Expr bound = value({at});
      Expr goes = mixed ? here < bound || (here == bound && !only_less({at}))
                        : holds(test.value_or(TreeTest::leq), here, bound);
      if (missing_yes) goes = goes || (ir::is_nan(here) && missing_yes({at}));
      return child({at, ir::cast(DType::index, goes)});
    });
  }
  return place;
}

}  // namespace gossamer::ops
