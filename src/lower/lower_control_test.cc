// If, Loop and Scan as steps between stages, before and after the passes: the results are computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "graph/control_flow.h"
#include "interp/fold_constants.h"
#include "interp/stages.h"
#include "ir/build.h"
#include "lower/lower.h"
#include "ops/builder.h"
#include "stages/fuse.h"
#include "stages/stage_graph.h"

namespace gossamer::lower {
namespace {

using graph::Graph;
using graph::no_value;
using graph::Node;
using graph::Value;
using graph::ValueId;
using ir::DType;
using ir::Expr;
using ops::TensorData;
using stages::Check;
using stages::ConstantSource;
using stages::StageConstant;
using stages::StageGraph;
using stages::StageOutput;

// A graph under construction; nodes by their ONNX names.
struct Maker {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();

  ValueId value(DType dtype, std::vector<int64_t> shape, const char* name) {
    Value made;
    made.name = name;
    made.dtype = dtype;
    made.shape_known = true;
    for (int64_t extent : shape) made.shape.push_back(ir::index(extent));
    return graph->add_value(std::move(made));
  }
  ValueId input(DType dtype, std::vector<int64_t> shape, const char* name) {
    graph->inputs.push_back(value(dtype, std::move(shape), name));
    return graph->inputs.back();
  }
  ValueId constant(const TensorData& data) {
    const ValueId id = value(data.dtype, data.shape, "k");
    graph->values[id].constant = ConstantSource{data.dtype, data.shape, data.bytes};
    return id;
  }
  ValueId capture(ValueId outer) {
    const ValueId id = value(DType::f32, {}, "captured");
    graph->captures.push_back({outer, id});
    return id;
  }
  std::vector<ValueId> nodes(const char* op, std::vector<ValueId> inputs, int outputs,
                             ops::Attributes attributes = {},
                             std::vector<std::shared_ptr<Graph>> regions = {}) {
    Node node;
    node.def = graph::control_flow_op(op);
    if (!node.def) node.def = ops::builtin_catalog().find("", op);
    node.name = cat(op, graph->nodes.size());
    node.inputs = std::move(inputs);
    for (int i = 0; i < outputs; ++i)
      node.outputs.push_back(value(DType::f32, {}, cat(node.name, ".", i).c_str()));
    node.attributes = std::move(attributes);
    node.regions = std::move(regions);
    graph->nodes.push_back(node);
    return node.outputs;
  }
  ValueId node(const char* op, std::vector<ValueId> inputs, ops::Attributes attributes = {}) {
    return nodes(op, std::move(inputs), 1, std::move(attributes))[0];
  }
};

// Every output as floats, from the stages as lowered and as a compiler leaves them.
std::vector<std::vector<float>> run(const Maker& maker, const std::vector<TensorData>& feeds) {
  std::vector<std::vector<float>> first;
  for (const bool passes : {false, true}) {
    auto lowered = lower(*maker.graph, ops::builtin_catalog());
    EXPECT_TRUE(lowered.has_value()) << (lowered ? "" : lowered.error().to_string());
    if (!lowered) return {};
    StageGraph& stages = *lowered;
    if (passes) {
      interp::fold_constants(stages);
      merge_duplicates(stages);
      drop_dead(stages);
      fuse(stages, {.max_buffers = 8});
      hoist_constants(stages);
      drop_dead(stages);
    }
    interp::Values values;
    for (size_t i = 0; i < feeds.size(); ++i) values[stages.inputs[i].buffer.get()] = feeds[i];
    for (const StageConstant& constant : stages.constants) {
      values[constant.buffer.get()] = {
          constant.source.dtype, constant.source.shape, constant.source.bytes, {}};
    }
    const auto status = interp::run_program(stages.program, values);
    EXPECT_TRUE(status.has_value()) << status.error().to_string() << print(stages);
    std::vector<std::vector<float>> outputs;
    for (const StageOutput& output : stages.outputs) {
      const TensorData& data = values.at(output.buffer.get());
      outputs.emplace_back();
      for (int64_t i = 0; i < data.element_count(); ++i)
        outputs.back().push_back(static_cast<float>(interp::element(data, i).as_double()));
    }
    if (passes) {
      EXPECT_EQ(outputs, first) << print(stages);
    }
    first = std::move(outputs);
  }
  return first;
}

using Floats = std::vector<float>;

// The error that the stages as lowered end in; empty where they run.
std::string failure(const Maker& maker, const std::vector<TensorData>& feeds) {
  auto stages = lower(*maker.graph, ops::builtin_catalog());
  if (!stages) return "does not compile: " + stages.error().to_string();
  interp::Values values;
  for (size_t i = 0; i < feeds.size(); ++i) values[stages->inputs[i].buffer.get()] = feeds[i];
  for (const StageConstant& constant : stages->constants) {
    values[constant.buffer.get()] = {
        constant.source.dtype, constant.source.shape, constant.source.bytes, {}};
  }
  const auto status = interp::run_program(stages->program, values);
  return status ? "" : status.error().message;
}

// The sum of a list without its first three elements.
ValueId sum_of_rest(Maker& maker, ValueId list) {
  const ValueId rest = maker.node("Pad", {list, maker.constant(ops::int64s({2}, {-3, 0}))});
  return maker.node("ReduceSum", {rest}, {{"keepdims", int64_t{0}}});
}

TEST(LowerControl, BranchesOfDifferentExtents) {
  Maker maker, then, otherwise;
  const ValueId condition = maker.input(DType::boolean, {}, "c");
  const ValueId x = maker.input(DType::f32, {2}, "x");
  const ValueId inner = then.capture(x);
  then.graph->outputs = {then.node("Concat", {inner, inner}, {{"axis", int64_t{0}}})};
  otherwise.graph->outputs = {otherwise.node("Neg", {otherwise.capture(x)})};
  const ValueId merged = maker.nodes("If", {condition}, 1, {}, {then.graph, otherwise.graph})[0];
  maker.graph->outputs = {maker.node("Add", {merged, merged})};
  const TensorData data = ops::floats({2}, {1, 2});
  EXPECT_EQ(run(maker, {ops::booleans({}, {1}), data})[0], (Floats{2, 4, 2, 4}));
  EXPECT_EQ(run(maker, {ops::booleans({}, {0}), data})[0], (Floats{-2, -4}));
}

// The bodies' condition decides how long a sequence is.
TEST(LowerControl, BranchesMayMakeSequencesOfDifferentLengths) {
  for (const bool alike : {false, true}) {
    Maker maker, then, otherwise;
    const ValueId condition = maker.input(DType::boolean, {}, "c");
    const ValueId x = maker.input(DType::f32, {2}, "x");
    const ValueId inner = then.capture(x), other = otherwise.capture(x);
    then.graph->outputs = {then.node("SequenceConstruct", {inner, inner})};
    const ValueId negated = otherwise.node("Neg", {other});
    std::vector<ValueId> elements(alike ? 2 : 3, negated);
    otherwise.graph->outputs = {otherwise.node("SequenceConstruct", elements)};
    const ValueId merged = maker.nodes("If", {condition}, 1, {}, {then.graph, otherwise.graph})[0];
    maker.graph->outputs = {
        maker.node("SequenceAt", {merged, maker.constant(ops::int64s({}, {1}))}),
        maker.node("SequenceLength", {merged})};
    for (const bool first : {false, true}) {
      const auto results = run(maker, {ops::booleans({}, {first}), ops::floats({2}, {1, 2})});
      EXPECT_EQ(results, (std::vector<Floats>{first ? Floats{1, 2} : Floats{-1, -2},
                                              {alike || first ? 2.f : 3.f}}));
    }
    maker.graph->outputs = {merged};
    if (alike) continue;
    const auto lowered = lower(*maker.graph, ops::builtin_catalog());
    ASSERT_FALSE(lowered.has_value());
    EXPECT_NE(lowered.error().message.find("a sequence, whose length must be known when compiling"),
              std::string::npos)
        << lowered.error().message;
  }
}

// Each round appends what it made: the rounds come one after the other.
TEST(LowerControl, LoopsThatCarryASequenceAreUnrolled) {
  for (const int64_t rounds : {3, 0}) {
    Maker maker, body;
    const ValueId x = maker.input(DType::f32, {2}, "x");
    body.input(DType::i64, {}, "i");
    const ValueId again = body.input(DType::boolean, {}, "again");
    const ValueId list = body.input(DType::f32, {}, "list"),
                  last = body.input(DType::f32, {}, "last");
    const ValueId next = body.node("Add", {last, body.capture(x)});
    body.graph->outputs = {again, body.node("SequenceInsert", {list, next}), next, next};
    const ValueId count = maker.constant(ops::int64s({}, {rounds}));
    const ValueId first = maker.node("SequenceConstruct", {x});
    const auto made = maker.nodes("Loop", {count, no_value, first, x}, 3, {}, {body.graph});
    maker.graph->outputs = {made[0], made[1], made[2]};
    const auto results = run(maker, {ops::floats({2}, {1, 2})});
    if (rounds == 0) {
      EXPECT_EQ(results, (std::vector<Floats>{{1, 2}, {1, 2}, {}}));
    } else {
      EXPECT_EQ(results,
                (std::vector<Floats>{{1, 2}, {2, 4}, {3, 6}, {4, 8}, {4, 8}, {2, 4, 3, 6, 4, 8}}));
    }
  }
}

// The run decides how many rounds there are: the sequence is one tensor that grows.
TEST(LowerControl, LoopsMayCarryASequenceOfUnknownLength) {
  // Elements of one shape, which are stacked, or of shapes that differ, which are joined.
  for (const bool ragged : {false, true}) {
    Maker maker, body;
    const ValueId count = maker.input(DType::i64, {}, "count");
    const ValueId x = maker.input(DType::f32, {4}, "x");
    const ValueId round = body.input(DType::i64, {}, "i");
    const ValueId again = body.input(DType::boolean, {}, "again");
    const ValueId list = body.input(DType::f32, {}, "list");
    const ValueId one = body.constant(ops::int64s({1}, {1}));
    const ValueId end = body.node("Add", {body.node("Reshape", {round, one}), one});
    const ValueId zero = body.constant(ops::int64s({1}, {0}));
    const ValueId part =
        ragged ? body.node("Slice", {body.capture(x), zero, end})
               : body.node("Gather", {body.capture(x), round}, {{"axis", int64_t{0}}});
    body.graph->outputs = {again, body.node("SequenceInsert", {list, part})};
    const ValueId none = maker.node("SequenceEmpty", {});
    const ValueId made = maker.nodes("Loop", {count, no_value, none}, 1, {}, {body.graph})[0];
    maker.graph->outputs = {
        maker.node("ConcatFromSequence", {made},
                   {{"axis", int64_t{0}}, {"new_axis", int64_t{ragged ? 0 : 1}}}),
        maker.node("SequenceLength", {made})};
    const auto expect = [&](int64_t rounds, const Floats& joined) {
      const auto results = run(maker, {ops::int64s({}, {rounds}), ops::floats({4}, {1, 2, 3, 4})});
      EXPECT_EQ(results, (std::vector<Floats>{joined, {static_cast<float>(rounds)}}));
    };
    expect(3, ragged ? Floats{1, 1, 2, 1, 2, 3} : Floats{1, 2, 3});
    expect(1, {1});
    expect(0, {});
  }
}

// A condition that is a slice of one element, which begins where the run says.
TEST(LowerControl, AConditionMayBeASlice) {
  Maker maker, body, then, otherwise;
  const ValueId count = maker.input(DType::i64, {}, "count");
  const ValueId flags = maker.input(DType::boolean, {3}, "flags");
  const ValueId round = body.input(DType::i64, {}, "i");
  const ValueId again = body.input(DType::boolean, {}, "again");
  const ValueId one = body.constant(ops::int64s({1}, {1}));
  const ValueId at = body.node("Reshape", {round, one});
  const ValueId condition =
      body.node("Slice", {body.capture(flags), at, body.node("Add", {at, one})});
  then.graph->outputs = {then.constant(ops::floats({}, {1}))};
  otherwise.graph->outputs = {otherwise.constant(ops::floats({}, {2}))};
  body.graph->outputs = {again,
                         body.nodes("If", {condition}, 1, {}, {then.graph, otherwise.graph})[0]};
  maker.graph->outputs = maker.nodes("Loop", {count, no_value}, 1, {}, {body.graph});
  const auto feeds = [](int64_t rounds) {
    return std::vector<TensorData>{ops::int64s({}, {rounds}), ops::booleans({3}, {0, 1, 0})};
  };
  EXPECT_EQ(run(maker, feeds(3)), (std::vector<Floats>{{2, 1, 2}}));
  EXPECT_NE(failure(maker, feeds(4)).find("has no element"), std::string::npos);
}

TEST(LowerControl, SequenceMapRunsItsBodyForEachElement) {
  Maker maker, body;
  const ValueId a = maker.input(DType::f32, {2}, "a"), b = maker.input(DType::f32, {1}, "b");
  const ValueId list = maker.node("SequenceConstruct", {a, b});
  const ValueId x = body.input(DType::f32, {}, "x"), y = body.input(DType::f32, {}, "y");
  body.graph->outputs = {body.node("Mul", {x, y}), body.node("Size", {x})};
  maker.graph->outputs = maker.nodes("SequenceMap", {list, b}, 2, {}, {body.graph});
  const auto results = run(maker, {ops::floats({2}, {1, 2}), ops::floats({1}, {3})});
  EXPECT_EQ(results, (std::vector<Floats>{{3, 6}, {9}, {2}, {1}}));
}

// The body hands each state the other one: no state may change before all are read.
TEST(LowerControl, StatesMaySwap) {
  Maker maker, body;
  const ValueId rounds = maker.input(DType::i64, {}, "rounds");
  const ValueId a = maker.input(DType::f32, {2}, "a"), b = maker.input(DType::f32, {2}, "b");
  body.input(DType::i64, {}, "i");
  const ValueId again = body.input(DType::boolean, {}, "again");
  const ValueId x = body.input(DType::f32, {2}, "x"), y = body.input(DType::f32, {2}, "y");
  body.graph->outputs = {again, y, body.node("Add", {x, y}), body.node("Mul", {x, y})};
  maker.graph->outputs = maker.nodes("Loop", {rounds, no_value, a, b}, 3, {}, {body.graph});
  const auto results =
      run(maker, {ops::int64s({}, {3}), ops::floats({2}, {1, 2}), ops::floats({2}, {10, 20})});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0], (Floats{21, 42}));
  EXPECT_EQ(results[1], (Floats{32, 64}));
  EXPECT_EQ(results[2], (Floats{10, 40, 110, 440, 231, 924}));
  const auto none =
      run(maker, {ops::int64s({}, {0}), ops::floats({2}, {1, 2}), ops::floats({2}, {10, 20})});
  EXPECT_EQ(none[0], (Floats{1, 2}));
  EXPECT_TRUE(none[2].empty());
}

