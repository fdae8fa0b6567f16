#include "graph/add_sampling.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/build.h"

namespace gossamer::graph {
namespace {

using ir::DType;
using ir::Expr;

class Sampling {
 public:
  Sampling(Graph& graph, const ops::Catalog& catalog, bool speculate)
      : graph_(graph), catalog_(catalog), speculate_(speculate) {}

  Result<> add() {
    const auto ids = named(graph_.inputs, [](const Value& value) {
      return value.name == "input_ids" && value.shape.size() == 2;
    });
    const auto past = named(graph_.inputs, [](const Value& value) {
      return value.name.starts_with("past") && value.shape.size() == 4;
    });
    // Caches of a window do not say how many tokens there are.
    const auto attended = named(graph_.inputs, [](const Value& value) {
      return value.name == "attention_mask" && value.shape.size() == 2;
    });
    const auto all =
        named(graph_.outputs, [](const Value& value) { return value.name == "logits"; });
    for (const auto& [found, what] : {std::pair{ids, "input `input_ids` [batch, sequence]"},
                                      {past, "input `past...` [batch, heads, length, width]"},
                                      {all, "output `logits` [batch, sequence, vocabulary]"}}) {
      if (!found) return fail_at("generate", cat("the model has no ", what));
    }
    const ValueId rows = *all;
    graph_.values[rows].name = "logits.rows";
    const ValueId logits = value("logits", DType::f32);
    std::ranges::replace(graph_.outputs, rows, logits);

    const ValueId counts = value("past_token_counts", DType::i32);
    const Expr batch = graph_.values[*ids].shape[0];
    input(counts, {batch, dim("sampling.counts", 1, ir::default_estimate)});
    const ValueId temperature = value("sampling.temperature", DType::f32);
    input(temperature, {dim("sampling.sampled", 0, 1)}, ops::floats({0}, {}));
    const ValueId seed = value("sampling.seed", DType::i32);
    input(seed, {ir::index(2)}, ops::int32s({2}, {0, 0}));
    const ValueId filters = value("sampling.filters", DType::f32);
    input(filters, {dim("sampling.filtered", 0, 1), ir::index(3)}, ops::floats({0, 3}, {}));
    const ValueId penalties = value("sampling.penalties", DType::f32);
    input(penalties, {dim("sampling.biased", 0, 3)}, ops::floats({3}, {1, 0, 0}));

    const ValueId mask = value("sampling.mask", DType::i32);
    const Expr masked = dim("sampling.masked", 0, 1);
    input(mask, {masked, dim("sampling.mask_width", 1, ir::default_estimate)},
          ops::int32s({0, 0}, {}));

    const ValueId next = value("next_ids", DType::i64);
    const ValueId present = value("present_token_counts", DType::i32);
    std::vector<ValueId> inputs{
        rows, *ids, counts, attended.value_or(*past), temperature, seed, filters, penalties, mask};
    if (speculate_) {
      inputs.push_back(value("sampling.rows", DType::i32));
      input(inputs.back(), {dim("sampling.rows", 0, 1)}, ops::int32s({1}, {0}));
    }
    node("ai.gossamer", "SampleToken", std::move(inputs), {next, present, logits}, {});
    graph_.outputs.push_back(next);
    graph_.outputs.push_back(present);
    return {};
  }

 private:
  template <typename Holds>
  std::optional<ValueId> named(const std::vector<ValueId>& ids, Holds&& holds) const {
    const auto found =
        std::ranges::find_if(ids, [&](ValueId id) { return holds(graph_.values[id]); });
    return found == ids.end() ? std::nullopt : std::optional(*found);
  }

  ValueId value(std::string name, DType dtype) {
    Value made;
    made.name = std::move(name);
    made.dtype = dtype;
    return graph_.add_value(std::move(made));
  }

  // A dimension of the input that is added next, and what it is estimated to be.
  Expr dim(const std::string& name, int axis, int64_t asked) {
    const ir::Var var = ir::dimension(name, asked);
    graph_.dims.push_back({var, static_cast<int>(graph_.inputs.size()), axis});
    return var;
  }

  void input(ValueId id, std::vector<Expr> shape,
             std::optional<ops::TensorData> fallback = std::nullopt) {
    graph_.values[id].shape = std::move(shape);
    graph_.values[id].shape_known = true;
    graph_.inputs.push_back(id);
    if (fallback) graph_.defaults.push_back({id, source_of(*fallback)});
  }

  void node(std::string_view domain, std::string_view op, std::vector<ValueId> inputs,
            std::vector<ValueId> outputs, ops::Attributes attributes) {
    Node made;
    made.def = catalog_.find(domain, op);
    made.name = graph_.values[outputs[0]].name;
    made.inputs = std::move(inputs);
    made.outputs = std::move(outputs);
    made.attributes = std::move(attributes);
    graph_.nodes.push_back(std::move(made));
  }

  Graph& graph_;
  const ops::Catalog& catalog_;
  bool speculate_;
};

}  // namespace

Result<> add_sampling(Graph& graph, const ops::Catalog& catalog, bool speculate) {
  return Sampling(graph, catalog, speculate).add();
}

}  // namespace gossamer::graph
