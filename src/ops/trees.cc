// Tree ensembles: all samples walk down all trees at once, one stage a level.
#include <algorithm>
#include <map>

#include "ops/classic.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

struct Forest {
  Tensor feature, value, yes, no, roots;
  Tensor missing;  // null where no node tracks missing values
  std::map<std::pair<int64_t, int64_t>, int32_t> number;  // (tree, node) -> row
  std::string mode;
  int depth = 0;
  int64_t trees = 0, nodes = 0;
};

// Levels below each root; an error where nodes form a cycle.
Result<int> depth_of(const Builder& b, const std::vector<int32_t>& roots,
                     const std::vector<int32_t>& yes, const std::vector<int32_t>& no) {
  std::vector<int32_t> level = roots;
  for (int depth = 0; depth < 256; ++depth) {
    std::vector<int32_t> next;
    for (int32_t node : level) {
      size_t k = static_cast<size_t>(node);
      if (yes[k] == node) continue;
      next.push_back(yes[k]);
      next.push_back(no[k]);
    }
    if (next.empty()) return depth;
    // Every node has one parent: more than there are means a cycle.
    if (next.size() > yes.size()) break;
    level = std::move(next);
  }
  return b.error("the trees are too deep, or their nodes form a cycle");
}

Result<Forest> read_forest(Builder& b) {
  Numbers trees = b.integers("nodes_treeids"), ids = b.integers("nodes_nodeids");
  Numbers features = b.integers("nodes_featureids"), trues = b.integers("nodes_truenodeids"),
          falses = b.integers("nodes_falsenodeids");
  std::vector<double> values = b.numbers("nodes_values");
  std::vector<std::string> modes = b.texts("nodes_modes");
  size_t count = trees.size();
  if (count == 0 || count > (1u << 24) || ids.size() != count || features.size() != count ||
      trues.size() != count || falses.size() != count || values.size() != count ||
      modes.size() != count) {
    return b.error("the attributes of nodes differ in length");
  }
  Forest forest;
  std::vector<int32_t> roots, feature(count), yes(count), no(count);
  for (size_t i = 0; i < count; ++i) {
    int32_t row = static_cast<int32_t>(i);
    if (!forest.number.emplace(std::pair(trees[i], ids[i]), row).second)
      return b.error("a node is given twice");
    if (i == 0 || trees[i] != trees[i - 1]) roots.push_back(row);
  }
  for (size_t i = 0; i < count; ++i) {
    feature[i] = static_cast<int32_t>(features[i]);
    yes[i] = no[i] = static_cast<int32_t>(i);
    if (modes[i] == "LEAF") {
      // A leaf is its own child.
      feature[i] = 0;
      continue;
    }
    if (forest.mode.empty()) forest.mode = modes[i];
    if (forest.mode != modes[i])
      return b.error(
          cat("modes ", forest.mode, " and ", modes[i], " in one ensemble are not supported"));
    auto a = forest.number.find({trees[i], trues[i]}),
         c = forest.number.find({trees[i], falses[i]});
    if (a == forest.number.end() || c == forest.number.end())
      return b.error("a node's child is missing");
    yes[i] = a->second;
    no[i] = c->second;
  }
  // Where a missing value (NaN) goes to the true child.
  Numbers tracks = b.integers("nodes_missing_value_tracks_true");
  if (std::ranges::any_of(tracks, [](int64_t flag) { return flag != 0; })) {
    if (tracks.size() != count)
      return b.error("`nodes_missing_value_tracks_true` does not fit the nodes");
    std::vector<uint8_t> flags(tracks.begin(), tracks.end());
    forest.missing = b.constant(booleans({static_cast<int64_t>(count)}, std::move(flags)));
  }
  GS_ASSIGN(forest.depth, depth_of(b, roots, yes, no));
  forest.nodes = static_cast<int64_t>(count);
  forest.trees = static_cast<int64_t>(roots.size());
  forest.feature = b.constant(int32s({forest.nodes}, feature));
  forest.value = b.constant(floats({forest.nodes}, {values.begin(), values.end()}));
  forest.yes = b.constant(int32s({forest.nodes}, yes));
  forest.no = b.constant(int32s({forest.nodes}, no));
  forest.roots = b.constant(int32s({forest.trees}, roots));
  return forest;
}

