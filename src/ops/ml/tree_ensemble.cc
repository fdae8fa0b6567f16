// TreeEnsemble: inner nodes and leaves have tables of their own, and nodes may test membership.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/scalar.h"
#include "ops/families.h"
#include "ops/ml/linear_models.h"
#include "ops/ml/trees.h"

namespace gossamer::ops {
namespace {

std::vector<double> values_of(const TensorData* data) {
  std::vector<double> values;
  if (!data) return values;
  size_t bytes = static_cast<size_t>(ir::byte_size(data->dtype));
  for (size_t i = 0; i + bytes <= data->bytes.size(); i += bytes)
    values.push_back(ir::read_scalar(data->dtype, &data->bytes[i]).as_double());
  return values;
}

// A binary search among `members` (sorted) as nodes below `row`, which becomes its first; NaN goes
// through the last `leq`.
void search(std::vector<TreeNode>& nodes, size_t row, std::span<const double> members,
            TreeNode found) {
  size_t middle = members.size() / 2;
  auto append = [&] {
    nodes.push_back({});
    return nodes.size() - 1;
  };
  found.test = TreeTest::leq;
  found.value = members[middle];
  TreeNode less = found;
  less.test = TreeTest::lt;
  less.yes = found.no;
  less.missing = false;
  if (middle > 0) {
    size_t left = append();
    less.yes = static_cast<int32_t>(left);
    search(nodes, left, members.first(middle), found);
  }
  size_t same = append();
  less.no = static_cast<int32_t>(same);
  nodes[row] = less;
  if (members.size() > middle + 1) {
    size_t right = append();
    TreeNode more = found;
    found.no = static_cast<int32_t>(right);
    found.missing = false;
    search(nodes, right, members.subspan(middle + 1), more);
  }
  nodes[same] = found;
}

struct Ensemble {
  std::vector<TreeNode> nodes;  // inner ones, then leaves, then those of searches
  std::vector<int32_t> roots;
  int64_t inner = 0;
};

Result<Ensemble> read_ensemble(Builder& b, int64_t leaves) {
  Numbers features = b.integers("nodes_featureids"), yes = b.integers("nodes_truenodeids"),
          no = b.integers("nodes_falsenodeids"), yes_leaf = b.integers("nodes_trueleafs"),
          no_leaf = b.integers("nodes_falseleafs"), roots = b.integers("tree_roots"),
          tracks = b.integers("nodes_missing_value_tracks_true");
  std::vector<double> modes = values_of(b.tensor("nodes_modes")),
                      splits = values_of(b.tensor("nodes_splits")),
                      members = values_of(b.tensor("membership_values"));
  size_t count = features.size();
  for (size_t size : {yes.size(), no.size(), yes_leaf.size(), no_leaf.size(), modes.size(),
                      splits.size(), tracks.empty() ? count : tracks.size()}) {
    if (size != count) return b.error("the attributes of nodes differ in length");
  }
  if (count == 0 || roots.empty() || count + static_cast<size_t>(leaves) + members.size() > 1 << 24)
    return b.error("the ensemble is empty or too large");
  Ensemble made;
  made.inner = static_cast<int64_t>(count);
  made.nodes.resize(count + static_cast<size_t>(leaves));
  for (size_t i = count; i < made.nodes.size(); ++i)
    made.nodes[i].yes = made.nodes[i].no = static_cast<int32_t>(i);
  size_t next_member = 0;
  for (size_t i = 0; i < count; ++i) {
    auto child = [&](int64_t id, int64_t leaf) {
      int64_t limit = leaf ? leaves : made.inner;
      return id < 0 || id >= limit ? int64_t{-1} : leaf ? id + made.inner : id;
    };
    int64_t on_yes = child(yes[i], yes_leaf[i]), on_no = child(no[i], no_leaf[i]);
    if (on_yes < 0 || on_no < 0) return b.error("a node's child is missing");
    if (features[i] < 0 || features[i] > 0x7fffffff || modes[i] < 0 || modes[i] > 6)
      return b.error("`nodes_featureids` or `nodes_modes` are out of range");
    TreeNode node{static_cast<int32_t>(features[i]),
                  splits[i],
                  TreeTest::leq,
                  static_cast<int32_t>(on_yes),
                  static_cast<int32_t>(on_no),
                  !tracks.empty() && tracks[i] != 0};
    if (modes[i] < 6) {
      node.test = static_cast<TreeTest>(modes[i]);
      made.nodes[i] = node;
      continue;
    }
    // The members of each such node end with a NaN.
    std::vector<double> mine;
    for (; next_member < members.size() && !std::isnan(members[next_member]); ++next_member)
      mine.push_back(members[next_member]);
    if (next_member == members.size()) return b.error("`membership_values` are too few");
    ++next_member;
    std::ranges::sort(mine);
    mine.erase(std::ranges::unique(mine).begin(), mine.end());
    // No number is less than nothing; NaN still goes where it should.
    if (mine.empty()) {
      node.test = TreeTest::lt;
      node.value = -std::numeric_limits<double>::infinity();
      made.nodes[i] = node;
    } else {
      search(made.nodes, i, mine, node);
    }
  }
  for (int64_t root : roots) {
    if (root < 0 || root >= made.inner) return b.error("`tree_roots` are out of range");
    made.roots.push_back(static_cast<int32_t>(root));
  }
  return made;
}

Result<> tree_ensemble(Builder& b) {
  const Tensor& x = b.input(0);
  if (x.rank() != 2) return b.error(cat("input has rank ", x.rank()), "it is [samples, features]");
  Numbers targets = b.integers("leaf_targetids");
  std::vector<double> weights = values_of(b.tensor("leaf_weights"));
  int64_t leaves = static_cast<int64_t>(targets.size()), outputs = b.integer("n_targets");
  if (targets.size() != weights.size() || outputs < 1)
    return b.error("`leaf_targetids`, `leaf_weights` and `n_targets` do not fit");
  if (std::ranges::any_of(targets, [&](int64_t id) { return id < 0 || id >= outputs; }))
    return b.error("`leaf_targetids` are out of range");
  int64_t aggregate = b.integer("aggregate_function"), transform = b.integer("post_transform");
  static constexpr std::string_view transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                                    "PROBIT"};
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4)
    return b.error("`aggregate_function` or `post_transform` is not known");
  GS_ASSIGN(Ensemble ensemble, read_ensemble(b, leaves));
  GS_ASSIGN(Tensor place, leaves_reached(b, x, ensemble.nodes, ensemble.roots));
  Tensor target = b.constant(int32s({leaves}, {targets.begin(), targets.end()})),
         weight = b.constant(floats({leaves}, {weights.begin(), weights.end()}));
  using enum Builder::Join;
  Builder::Join join = aggregate == 2 ? min : aggregate == 3 ? max : sum;
  constexpr double limit = std::numeric_limits<float>::max();
  Expr nothing = ir::constant(DType::f32, join == sum ? 0 : join == min ? limit : -limit);
  double trees = static_cast<double>(ensemble.roots.size());
  Tensor scores = b.reduce(
      "trees.sum", join, DType::f32, {x.dim(0), ir::index(outputs)}, {place.dim(1)},
      [&](Point p, Point r) {
        Expr leaf = as_index(place({p[0], r[0]})) - static_cast<double>(ensemble.inner);
        return ir::select(as_index(target({leaf})) == p[1], weight({leaf}), nothing);
      },
      [&](Point, Expr total) {
        // An output without a leaf is 0.
        if (join != sum) total = ir::select(ir::abs(total) >= limit, ir::zero(DType::f32), total);
        return aggregate == 0 ? total / trees : total;
      });
  GS_ASSIGN(scores, transformed_targets(b, scores, outputs, transforms[transform]));
  if (x.dtype() != scores.dtype()) {
    Tensor real = scores;
    scores = b.compute("trees.cast", x.dtype(), real.shape(),
                       [&](Point p) { return ir::cast(x.dtype(), real.at(p)); });
  }
  b.output(0, scores);
  return {};
}

}  // namespace