// while (sum(x) < 100) x = concat(x, x): extents that change, a condition that is computed.
TEST(LowerControl, GrowsUntilAConditionFails) {
  Maker maker, body;
  const ValueId x = maker.input(DType::f32, {2}, "x");
  const ValueId limit = maker.constant(ops::floats({}, {100}));
  body.input(DType::i64, {}, "i");
  body.input(DType::boolean, {}, "again");
  const ValueId state = body.input(DType::f32, {2}, "s");
  const ValueId twice = body.node("Concat", {state, state}, {{"axis", int64_t{0}}});
  const ValueId total = body.node("ReduceSum", {twice}, {{"keepdims", int64_t{0}}});
  body.graph->outputs = {body.node("Less", {total, body.capture(limit)}), twice, total};
  const auto outputs = maker.nodes("Loop", {no_value, no_value, x}, 2, {}, {body.graph});
  maker.graph->outputs = {maker.node("ReduceSum", {outputs[0]}, {{"keepdims", int64_t{0}}}),
                          outputs[1], maker.node("Shape", {outputs[0]})};
  const auto results = run(maker, {ops::floats({2}, {3, 4})});
  EXPECT_EQ(results[0], (Floats{112}));
  EXPECT_EQ(results[1], (Floats{14, 28, 56, 112}));
  EXPECT_EQ(results[2], (Floats{32}));
}