Result<Expr> test(const Builder& b, const std::string& mode, Expr x, Expr value) {
  if (mode == "BRANCH_LEQ" || mode.empty()) return x <= value;
  if (mode == "BRANCH_LT") return x < value;
  if (mode == "BRANCH_GTE") return x >= value;
  if (mode == "BRANCH_GT") return x > value;
  if (mode == "BRANCH_EQ") return x == value;
  if (mode == "BRANCH_NEQ") return x != value;
  return b.error(cat("node mode \"", mode, "\" is not known"));
}

// [samples, outputs]: the weights of the leaves reached, joined over the trees.
Result<Tensor> forest_scores(Builder& b, const std::string& prefix, const std::string& id_name,
                             int64_t outputs, const std::string& aggregate) {
  const Tensor& x = b.input(0);
  if (x.rank() != 2) return b.error(cat("input has rank ", x.rank()), "it is [samples, features]");
  GS_ASSIGN(Forest forest, read_forest(b));
  GS_TRY(test(b, forest.mode, ir::zero(DType::f32), ir::zero(DType::f32)));
  Numbers trees = b.integers(prefix + "_treeids"), nodes = b.integers(prefix + "_nodeids"),
          ids = b.integers(id_name);
  std::vector<double> weights = b.numbers(prefix + "_weights"), base = b.numbers("base_values");
  if (nodes.size() != trees.size() || ids.size() != trees.size() ||
      weights.size() != trees.size()) {
    return b.error("the attributes of leaves differ in length");
  }
  if (outputs < 1 || forest.nodes * outputs > (int64_t{1} << 28))
    return b.error("the ensemble is too large");
  std::vector<float> table(static_cast<size_t>(forest.nodes * outputs), 0.0f);
  for (size_t i = 0; i < trees.size(); ++i) {
    auto found = forest.number.find({trees[i], nodes[i]});
    if (found == forest.number.end() || ids[i] < 0 || ids[i] >= outputs)
      return b.error("a leaf's weight has no place");
    table[static_cast<size_t>(found->second * outputs + ids[i])] += static_cast<float>(weights[i]);
  }
  Tensor leaves = b.constant(floats({forest.nodes, outputs}, std::move(table)));
  Shape shape = {x.dim(0), ir::index(forest.trees)};
  Tensor place =
      b.compute("trees.root", DType::i32, shape, [&](Point p) { return forest.roots({p[1]}); });
  for (int level = 0; level < forest.depth; ++level) {
    Tensor before = place;
    place = b.compute("trees.level", DType::i32, shape, [&](Point p) {
      Expr at = as_index(before.at(p));
      Expr value = ir::cast(DType::f32, x({p[0], as_index(forest.feature({at}))}));
      Expr holds = *test(b, forest.mode, value, forest.value({at}));
      if (forest.missing) holds = holds || (ir::is_nan(value) && forest.missing({at}));
      return ir::select(holds, forest.yes({at}), forest.no({at}));
    });
  }
  using enum Builder::Join;
  Builder::Join join = aggregate == "MIN" ? min : aggregate == "MAX" ? max : sum;
  if (aggregate != "SUM" && aggregate != "AVERAGE" && join == sum)
    return b.error(cat("`aggregate_function` ", aggregate, " is not known"));
  Tensor first;
  if (!base.empty()) {
    if (static_cast<int64_t>(base.size()) != outputs)
      return b.error("`base_values` do not fit the outputs");
    first = b.constant(floats({outputs}, {base.begin(), base.end()}));
  }
  return b.reduce(
      "trees.sum", join, DType::f32, {x.dim(0), ir::index(outputs)}, {ir::index(forest.trees)},
      [&](Point p, Point r) { return leaves({as_index(place({p[0], r[0]})), p[1]}); },
      [&](Point p, Expr total) {
        if (aggregate == "AVERAGE") total = total / static_cast<double>(forest.trees);
        return first ? total + first({p[1]}) : total;
      });
}

Result<> regressor(Builder& b) {
  GS_ASSIGN(Tensor scores, forest_scores(b, "target", "target_ids", b.integer("n_targets"),
                                         b.text("aggregate_function")));
  GS_ASSIGN(scores, post_transformed(b, scores));
  b.output(0, scores);
  return {};
}