std::vector<OpDef> tree_ensemble_family() {
  using N = Numbers;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Attributes members = {
      {"leaf_targetids", N{0, 1, 2, 3}},
      {"leaf_weights", floats({4}, {1, 10, 1000, 100})},
      {"membership_values", floats({10}, {1.5f, 3.5f, 2, -1, 0.5f, 7, nan, 2, 1, nan})},
      {"n_targets", 4},
      {"nodes_falseleafs", N{1, 0, 1}},
      {"nodes_falsenodeids", N{2, 2, 3}},
      {"nodes_featureids", N{0, 0, 1}},
      {"nodes_modes", uint8s({3}, {0, 6, 6})},
      {"nodes_splits", floats({3}, {11, 232344, 0})},
      {"nodes_trueleafs", N{0, 1, 1}},
      {"nodes_truenodeids", N{1, 0, 1}},
      {"tree_roots", N{0}}};
  Attributes forest = {{"leaf_targetids", N{0, 1, 0}},
                       {"leaf_weights", floats({3}, {5, 3, -1})},
                       {"n_targets", 2},
                       {"nodes_falseleafs", N{1, 1}},
                       {"nodes_falsenodeids", N{1, 2}},
                       {"nodes_featureids", N{0, 1}},
                       {"nodes_missing_value_tracks_true", N{0, 1}},
                       {"nodes_modes", uint8s({2}, {3, 0})},
                       {"nodes_splits", floats({2}, {0.25f, -0.5f})},
                       {"nodes_trueleafs", N{1, 1}},
                       {"nodes_truenodeids", N{0, 1}},
                       {"tree_roots", N{0, 1}}};
  Attributes least = forest, mean = forest;
  least.insert({{"aggregate_function", 2}, {"post_transform", 2}});
  mean.insert({{"aggregate_function", 0}, {"post_transform", 1}});
  std::vector<AttributeDef> attributes = {{"aggregate_function", 1},
                                          {"membership_values", {}},
                                          {"n_targets", 1},
                                          {"nodes_hitrates", {}},
                                          {"nodes_missing_value_tracks_true", N{}},
                                          {"post_transform", 0}};
  for (const char* name : {"leaf_targetids", "leaf_weights", "nodes_falseleafs",
                           "nodes_falsenodeids", "nodes_featureids", "nodes_modes", "nodes_splits",
                           "nodes_trueleafs", "nodes_truenodeids", "tree_roots"}) {
    attributes.push_back({name, {}, true});
  }
  return {
      {.name = "TreeEnsemble",
       .doc = "The joined weights of the leaves that samples reach.",
       .domain = "ai.onnx.ml",
       .since = 5,
       .inputs = {{"X", only(DType::f32) | only(DType::f64) | only(DType::f16)}},
       .attributes = attributes,
       .define = tree_ensemble,
       .cases = [=] -> Cases {
         return {{.name = "members",
                  .attributes = members,
                  .inputs = {floats({6, 2}, {1.5f, 2, 12, 1, 7, 0, -1, 1, nan, 2, 3, 3})}},
                 {.name = "forest",
                  .attributes = forest,
                  .inputs = {floats({4, 2}, {1, 0, 0, -1, 0.25f, nan, nan, nan})}},
                 {.name = "least", .shapes = {{5, 2}}, .attributes = least},
                 {.name = "mean", .shapes = {{5, 2}}, .attributes = mean}};
       }},
  };
}

}  // namespace gossamer::ops