// Strings are two tensors, and the width of one grows.
TEST(LowerControl, StringsGrowFromRoundToRound) {
  Maker maker, body;
  const ValueId rounds = maker.input(DType::i64, {}, "rounds");
  const ValueId x = maker.input(DType::i32, {2}, "x");
  const ValueId text = maker.node("Cast", {x}, {{"to", int64_t{8}}});
  body.input(DType::i64, {}, "i");
  const ValueId again = body.input(DType::boolean, {}, "again");
  const ValueId state = body.input(DType::string, {2}, "s");
  const ValueId longer = body.node("StringConcat", {state, body.capture(text)});
  body.graph->outputs = {again, longer, body.capture(text)};
  const auto made = maker.nodes("Loop", {rounds, no_value, text}, 2, {}, {body.graph});
  maker.graph->outputs = {maker.node("Cast", {made[0]}, {{"to", int64_t{1}}}),
                          maker.node("Cast", {made[1]}, {{"to", int64_t{6}}})};
  const auto results = run(maker, {ops::int64s({}, {3}), ops::int32s({2}, {7, 12})});
  EXPECT_EQ(results[0], (Floats{7777, 12121212}));
  EXPECT_EQ(results[1], (Floats{7, 12, 7, 12, 7, 12}));
}

// A counter that only makes indices stays on the host: the body's Gather reads at 2 i + 1.
TEST(LowerControl, SmallIntegersStayOnTheHost) {
  Maker maker, body;
  const ValueId x = maker.input(DType::f32, {9}, "x");
  const ValueId start = maker.constant(ops::int64s({}, {1}));
  const ValueId rounds = maker.constant(ops::int64s({}, {4}));
  const ValueId two = maker.constant(ops::int64s({}, {2}));
  body.input(DType::i64, {}, "i");
  const ValueId again = body.input(DType::boolean, {}, "again");
  const ValueId at = body.input(DType::i64, {}, "at");
  const ValueId row = body.node("Gather", {body.capture(x), at});
  body.graph->outputs = {again, body.node("Add", {at, body.capture(two)}), row};
  maker.graph->outputs = maker.nodes("Loop", {rounds, no_value, start}, 2, {}, {body.graph});
  const auto results = run(maker, {ops::floats({9}, {0, 1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_EQ(results[0], (Floats{9}));
  EXPECT_EQ(results[1], (Floats{1, 3, 5, 7}));
}

TEST(LowerControl, ScansBackwardsAlongAnAxis) {
  Maker maker, body;
  const ValueId start = maker.input(DType::f32, {2}, "start");
  const ValueId x = maker.input(DType::f32, {2, 3}, "x");
  const ValueId state = body.input(DType::f32, {2}, "s"), row = body.input(DType::f32, {2}, "r");
  const ValueId sum = body.node("Add", {state, row});
  body.graph->outputs = {sum, sum};
  maker.graph->outputs = maker.nodes("Scan", {start, x}, 2,
                                     {{"num_scan_inputs", int64_t{1}},
                                      {"scan_input_axes", std::vector<int64_t>{1}},
                                      {"scan_input_directions", std::vector<int64_t>{1}},
                                      {"scan_output_axes", std::vector<int64_t>{-1}},
                                      {"scan_output_directions", std::vector<int64_t>{1}}},
                                     {body.graph});
  const auto results =
      run(maker, {ops::floats({2}, {0, 10}), ops::floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(results[0], (Floats{6, 25}));
  EXPECT_EQ(results[1], (Floats{6, 5, 3, 25, 21, 16}));
}

// A state that grows has the body lowered again, from the state before it.
TEST(LowerControl, ABodyLoweredAgainHasItsChecksAgain) {
  for (const bool grows : {false, true}) {
    Maker maker, body;
    const ValueId rounds = maker.input(DType::i64, {}, "rounds");
    const ValueId start = maker.input(DType::f32, {1}, "start");
    const ValueId x = maker.input(DType::f32, {1}, "x");
    const ir::Var n = ir::var("n");
    maker.graph->values[x].shape = {n};
    maker.graph->dims.push_back({n, 2, 0});
    body.input(DType::i64, {}, "i");
    const ValueId again = body.input(DType::boolean, {}, "again");
    const ValueId state = body.input(DType::f32, {1}, "s");
    const ValueId sum = body.node(
        "Reshape", {sum_of_rest(body, body.capture(x)), body.constant(ops::int64s({1}, {1}))});
    const ValueId next = grows ? body.node("Concat", {state, sum}, {{"axis", int64_t{0}}})
                               : body.node("Add", {state, sum});
    body.graph->outputs = {again, next};
    maker.graph->outputs = maker.nodes("Loop", {rounds, no_value, start}, 1, {}, {body.graph});
    const auto stages = lower(*maker.graph, ops::builtin_catalog());
    ASSERT_TRUE(stages.has_value()) << stages.error().to_string();
    const auto too_small = std::ranges::count_if(stages->checks, [&](const Check& check) {
      return ir::equal(ir::simplify(check.condition), ir::simplify(Expr(n) - ir::index(3) >= 0.0));
    });
    EXPECT_EQ(too_small, 1) << print(*stages);
  }
}

// Whether shapes broadcast matters only in the branch that is taken.
TEST(LowerControl, ABranchThatIsNotTakenChecksNoShapes) {
  Maker maker, then, otherwise;
  const ir::Var n = ir::var("n"), m = ir::var("m");
  const ValueId condition = maker.input(DType::boolean, {1}, "c");
  const ValueId x = maker.input(DType::f32, {1}, "x"), y = maker.input(DType::f32, {1}, "y");
  maker.graph->values[x].shape = {n};
  maker.graph->values[y].shape = {m};
  maker.graph->dims = {{n, 1, 0}, {m, 2, 0}};
  const auto sum = [](Maker& of, ValueId a, ValueId b) {
    return of.node("ReduceSum", {of.node("Add", {of.capture(a), of.capture(b)})},
                   {{"keepdims", int64_t{0}}});
  };
  then.graph->outputs = {sum(then, x, y)};
  otherwise.graph->outputs = {sum(otherwise, x, x)};
  maker.graph->outputs = maker.nodes("If", {condition}, 1, {}, {then.graph, otherwise.graph});
  const auto stages = lower(*maker.graph, ops::builtin_catalog());
  ASSERT_TRUE(stages.has_value()) << stages.error().to_string();
  EXPECT_TRUE(stages->checks.empty()) << print(*stages);
  EXPECT_NE(print(*stages).find("check c == 0 || "), std::string::npos) << print(*stages);
}

// What one branch has checked is checked in the other, and after both.
TEST(LowerControl, EachBranchHasItsChecks) {
  const auto made = [](bool in_then, bool in_otherwise, bool after) {
    Maker maker, then, otherwise;
    const ValueId condition = maker.input(DType::boolean, {}, "c");
    const ValueId count = maker.input(DType::i64, {}, "count");
    const ValueId list = maker.node("Range", {maker.constant(ops::int64s({}, {0})), count,
                                              maker.constant(ops::int64s({}, {1}))});
    const auto sum = [&](Maker& of, ValueId outer, bool of_rest) {
      return of_rest ? sum_of_rest(of, outer)
                     : of.node("ReduceSum", {outer}, {{"keepdims", int64_t{0}}});
    };
    then.graph->outputs = {sum(then, then.capture(list), in_then)};
    otherwise.graph->outputs = {sum(otherwise, otherwise.capture(list), in_otherwise)};
    const ValueId merged = maker.nodes("If", {condition}, 1, {}, {then.graph, otherwise.graph})[0];
    maker.graph->outputs = {maker.node("Add", {merged, sum(maker, list, after)})};
    return maker;
  };
  const auto feeds = [](bool condition, int64_t count) {
    return std::vector<TensorData>{ops::booleans({}, {condition}), ops::int64s({}, {count})};
  };
  EXPECT_EQ(run(made(true, true, true), feeds(true, 5))[0], (Floats{14}));
  EXPECT_EQ(run(made(true, true, true), feeds(false, 5))[0], (Floats{14}));
  const std::string error = "the model's input is too small";
  for (const bool condition : {true, false}) {
    EXPECT_NE(failure(made(true, true, false), feeds(condition, 1)).find(error), std::string::npos);
    EXPECT_NE(failure(made(true, false, true), feeds(condition, 1)).find(error), std::string::npos);
  }
  // The branch that is not taken need not hold.
  EXPECT_EQ(failure(made(true, false, false), feeds(false, 1)), "");
}

}  // namespace
}  // namespace gossamer::lower