Result<> classifier(Builder& b) {
  size_t classes =
      std::max(b.integers("classlabels_int64s").size(), b.texts("classlabels_strings").size());
  Numbers ids = b.integers("class_ids");
  // Two classes are often scored by one of them.
  bool one = classes == 2 && std::ranges::all_of(ids, [&](int64_t id) { return id == ids[0]; });
  if (one) {
    GS_ASSIGN(Tensor scores, forest_scores(b, "class", "class_ids", 2, "SUM"));
    Expr column = ir::index(ids.empty() ? 0 : ids[0]);
    Tensor single = b.compute("trees.single", DType::f32, {scores.dim(0), ir::index(1)},
                              [&](Point p) { return scores({p[0], column}); });
    return classified(b, single, true, "classlabels_int64s");
  }
  GS_ASSIGN(Tensor scores,
            forest_scores(b, "class", "class_ids", static_cast<int64_t>(classes), "SUM"));
  return classified(b, scores, false, "classlabels_int64s");
}

std::vector<AttributeDef> forest_attributes(std::vector<AttributeDef> more) {
  using D = std::vector<double>;
  using S = std::vector<std::string>;
  std::vector<AttributeDef> all = {{"base_values", D{}},
                                   {"nodes_falsenodeids", Numbers{}},
                                   {"nodes_featureids", Numbers{}},
                                   {"nodes_hitrates", D{}},
                                   {"nodes_missing_value_tracks_true", Numbers{}},
                                   {"nodes_modes", S{}},
                                   {"nodes_nodeids", Numbers{}},
                                   {"nodes_treeids", Numbers{}},
                                   {"nodes_truenodeids", Numbers{}},
                                   {"nodes_values", D{}},
                                   {"post_transform", "NONE"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Two trees over two features; the second is a single leaf.
Attributes small_forest(const std::string& prefix, const std::string& ids) {
  using D = std::vector<double>;
  return {{"nodes_treeids", Numbers{0, 0, 0, 0, 0, 1}},
          {"nodes_nodeids", Numbers{0, 1, 2, 3, 4, 0}},
          {"nodes_featureids", Numbers{0, 0, 1, 0, 0, 0}},
          {"nodes_values", D{0.25, 0, -0.5, 0, 0, 0}},
          {"nodes_modes",
           std::vector<std::string>{"BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"}},
          {"nodes_truenodeids", Numbers{1, 0, 3, 0, 0, 0}},
          {"nodes_falsenodeids", Numbers{2, 0, 4, 0, 0, 0}},
          {prefix + "_treeids", Numbers{0, 0, 0, 1}},
          {prefix + "_nodeids", Numbers{1, 3, 4, 0}},
          {ids, Numbers{0, 1, 0, 1}},
          {prefix + "_weights", D{1, 2, 3, 0.5}}};
}

}  // namespace

std::vector<OpDef> tree_family() {
  using D = std::vector<double>;
  TypeSet numbers = only(DType::f32) | only(DType::f64) | only(DType::i32) | only(DType::i64);
  Attributes regression = small_forest("target", "target_ids"),
             classification = small_forest("class", "class_ids");
  regression.emplace("n_targets", int64_t{2});
  classification.emplace("classlabels_int64s", Numbers{4, 9});
  return {
      {.name = "TreeEnsembleRegressor",
       .doc = "The joined weights of the leaves that samples reach.",
       .domain = "ai.onnx.ml",
       .since = 3,
       .inputs = {{"X", numbers}},
       .attributes = forest_attributes({{"aggregate_function", "SUM"},
                                        {"n_targets", 1},
                                        {"target_ids", Numbers{}},
                                        {"target_nodeids", Numbers{}},
                                        {"target_treeids", Numbers{}},
                                        {"target_weights", D{}}}),
       .define = regressor,
       .cases = {{.name = "two targets", .shapes = {{5, 2}}, .attributes = regression}}},
      {.name = "TreeEnsembleClassifier",
       .doc = "The class that the leaves reached vote for, and its scores. String labels come out "
              "as their numbers.",
       .domain = "ai.onnx.ml",
       .since = 3,
       .inputs = {{"X", numbers}},
       .outputs = {"Y", "Z"},
       .attributes = forest_attributes({{"class_ids", Numbers{}},
                                        {"class_nodeids", Numbers{}},
                                        {"class_treeids", Numbers{}},
                                        {"class_weights", D{}},
                                        {"classlabels_int64s", Numbers{}},
                                        {"classlabels_strings", std::vector<std::string>{}}}),
       .define = classifier,
       .cases = {{.name = "two classes", .shapes = {{5, 2}}, .attributes = classification}}},
  };
}

}  // namespace gossamer::ops
