// The tree ensembles of ai.onnx.ml up to version 3: leaves are nodes, weights stand beside them.
#include "ops/ml/trees.h"

#include <algorithm>
#include <limits>
#include <map>

#include "ir/scalar.h"
#include "ops/families.h"
#include "ops/ml/linear_models.h"

namespace gossamer::ops {
namespace {

// The numbers of an attribute, or of the tensor that a name with `_as_tensor` holds.
std::vector<double> numbers_of(const Builder& b, const std::string& name) {
  if (const TensorData* data = b.tensor(name + "_as_tensor")) {
    std::vector<double> values;
    size_t bytes = static_cast<size_t>(ir::byte_size(data->dtype));
    for (size_t i = 0; bytes > 0 && i + bytes <= data->bytes.size(); i += bytes)
      values.push_back(ir::read_scalar(data->dtype, &data->bytes[i]).as_double());
    return values;
  }
  return b.numbers(name);
}

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<int32_t> roots;
  std::map<std::pair<int64_t, int64_t>, int32_t> number;  // (tree, node) -> row
};

Result<Forest> read_forest(Builder& b) {
  Numbers trees = b.integers("nodes_treeids"), ids = b.integers("nodes_nodeids");
  Numbers features = b.integers("nodes_featureids"), trues = b.integers("nodes_truenodeids"),
          falses = b.integers("nodes_falsenodeids"),
          tracks = b.integers("nodes_missing_value_tracks_true");
  std::vector<double> values = numbers_of(b, "nodes_values");
  std::vector<std::string> modes = b.texts("nodes_modes");
  size_t count = trees.size();
  if (count == 0 || count > (1u << 24) || ids.size() != count || features.size() != count ||
      trues.size() != count || falses.size() != count || values.size() != count ||
      modes.size() != count) {
    return b.error("the attributes of nodes differ in length");
  }
  if (!tracks.empty() && tracks.size() != count)
    return b.error("`nodes_missing_value_tracks_true` does not fit the nodes");
  static constexpr std::string_view names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                               "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  Forest forest;
  for (size_t i = 0; i < count; ++i) {
    int32_t row = static_cast<int32_t>(i);
    if (!forest.number.emplace(std::pair(trees[i], ids[i]), row).second)
      return b.error("a node is given twice");
    if (i == 0 || trees[i] != trees[i - 1]) forest.roots.push_back(row);
  }
  for (size_t i = 0; i < count; ++i) {
    TreeNode node{.yes = static_cast<int32_t>(i), .no = static_cast<int32_t>(i)};
    if (modes[i] != "LEAF") {
      auto name = std::ranges::find(names, modes[i]);
      if (name == std::end(names)) return b.error(cat("node mode \"", modes[i], "\" is not known"));
      auto a = forest.number.find({trees[i], trues[i]}),
           c = forest.number.find({trees[i], falses[i]});
      if (a == forest.number.end() || c == forest.number.end())
        return b.error("a node's child is missing");
      if (features[i] < 0 || features[i] > 0x7fffffff)
        return b.error("`nodes_featureids` are out of range");
      node = {static_cast<int32_t>(features[i]),
              values[i],
              static_cast<TreeTest>(name - std::begin(names)),
              a->second,
              c->second,
              !tracks.empty() && tracks[i] != 0};
    }
    forest.nodes.push_back(node);
  }
  return forest;
}

// [samples, outputs]: the weights of the leaves reached, joined over the trees.
Result<Tensor> forest_scores(Builder& b, const std::string& prefix, const std::string& id_name,
                             int64_t outputs, const std::string& aggregate) {
  const Tensor& x = b.input(0);
  if (x.rank() != 2) return b.error(cat("input has rank ", x.rank()), "it is [samples, features]");
  GS_ASSIGN(Forest forest, read_forest(b));
  Numbers trees = b.integers(prefix + "_treeids"), nodes = b.integers(prefix + "_nodeids"),
          ids = b.integers(id_name);
  std::vector<double> weights = numbers_of(b, prefix + "_weights"),
                      base = numbers_of(b, "base_values");
  if (nodes.size() != trees.size() || ids.size() != trees.size() ||
      weights.size() != trees.size()) {
    return b.error("the attributes of leaves differ in length");
  }
  int64_t rows = static_cast<int64_t>(forest.nodes.size());
  if (outputs < 1 || rows * outputs > (int64_t{1} << 28))
    return b.error("the ensemble is too large");
  using enum Builder::Join;
  Builder::Join join = aggregate == "MIN" ? min : aggregate == "MAX" ? max : sum;
  if (aggregate != "SUM" && aggregate != "AVERAGE" && join == sum)
    return b.error(cat("`aggregate_function` ", aggregate, " is not known"));
  // A leaf without a weight for an output leaves it alone.
  constexpr float limit = std::numeric_limits<float>::max();
  float nothing = join == sum ? 0.0f : join == min ? limit : -limit;
  std::vector<float> table(static_cast<size_t>(rows * outputs), nothing);
  for (size_t i = 0; i < trees.size(); ++i) {
    auto found = forest.number.find({trees[i], nodes[i]});
    if (found == forest.number.end() || ids[i] < 0 || ids[i] >= outputs)
      return b.error("a leaf's weight has no place");
    float& place = table[static_cast<size_t>(found->second * outputs + ids[i])];
    float weight = static_cast<float>(weights[i]);
    place = join == sum   ? place + weight
            : join == min ? std::min(place, weight)
                          : std::max(place, weight);
  }
  Tensor leaves = b.constant(floats({rows, outputs}, std::move(table))), first;
  GS_ASSIGN(Tensor place, leaves_reached(b, x, forest.nodes, forest.roots));
  if (!base.empty()) {
    // One for two classes belongs to the one that is scored.
    if (base.size() == 1 && outputs == 2)
      base.insert(base.begin() + (!ids.empty() && ids[0] == 1 ? 0 : 1), 0);
    if (static_cast<int64_t>(base.size()) != outputs)
      return b.error("`base_values` do not fit the outputs");
    first = b.constant(floats({outputs}, {base.begin(), base.end()}));
  }
  double count = static_cast<double>(forest.roots.size());
  return b.reduce(
      "trees.sum", join, DType::f32, {x.dim(0), ir::index(outputs)}, {place.dim(1)},
      [&](Point p, Point r) { return leaves({as_index(place({p[0], r[0]})), p[1]}); },
      [&](Point p, Expr total) {
        if (aggregate == "AVERAGE") total = total / count;
        if (join != sum)
          total = ir::select(ir::abs(total) >= double{limit}, ir::zero(DType::f32), total);
        return first ? total + first({p[1]}) : total;
      });
}

Result<> tree_regressor(Builder& b) {
  const int64_t targets = b.integer("n_targets");
  GS_ASSIGN(Tensor scores,
            forest_scores(b, "target", "target_ids", targets, b.text("aggregate_function")));
  GS_ASSIGN(scores, transformed_targets(b, scores, targets, b.text("post_transform")));
  b.output(0, scores);
  return {};
}

Result<> tree_classifier(Builder& b) {
  constexpr std::string_view labels = "classlabels_int64s";
  const size_t classes = label_count(b, labels);
  const Numbers ids = b.integers("class_ids");
  GS_ASSIGN(const Tensor scores,
            forest_scores(b, "class", "class_ids", static_cast<int64_t>(classes), "SUM"));
  // Two classes are often scored by one of them. What follows from that is written nowhere; models
  // are made for ONNX Runtime, which takes scores without a negative weight as shares.
  if (classes != 2 || ids.empty() ||
      std::ranges::any_of(ids, [&](int64_t id) { return id != ids[0]; }))
    return classified(b, scores, {}, labels);
  const bool shares =
      std::ranges::all_of(numbers_of(b, "class_weights"), [](double w) { return w >= 0; });
  const OneScore one{shares ? 0.5 : 0, shares};
  if (ids[0] == 1) return classified(b, scores, one, labels);
  const Tensor single = b.compute("trees.single", DType::f32, {scores.dim(0), ir::index(1)},
                                  [&](Point p) { return scores.at(p); });
  return classified(b, single, one, labels);
}

std::vector<AttributeDef> forest_attributes(std::vector<AttributeDef> more) {
  using D = std::vector<double>;
  using S = std::vector<std::string>;
  std::vector<AttributeDef> all = {{"base_values", D{}},
                                   {"base_values_as_tensor", {}},
                                   {"nodes_falsenodeids", Numbers{}},
                                   {"nodes_featureids", Numbers{}},
                                   {"nodes_hitrates", D{}},
                                   {"nodes_hitrates_as_tensor", {}},
                                   {"nodes_missing_value_tracks_true", Numbers{}},
                                   {"nodes_modes", S{}},
                                   {"nodes_nodeids", Numbers{}},
                                   {"nodes_treeids", Numbers{}},
                                   {"nodes_truenodeids", Numbers{}},
                                   {"nodes_values", D{}},
                                   {"nodes_values_as_tensor", {}},
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
                                        {"target_weights", D{}},
                                        {"target_weights_as_tensor", {}}}),
       .define = tree_regressor,
       .cases = [=] -> Cases {
         return {{.name = "two targets", .shapes = {{5, 2}}, .attributes = regression}};
       }},
      {.name = "TreeEnsembleClassifier",
       .doc = "The class that the leaves reached vote for, and its scores.",
       .domain = "ai.onnx.ml",
       .since = 3,
       .inputs = {{"X", numbers}},
       .outputs = {"Y", "Z"},
       .attributes = forest_attributes({{"class_ids", Numbers{}},
                                        {"class_nodeids", Numbers{}},
                                        {"class_treeids", Numbers{}},
                                        {"class_weights", D{}},
                                        {"class_weights_as_tensor", {}},
                                        {"classlabels_int64s", Numbers{}},
                                        {"classlabels_strings", std::vector<std::string>{}}}),
       .define = tree_classifier,
       .cases = [=] -> Cases {
         return {{.name = "two classes", .shapes = {{5, 2}}, .attributes = classification}};
       }},
  };
}

}  // namespace gossamer::ops
