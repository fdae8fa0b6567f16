#include "onnx/reader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ir/build.h"
#include "lower/lower.h"
#include "onnx/model_writer.h"
#include "onnx/proto.h"
#include "stages/stage_graph.h"

namespace gossamer::onnx {
namespace {

graph::Graph read(const Message& message, const ReadOptions& options = {}) {
  auto graph = read_model(bytes_of(message), options);
  EXPECT_TRUE(graph.has_value()) << (graph ? "" : graph.error().to_string());
  return graph ? std::move(*graph) : graph::Graph();
}
std::string error_of(const Message& message, const ReadOptions& options = {}) {
  auto graph = read_model(bytes_of(message), options);
  EXPECT_FALSE(graph.has_value());
  return graph ? "" : graph.error().to_string();
}
std::vector<std::string> ops_of(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes) names.push_back(node.def->name);
  return names;
}
using Names = std::vector<std::string>;

TEST(Reader, KeepsLargeConstantsAsRangesOfTheFile) {
  std::vector<float> weights(5000, 1.5f);
  Message message = model({{value("x", {"4", "5000"})},
                           {node("Mul", {"x", "w"}, {"y"}), node("Add", {"y", "b"}, {"z"})},
                           {value("z", {})},
                           {floats("w", {5000}, weights), floats("b", {1}, {7})}});
  graph::Graph graph = read(message);
  ASSERT_EQ(ops_of(graph), (Names{"Mul", "Add"}));
  const auto& large = *graph.values[graph.nodes[0].inputs[1]].constant;
  EXPECT_EQ(large.file, 0);
  EXPECT_EQ(large.length, 20000u);
  float first = 0;
  std::memcpy(&first, message.bytes.data() + large.offset, 4);
  EXPECT_EQ(first, 1.5f);
  const auto& small = *graph.values[graph.nodes[1].inputs[1]].constant;
  EXPECT_EQ(small.file, -1);
  EXPECT_EQ(small.bytes.size(), 4u);
}

graph::Part part_of(const graph::Graph& graph, std::string_view name) {
  for (const graph::Value& value : graph.values)
    if (value.name == name) return value.part;
  ADD_FAILURE() << name;
  return {};
}

TEST(Reader, TellsInitializersFromConstantNodes) {
  using graph::Part;
  const std::vector<Message> nodes{node("Constant", {}, {"c"}, {attribute("value_float", 2.0f)}),
                                   node("Add", {"x", "c"}, {"y"}), node("Add", {"y", "w"}, {"z"})};
  const graph::Graph plain =
      read(model({{value("x", {"2"})}, nodes, {value("z", {})}, {floats("w", {}, {1})}}));
  EXPECT_EQ(part_of(plain, "w"), Part::initializer);
  EXPECT_EQ(part_of(plain, "c"), Part::number);
}

TEST(Reader, TakesWhatPyTorchSaysAboutInitializers) {
  using graph::Part;
  const auto said = [](std::string_view name, std::string_view key, std::string_view text) {
    return value(name, {"2"})
        .add(4, Message().text(1, "other").text(2, "PARAMETER"))
        .add(4, Message().text(1, key).text(2, text));
  };
  Message graph = Message().add(1, node("Add", {"x", "w"}, {"y"}));
  graph.add(11, value("x", {"2"})).add(12, value("y", {}));
  for (const char* name : {"w", "b", "folded", "lifted"}) graph.add(5, floats(name, {2}, {1, 2}));
  graph.add(5, floats("scalar", {}, {1}));
  graph.add(13, said("w", kind_key, "PARAMETER")).add(13, said("b", kind_key, "BUFFER"));
  graph.add(13, said("folded", folded_key, "['w']")).add(13, said("lifted", "more", "PARAMETER"));
  graph.add(13, said("scalar", folded_key, "['w']"));
  const graph::Graph made = read(Message().integer(1, 8).add(8, opset(21)).add(7, graph));
  EXPECT_EQ(part_of(made, "w"), Part::parameter);
  EXPECT_EQ(part_of(made, "b"), Part::fixed);
  EXPECT_EQ(part_of(made, "folded"), Part::initializer);
  EXPECT_EQ(part_of(made, "lifted"), Part::fixed);
  EXPECT_EQ(part_of(made, "scalar"), Part::fixed);
}

TEST(Reader, AnOutputListedAgainIsOne) {
  const graph::Graph graph = read(model({{value("x", {"4"})},
                                         {node("Neg", {"x"}, {"y"}), node("Abs", {"x"}, {"z"})},
                                         {value("y", {}), value("z", {}), value("y", {})}}));
  EXPECT_EQ(graph.outputs.size(), 2u);
}

TEST(Reader, SequencesAreInputsAnElement) {
  const Message element =
      Message().add(1, Message().integer(1, 1).add(2, Message().add(1, Message().text(2, "n"))));
  const auto typed = [&](const Message& type) { return Message().text(1, "x").add(2, type); };
  const Message sequence = Message().add(4, Message().add(1, element));
  const Message optional = Message().add(9, Message().add(1, element));
  const auto reading = [&](const Message& type) {
    return model({{typed(type)}, {node("Identity", {"x"}, {"y"})}, {value("y", {})}});
  };
  ReadOptions two, absent;
  two.known.lengths["x"] = 2;
  absent.known.lengths["x"] = -1;
  const graph::Graph graph = read(reading(sequence), two);
  ASSERT_EQ(graph.inputs.size(), 2u);
  EXPECT_EQ(graph.values[graph.inputs[1]].name, "x.1");
  EXPECT_EQ(graph.dims.size(), 2u);  // elements may differ in shape
  ASSERT_EQ(graph.groups.size(), 1u);
  EXPECT_EQ(graph.groups[0].name, "x");
  EXPECT_EQ(graph.groups[0].count, 2);
  EXPECT_EQ(ops_of(graph), (Names{"SequenceConstruct", "Identity"}));
  EXPECT_NE(error_of(reading(sequence)).find("length must be known when compiling"),
            std::string::npos);

  const graph::Graph given = read(reading(optional));
  EXPECT_EQ(given.inputs.size(), 1u);
  EXPECT_TRUE(given.groups.empty());
  const graph::Graph nothing = read(reading(optional), absent);
  EXPECT_TRUE(nothing.inputs.empty());
  ASSERT_EQ(nothing.groups.size(), 1u);
  EXPECT_FALSE(nothing.groups[0].sequence);
}

TEST(Reader, NamesDimensionsOnce) {
  graph::Graph graph = read(model({{value("a", {"n", "", "3"}), value("b", {"n", ""})},
                                   {node("Relu", {"a"}, {"y"})},
                                   {value("y", {})}}));
  ASSERT_EQ(graph.dims.size(), 3u);
  EXPECT_EQ(graph.dims[0].var->name, "n");
  EXPECT_EQ(graph.dims[1].var->name, "a_1");
  EXPECT_EQ(graph.dims[2].input, 1);
  EXPECT_EQ(graph.dims[2].axis, 1);
  const auto& a = graph.values[graph.inputs[0]].shape;
  const auto& b = graph.values[graph.inputs[1]].shape;
  EXPECT_TRUE(a[0].same(b[0]));
  EXPECT_FALSE(a[1].same(b[1]));
}

TEST(Reader, FixesDimensions) {
  ReadOptions options;
  options.known.dims = {{"n", 5}};
  options.known.shapes = {{"b", {2, 2}}};
  graph::Graph graph = read(model({{value("a", {"n"}), value("b", {"n", ""})},
                                   {node("Relu", {"a"}, {"y"})},
                                   {value("y", {})}}),
                            options);
  EXPECT_TRUE(graph.dims.empty());
  EXPECT_TRUE(ir::is_const(graph.values[graph.inputs[0]].shape[0], 5));
  EXPECT_TRUE(ir::is_const(graph.values[graph.inputs[1]].shape[0], 2));
}

TEST(Reader, GivesInputsValues) {
  ReadOptions options;
  options.known.constants = {{"axes", ops::int64s({1}, {0})}};
  graph::Graph graph = read(model({{value("x", {"2", "3"}), value("axes", {"1"}, 7)},
                                   {node("ReduceSum", {"x", "axes"}, {"y"})},
                                   {value("y", {})}}),
                            options);
  EXPECT_EQ(graph.inputs.size(), 1u);
  EXPECT_TRUE(lower::lower(graph, ops::builtin_catalog()).has_value());
}

TEST(Reader, SortsNodes) {
  graph::Graph graph = read(
      model({{value("x", {"2"})},
             {node("Exp", {"b"}, {"c"}), node("Relu", {"x"}, {"a"}), node("Abs", {"a"}, {"b"})},
             {value("c", {})}}));
  EXPECT_EQ(ops_of(graph), (Names{"Relu", "Abs", "Exp"}));
}

TEST(Reader, NamesNodeAndReasonOfErrors) {
  auto one = [](Message made) {
    return model({{value("x", {"2"})}, {std::move(made)}, {value("y", {})}});
  };
  std::string unknown = error_of(one(node("Frobnicate", {"x"}, {"y"}, {}, "layer.1")));
  EXPECT_EQ(
      unknown,
      "[Frobnicate] \"layer.1\": is an unknown operator (`gossamer ops` lists what is known)");
  EXPECT_NE(error_of(one(node("Frobnicate", {"x"}, {"y"}, {}, "a", "com.microsoft")))
                .find("com.microsoft"),
            std::string::npos);
  EXPECT_NE(error_of(one(node("Relu", {"z"}, {"y"}))).find("\"z\", which nothing makes"),
            std::string::npos);
  EXPECT_NE(error_of(one(node("Relu", {"y"}, {"y"}))).find("cycle"), std::string::npos);
  EXPECT_NE(error_of(one(node("Relu", {"x"}, {"q"}))).find("is made by no node"),
            std::string::npos);
  EXPECT_NE(error_of(model({{value("x", {"2"})},
                            {node("Relu", {"x"}, {"y"}), node("Abs", {"x"}, {"y"})},
                            {value("y", {})}}))
                .find("second time"),
            std::string::npos);
  EXPECT_NE(
      error_of(model({{value("x", {"2"})}, {node("Relu", {"x"}, {"y"})}, {value("y", {})}}, 99))
          .find("opset 99"),
      std::string::npos);
}

TEST(Reader, RefusesWrongTensors) {
  auto with = [](const Message& initializer) {
    return model(
        {{value("x", {"2"})}, {node("Add", {"x", "w"}, {"y"})}, {value("y", {})}, {initializer}});
  };
  EXPECT_NE(error_of(with(floats("w", {3}, {1, 2}))).find("needs 12"), std::string::npos);
  EXPECT_NE(error_of(with(floats("w", {-1}, {1}))).find("[-1]"), std::string::npos);
  std::vector<int64_t> huge{int64_t{1} << 40, int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_NE(error_of(with(floats("w", huge, {}))).find("too large"), std::string::npos);
  EXPECT_NE(error_of(with(tensor<float>("w", 14, {1}, {1, 2}))).find("complex64"),
            std::string::npos);
}

Message sparse(const Message& values, const Message& indices, const std::vector<int64_t>& dims) {
  Message message = Message().add(1, values).add(2, indices);
  for (int64_t dim : dims) message.integer(3, dim);
  return message;
}

TEST(Reader, SparseConstantsBecomeDense) {
  const Message values = floats("w", {2}, {5, 6});
  // y = x + w, of an initializer and of a Constant.
  const auto initialized = [](const Message& w) {
    Message graph = Message().add(1, node("Add", {"x", "w"}, {"y"})).add(15, w);
    graph.add(11, value("x", {"2", "3"})).add(12, value("y", {}));
    return Message().integer(1, 8).add(8, opset(21)).add(7, graph);
  };
  const auto made = [](const Message& w) {
    const Message attribute = Message().text(1, "sparse_value").add(22, w).integer(20, 11);
    return model({{value("x", {"2", "3"})},
                  {node("Constant", {}, {"w"}, {attribute}), node("Add", {"x", "w"}, {"y"})},
                  {value("y", {})}});
  };
  for (const Message& message :
       {initialized(sparse(values, int64s("", {2}, {1, 5}), {2, 3})),
        initialized(sparse(values, int64s("", {2, 2}, {0, 1, 1, 2}), {2, 3})),
        made(sparse(values, int64s("", {2}, {1, 5}), {2, 3}))}) {
    graph::Graph graph = read(message);
    ASSERT_EQ(ops_of(graph), (Names{"Add"}));
    const auto& w = *graph.values[graph.nodes[0].inputs[1]].constant;
    EXPECT_EQ(w.shape, (std::vector<int64_t>{2, 3}));
    std::vector<float> dense(6);
    ASSERT_EQ(w.bytes.size(), 24u);
    std::memcpy(dense.data(), w.bytes.data(), 24);
    EXPECT_EQ(dense, (std::vector<float>{0, 5, 0, 0, 0, 6}));
  }
  const auto refused = [&](const Message& indices, const std::vector<int64_t>& dims) {
    return error_of(initialized(sparse(values, indices, dims)));
  };
  EXPECT_NE(refused(int64s("", {2}, {1, 6}), {2, 3}).find("value 1 lies outside"),
            std::string::npos);
  EXPECT_NE(refused(int64s("", {2, 2}, {0, 1, 1, -1}), {2, 3}).find("value 1 lies outside"),
            std::string::npos);
  EXPECT_NE(refused(int64s("", {3}, {1, 2, 3}), {2, 3}).find("do not fit its 2 values"),
            std::string::npos);
  EXPECT_NE(refused(int64s("", {2}, {1, 2}), {1 << 20, 1 << 10}).find("export it dense"),
            std::string::npos);
}

Message external(std::string_view location) {
  Message message = Message().integer(1, 2).integer(2, 1).text(8, "w").integer(14, 1);
  message.add(13, Message().text(1, "location").text(2, location));
  return message.add(13, Message().text(1, "offset").text(2, "16"));
}
Message external_model(std::string_view location) {
  return model({{value("x", {"2"})},
                {node("Add", {"x", "w"}, {"y"})},
                {value("y", {})},
                {external(location)}});
}

TEST(Reader, ExternalDataStaysInTheFolder) {
  graph::Graph graph = read(external_model("data/w.bin"));
  ASSERT_EQ(graph.files, Names{"data/w.bin"});
  const auto& constant = *graph.values[graph.nodes[0].inputs[1]].constant;
  EXPECT_EQ(constant.file, 1);
  EXPECT_EQ(constant.offset, 16u);
  EXPECT_EQ(constant.length, 8u);
  for (const char* path : {"./data/w.bin", "data//w.bin", "data\\w.bin", "x/../data/./w.bin"})
    EXPECT_EQ(read(external_model(path)).files, Names{"data/w.bin"}) << path;
  for (const char* path :
       {"/etc/passwd", "../w", "a/../../w", "a\\..\\..\\w", "\\w", "", ".", "a/..", "C:/w"}) {
    EXPECT_NE(error_of(external_model(path)).find("leaves the model's folder"), std::string::npos)
        << path;
  }
}

TEST(Reader, ListsTheExternalFilesThatItWants) {
  const std::string bytes = external_model(".\\data/w.bin").bytes;
  const auto error = [&](ExternalFiles::Open open) {
    ExternalFiles external(std::move(open));
    ReadOptions options;
    options.external = &external;
    const auto graph = read_model(std::as_bytes(std::span(bytes)), options);
    return graph ? std::string("no error") : graph.error().to_string();
  };
  const std::string missing =
      error([](const std::string&) { return fail("was not given", "add it"); });
  EXPECT_NE(missing.find("external data \"data/w.bin\": was not given"), std::string::npos)
      << missing;
  EXPECT_NE(missing.find("the model wants \"data/w.bin\"; add it"), std::string::npos) << missing;
  const std::string page = "<!doctype html><title>404</title>" + std::string(100, ' ');
  const std::string stood =
      error([&](const std::string&) { return std::as_bytes(std::span(page)); });
  EXPECT_NE(stood.find("is an HTML page, not weights"), std::string::npos) << stood;
  const std::string shorter = error([](const std::string&) { return Bytes(); });
  EXPECT_NE(shorter.find("has 0 bytes, 8 are needed from byte 16 on"), std::string::npos)
      << shorter;
}

TEST(Reader, InlinesFunctions) {
  Message function = Message().text(1, "Twice").text(4, "v").text(5, "out").text(6, "factor");
  Message reference = Message().text(1, "value_float").text(21, "factor").integer(20, 1);
  function.add(7, node("Constant", {}, {"k"}, {reference}));
  function.add(7, node("Mul", {"v", "k"}, {"out"}));
  function.add(9, opset(21)).text(10, "mine");
  Message message = model({{value("x", {"2"})},
                           {node("Twice", {"x"}, {"m"}, {attribute("factor", 2.0f)}, "t1", "mine"),
                            node("Twice", {"m"}, {"y"}, {attribute("factor", 3.0f)}, "t2", "mine")},
                           {value("y", {})}},
                          21, {function});
  graph::Graph graph = read(message);
  EXPECT_EQ(ops_of(graph), (Names{"Mul", "Mul"}));
  EXPECT_EQ(graph.nodes[1].inputs[0], graph.nodes[0].outputs[0]);
  float factor = 0;
  std::memcpy(&factor, graph.values[graph.nodes[1].inputs[1]].constant->bytes.data(), 4);
  EXPECT_EQ(factor, 3.0f);
  EXPECT_EQ(graph.values[graph.outputs[0]].name, "y");

  // Outputs that are one value, and one that is an input.
  Message many = Message().text(1, "Many").text(4, "v").text(5, "v").text(5, "m").text(5, "m");
  many.add(7, node("Neg", {"v"}, {"m"})).add(9, opset(21)).text(10, "mine");
  graph = read(model({{value("x", {"2"})},
                      {node("Many", {"x"}, {"a", "b", "c"}, {}, "t", "mine")},
                      {value("a", {}), value("b", {}), value("c", {})}},
                     21, {many}));
  Names names;
  for (graph::ValueId output : graph.outputs) names.push_back(graph.values[output].name);
  EXPECT_EQ(names, (Names{"a", "b", "c"}));
  EXPECT_EQ(ops_of(graph), (Names{"Neg", "Identity", "Identity"}));

  Message endless = Message().text(1, "Twice").text(4, "v").text(5, "out").text(10, "mine");
  endless.add(7, node("Twice", {"v"}, {"out"}, {}, "again", "mine"));
  EXPECT_NE(error_of(model({{value("x", {"2"})},
                            {node("Twice", {"x"}, {"y"}, {}, "t", "mine")},
                            {value("y", {})}},
                           21, {endless}))
                .find("64 deep"),
            std::string::npos);
}

TEST(Reader, NestedGraphsAreBounded) {
  Message inner = graph({{}, {node("Relu", {"x"}, {"y"})}, {value("y", {})}});
  for (int i = 0; i < 100; ++i) {
    inner = graph(
        {{},
         {node("If", {"c"}, {"y"},
               {graph_attribute("then_branch", inner), graph_attribute("else_branch", inner)})},
         {value("y", {})}});
    if (inner.bytes.size() > 100'000'000) break;
    if (i == 3) {  // from here on only one branch nests, so that the size stays small
      Message leaf = graph({{}, {node("Relu", {"x"}, {"y"})}, {value("y", {})}});
      for (int k = 0; k < 100; ++k) {
        inner = graph(
            {{},
             {node("If", {"c"}, {"y"},
                   {graph_attribute("then_branch", inner), graph_attribute("else_branch", leaf)})},
             {value("y", {})}});
      }
      break;
    }
  }
  Message message = Message().integer(1, 8).add(8, opset(21)).add(7, inner);
  EXPECT_NE(error_of(message).find("64 deep"), std::string::npos);
}

TEST(Reader, TakesConstantBranches) {
  auto branch = [](std::string_view op) {
    return graph({{}, {node(op, {"x"}, {"out"})}, {value("out", {})}});
  };
  Message message = model({{value("x", {"2"})},
                           {node("If", {"c"}, {"y"},
                                 {graph_attribute("then_branch", branch("Exp")),
                                  graph_attribute("else_branch", branch("Abs"))})},
                           {value("y", {})},
                           {tensor<uint8_t>("c", 9, {}, {1})}});
  graph::Graph graph = read(message);
  ASSERT_EQ(graph.nodes.size(), 1u);
  auto stages = lower::lower(graph, ops::builtin_catalog());
  ASSERT_TRUE(stages.has_value()) << stages.error().to_string();
  ASSERT_EQ(stages->program.size(), 1u);
  EXPECT_EQ(stages->program[0].stage()->origin, "Exp \"out\"");
  EXPECT_EQ(stages->outputs[0].name, "y");
}

// Dimensions that explode end in an error, soon.
TEST(Reader, BoundsShapeArithmetic) {
  auto lowered = [](std::vector<Message> nodes, std::vector<Message> constants) {
    Message message =
        model({{value("x", {"n"})}, std::move(nodes), {value("y", {})}, std::move(constants)});
    auto graph = read_model(bytes_of(message));
    EXPECT_TRUE(graph.has_value());
    auto stages = lower::lower(*graph, ops::builtin_catalog());
    return stages ? "" : stages.error().to_string();
  };
  std::vector<Message> squares{node("Shape", {"x"}, {"s0"})};
  for (int i = 0; i < 60; ++i) {
    std::string from = "s" + std::to_string(i), to = "s" + std::to_string(i + 1);
    squares.push_back(node("Mul", {from, from}, {to}));
  }
  squares.push_back(node("Expand", {"x", "s60"}, {"y"}));
  // Too large for an expression: stages compute it, and the host program reads it in the run.
  EXPECT_EQ(lowered(squares, {}), "");

  std::vector<Message> doubles;
  for (int i = 0; i < 70; ++i) {
    std::string from = i == 0 ? "x" : "c" + std::to_string(i);
    std::string to = i == 69 ? "y" : "c" + std::to_string(i + 1);
    doubles.push_back(node("Concat", {from, from}, {to}, {attribute("axis", int64_t{0})}));
  }
  EXPECT_NE(lowered(doubles, {}).find("too large"), std::string::npos);

  int64_t huge = int64_t{1} << 62;
  std::string padded =
      lowered({node("Pad", {"x", "pads"}, {"y"})}, {int64s("pads", {2}, {huge, huge})});
  EXPECT_NE(padded.find("too large"), std::string::npos) << padded;
}

// Every prefix of a model, and every single changed byte, is a model or an error.
TEST(Reader, SurvivesDamage) {
  Message message =
      model({{value("x", {"n", "4"})},
             {node("Gemm", {"x", "w", "b"}, {"h"}, {attribute("transB", int64_t{1})}),
              node("Softmax", {"h"}, {"y"})},
             {value("y", {})},
             {floats("w", {3, 4}, std::vector<float>(12)), floats("b", {3}, {1, 2, 3})}},
            11);
  int whole = 0;
  for (size_t length = 0; length <= message.bytes.size(); ++length) {
    auto graph = read_model(bytes_of(message).first(length));
    if (graph) whole += lower::lower(*graph, ops::builtin_catalog()).has_value();
  }
  EXPECT_GE(whole, 1);
  for (size_t at = 0; at < message.bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Message damaged = message;
      damaged.bytes[at] = static_cast<char>(damaged.bytes[at] ^ (1 << bit));
      auto graph = read_model(bytes_of(damaged));
      if (graph) (void)lower::lower(*graph, ops::builtin_catalog());
    }
  }
}

}  // namespace
}  // namespace gossamer::onnx
