#include "compiler/compile.h"

#include <gtest/gtest.h>

#include "autoschedule/default_schedule.h"
#include "ir/build.h"
#include "onnx/model_writer.h"

namespace gossamer::compiler {
namespace {

using onnx::bytes_of;
using onnx::floats;
using onnx::model;
using onnx::node;
using onnx::value;

std::string manifest_of(const onnx::Message& message, const std::string& target,
                        const std::string& limits = "", bool f16 = false) {
  Options options;
  options.target = target;
  options.limits = limits;
  options.f16 = f16;
  const auto files = compile(bytes_of(message), options);
  if (!files) return files.error().to_string();
  for (const package::File& file : *files) {
    if (file.name == "manifest.json")
      return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
  }
  return "no manifest";
}

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Compile, HalvesTakeHalfTheMemoryWhereTheDeviceHasThem) {
  const onnx::Message add =
      model({{value("x", {"64"}, 10)}, {node("Add", {"x", "x"}, {"y"})}, {value("y", {"64"}, 10)}});
  const std::string wide = manifest_of(add, "webgpu"), half = manifest_of(add, "webgpu", "", true);
  EXPECT_EQ(count(wide, "webgpu-f16"), 0u);
  EXPECT_EQ(count(wide, R"("bytes":256)"), 2u) << wide;
  EXPECT_EQ(count(half, R"("needs":["webgpu-f16"])"), 1u) << half;
  EXPECT_EQ(count(half, R"("storage":"f16")"), 2u);
  EXPECT_EQ(count(half, R"("bytes":128)"), 2u);
  // Nothing to store so: no device is asked for it.
  const onnx::Message plain =
      model({{value("x", {"64"})}, {node("Relu", {"x"}, {"y"})}, {value("y", {"64"})}});
  EXPECT_EQ(manifest_of(plain, "webgpu", "", true), manifest_of(plain, "webgpu"));
  EXPECT_EQ(manifest_of(add, "webgl", "", true), manifest_of(add, "webgl"));
}

// Where kernels write whole words of what no caller sees; halves, where they only move.
TEST(Compile, SmallElementsShareWordsBetweenKernels) {
  const auto weight = [](std::string_view name) {
    return onnx::tensor(name, 2, {32, 32}, std::vector<uint8_t>(32 * 32, 3));
  };
  const auto product = [](const std::string& a, const std::string& b, const std::string& y) {
    return node("QLinearMatMul", {a, "s", "z", b, "s", "z", "s", "z"}, {y});
  };
  const onnx::Message twice = model({{value("x", {"8", "32"}, 2)},
                                     {product("x", "v", "h"), product("h", "w", "y")},
                                     {value("y", {"8", "32"}, 2)},
                                     {weight("v"), weight("w"), floats("s", {}, {0.1f}),
                                      onnx::tensor("z", 2, {}, std::vector<uint8_t>{9})}});
  for (const char* target : {"webgpu", "webgl"}) {
    const std::string manifest = manifest_of(twice, target);
    const auto is_stored = [&](std::string_view name, std::string_view storage) {
      return count(manifest,
                   cat("\"name\":\"", name, "\",\"dtype\":\"u8\",\"storage\":\"", storage));
    };
    EXPECT_EQ(is_stored("y/qlinear_matmul.a", "u8"), target == std::string("webgpu")) << manifest;
    EXPECT_EQ(is_stored("x", "i32") + is_stored("y", "i32"), 2u) << manifest;  // ports
  }
}

// An output without a stage of its own still has memory of the target's kind.
TEST(Compile, ConstantOutputsHaveTexturesInWebgl) {
  const onnx::Message constant =
      model({{value("x", {"2"})},
             {node("Relu", {"x"}, {"y"}), node("Identity", {"w"}, {"z"})},
             {value("y", {"2"}), value("z", {"5"})},
             {floats("w", {5}, {1, 2, 3, 4, 5})}});
  const std::string manifest = manifest_of(constant, "webgl");
  EXPECT_EQ(count(manifest, "\"width\""), 3u) << manifest;
}

TEST(Compile, ScalarOutputsCompileEverywhere) {
  const onnx::Message scalar =
      model({{value("x", {"3", "7"})},
             {node("ReduceSum", {"x"}, {"y"}, {onnx::attribute("keepdims", int64_t{0})})},
             {value("y", {})}});
  for (const char* target : {"wasm", "webgpu", "webgl"}) {
    const std::string manifest = manifest_of(scalar, target);
    EXPECT_EQ(count(manifest, "\"outputs\""), 1u) << target << ": " << manifest;
  }
}

// The arithmetic on constants that runs at load must not take more bindings than a kernel may have.
TEST(Compile, HoistedConstantsFitTheBindings) {
  const onnx::Message sampled =
      model({{value("x", {"1", "2", "5", "5"})},
             {node("GridSample", {"x", "grid"}, {"y"})},
             {value("y", {})},
             {floats("grid", {1, 3, 3, 2}, std::vector<float>(18, 0.3f))}});
  for (const char* target : {"wasm", "webgpu", "webgl"}) {
    const std::string manifest = manifest_of(sampled, target);
    EXPECT_EQ(count(manifest, "\"outputs\""), 1u) << target << ": " << manifest;
  }
}

// Each step of it takes more bindings than OpenGL ES 3.1 has, and so is on the CPU; what lies
// between is copied, also where that is nothing.
TEST(Compile, NothingIsCopiedToTheSideAndBack) {
  const onnx::Message matched =
      model({{value("x", {"2", "0"}, 8)},
             {node("RegexFullMatch", {"x"}, {"y"},
                   {onnx::attribute("pattern", std::string_view("a+b"))})},
             {value("y", {"2", "0"}, 9)}});
  EXPECT_EQ(count(manifest_of(matched, "opengl", "es31"), "\"outputs\""), 1u);
}

TEST(Compile, ScattersJoinNumbersOnly) {
  const onnx::Message scattered =
      model({{value("x", {"4"}, 9), value("i", {"2"}, 7), value("u", {"2"}, 9)},
             {node("ScatterElements", {"x", "i", "u"}, {"y"},
                   {onnx::attribute("reduction", std::string_view("add"))})},
             {value("y", {}, 9)}});
  EXPECT_NE(manifest_of(scattered, "wasm").find("`reduction` \"add\" of type bool"),
            std::string::npos);
}

// Whether an extent that only a run knows goes is decided now: it stays, and must not be 1.
TEST(Compile, SqueezeWithoutAxesChecksWhatItKeeps) {
  const onnx::Message squeezed =
      model({{value("x", {"n", "1", "3"})}, {node("Squeeze", {"x"}, {"y"})}, {value("y", {})}});
  EXPECT_EQ(count(manifest_of(squeezed, "wasm"),
                  "axis 0 (n) has extent 1: without `axes`, that must be known when compiling"),
            1u);
}

// Kernels with relaxed SIMD stand beside the others where there are multiply-adds; weights are
// there once.
TEST(Compile, WasmPackagesHaveKernelsWithAndWithoutRelaxedSimd) {
  const auto names = [](const onnx::Message& made, bool relaxed) {
    Options options;
    options.relaxed_simd = relaxed;
    const auto files = compile(bytes_of(made), options);
    std::string all;
    for (const package::File& file : *files) all += cat(file.name, " ");
    return all;
  };
  const onnx::Message product = model({{value("x", {"12", "16"})},
                                       {node("MatMul", {"x", "w"}, {"y"})},
                                       {value("y", {})},
                                       {floats("w", {16, 8}, std::vector<float>(128, 0.5f))}});
  EXPECT_EQ(names(product, true),
            "manifest.json kernels.wasm kernels.relaxed.wasm weights.safetensors ");
  EXPECT_EQ(names(product, false), "manifest.json kernels.wasm weights.safetensors ");
  // Tiles of five and of six rows: a launch has both.
  EXPECT_EQ(count(manifest_of(product, "wasm"), "\"hardware\""), 1u);
  const onnx::Message sum =
      model({{value("x", {"12"})}, {node("Add", {"x", "x"}, {"y"})}, {value("y", {})}});
  EXPECT_EQ(names(sum, true), "manifest.json kernels.wasm ");
  // Products of bytes have no multiply-adds, but run times find exact dots next to relaxed SIMD.
  const std::vector<std::byte> ones(128, std::byte{1});
  const onnx::Message bytes = model({{value("x", {"12", "16"}, 2)},
                                     {node("MatMulInteger", {"x", "w"}, {"y"})},
                                     {value("y", {}, 6)},
                                     {onnx::tensor("w", 2, {16, 8}, ones)}});
  EXPECT_EQ(
      names(bytes, true),
      "manifest.json kernels.wasm kernels.relaxed.wasm kernels.dots.wasm weights.safetensors ");
}

#if defined(GOSSAMER_LLVM) && defined(__x86_64__)
// They hold the tile, a vector of its columns each, and a row's operand.
TEST(Compile, TilesOfMachineCodeFitTheRegistersOfItsProcessor) {
  const onnx::Message product = model({{value("x", {"96", "64"})},
                                       {node("MatMul", {"x", "w"}, {"y"})},
                                       {value("y", {})},
                                       {floats("w", {64, 256}, std::vector<float>(64 * 256, 1))}});
  struct Case {
    const char *cpu, *machine;
    int lanes, registers;
  };
  for (const Case& one : {Case{"x86-64-v2", "cpu.128", 4, 15}, Case{"haswell", "cpu.256", 8, 15},
                          Case{"skylake-avx512", "cpu", 16, 31}}) {
    Options options;
    options.target = "cpu";
    options.cpu = one.cpu;
    options.groups = true;
    Report report;
    ASSERT_TRUE(compile(bytes_of(product), options, &report)) << one.cpu;
    int products = 0;
    for (const KernelReport& kernel : report.kernels) {
      EXPECT_EQ(kernel.machine, one.machine);
      const auto point = autoschedule::default_point(*kernel.group, kernel.capabilities);
      if (point[0].pattern == "map") continue;
      ++products;
      const int64_t vectors = *factor_of(point, "vec"), cells = *factor_of(point, "row") * vectors;
      EXPECT_EQ(factor_of(point, "lane"), one.lanes) << one.cpu;
      EXPECT_LE(cells + vectors + 1, one.registers) << one.cpu;
      EXPECT_GT(cells, one.registers / 2) << one.cpu;
    }
    EXPECT_EQ(products, 1) << one.cpu;
  }
}
#endif

// Weights of more than the limit lie in several files, in the order in which launches read them;
// those of several targets are the same files.
TEST(Compile, WeightsOfManyBytesLieInSeveralFiles) {
  const size_t wide = 160;
  const auto matrix = [&](const char* name, float value) {
    return floats(name, {wide, wide}, std::vector<float>(wide * wide, value));
  };
  const onnx::Message chain =
      model({{value("x", {"4", "160"})},
             {node("MatMul", {"x", "a"}, {"h"}), node("Relu", {"h"}, {"r"}),
              node("MatMul", {"r", "b"}, {"s"}), node("Add", {"s", "c"}, {"y"})},
             {value("y", {})},
             {floats("c", {160}, std::vector<float>(160, 3)), matrix("b", 2), matrix("a", 1)}});
  const auto names = [](const package::Files& files) {
    std::string all;
    for (const package::File& file : files)
      if (file.name.ends_with(".safetensors")) all += cat(file.above ? "../" : "", file.name, " ");
    return all;
  };
  std::string shared;
  for (const char* target : {"wasm", "webgpu", "webgl"}) {
    Options options;
    options.target = target;
    const auto whole = compile(bytes_of(chain), options);
    ASSERT_TRUE(whole) << whole.error().to_string();
    EXPECT_EQ(names(*whole), "weights.safetensors ");
    EXPECT_EQ(count(manifest_of(chain, target), "\"version\":2"), 1u);
    options.shard_bytes = 110'000;
    Report report;
    const auto several = compile(bytes_of(chain), options, &report);
    EXPECT_EQ(count(names(*several), "weights."), 2u) << names(*several);
    EXPECT_GT(report.weight_bytes, 2 * 4 * static_cast<int64_t>(wide * wide));
    const std::span<const std::byte> bytes = several->front().bytes;
    const std::string manifest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    EXPECT_EQ(count(manifest, "\"version\":3"), 1u);
    const size_t a = manifest.find("{\"name\":\"a\"", manifest.find("\"weights\":"));
    const size_t b = manifest.find("{\"name\":\"b\"", manifest.find("\"weights\":"));
    const auto file_of = [&](size_t at) { return manifest[manifest.find("\"file\":", at) + 7]; };
    EXPECT_EQ(file_of(a) + 1, file_of(b)) << manifest;
    options.share_weights = true;
    const auto above = compile(bytes_of(chain), options);
    EXPECT_EQ(count(names(*above), "../"), 2u) << names(*above);
    if (shared.empty()) shared = names(*above);
    EXPECT_EQ(names(*above), shared) << target;
  }
}

TEST(Compile, WeightsThatSomebodyHoldsAreInNoFile) {
  onnx::Message outside;
  outside.integer(1, 64).integer(1, 64).integer(2, 1).text(8, "w");
  outside.add(13, onnx::Message().text(1, "location").text(2, "w.bin")).integer(14, 1);
  const onnx::Message m =
      model({{value("x", {"2", "64"})},
             {node("MatMul", {"x", "w"}, {"h"}), node("Add", {"h", "b"}, {"y"})},
             {value("y", {})},
             {outside, floats("b", {64}, std::vector<float>(64, 0.5f))}});
  for (const char* target : {"wasm", "webgpu", "webgl"}) {
    Options options;
    options.target = target;
    EXPECT_FALSE(compile(bytes_of(m), options));
    options.hold_external = true;
    const auto held = compile(bytes_of(m), options);
    ASSERT_TRUE(held) << held.error().to_string();
    const std::span<const std::byte> bytes = held->front().bytes;
    const std::string manifest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    EXPECT_EQ(count(manifest, "{\"name\":\"w\",\"dtype\":\"f32\",\"shape\":[64,64]"), 1u)
        << manifest;
    size_t weights = 0;
    for (const package::File& file : *held)
      if (file.name == "weights.safetensors") weights += file.bytes.size();
    EXPECT_LT(weights, 1024u);
  }
}

// A weight goes when it is packed, before the next one comes: both count together for one at a
// time.
TEST(Compile, MemoryIsWhatStaysAfterLoading) {
  const auto products = [](int64_t extent, int count) {
    std::vector<onnx::Message> nodes, weights;
    std::string before = "x";
    for (int at = 0; at < count; ++at) {
      const std::string w = cat("w", at), y = at + 1 < count ? cat("y", at) : "y";
      onnx::Message weight;
      weight.integer(1, extent).integer(1, extent).integer(2, 1).text(8, w);
      weight.add(13, onnx::Message().text(1, "location").text(2, "w.bin")).integer(14, 1);
      weights.push_back(weight);
      nodes.push_back(node("MatMul", {before, w}, {y}));
      before = y;
    }
    return model({{value("x", {"1", cat(extent)})}, nodes, {value("y", {})}, weights});
  };
  Options options;
  options.target = "wasm";
  options.hold_external = true;
  Report report;
  const auto large = compile(bytes_of(products(10'000, 6)), options, &report);
  ASSERT_TRUE(large) << large.error().to_string();
  const int64_t weight = int64_t{4} * 10'000 * 10'000;
  EXPECT_GE(report.memory_bytes, 6 * weight);
  EXPECT_LT(report.memory_bytes, 6 * weight + weight / 10);
  const auto larger = compile(bytes_of(products(10'000, 11)), options);
  ASSERT_FALSE(larger);
  EXPECT_NE(larger.error().message.find("4.8 GB together"), std::string::npos)
      << larger.error().to_string();
}

TEST(Compile, TheSameInputGivesTheSameBytes) {
  const onnx::Message m = model({{value("x", {"n", "16"})},
                                 {node("MatMul", {"x", "w"}, {"h"}), node("Relu", {"h"}, {"y"})},
                                 {value("y", {})},
                                 {floats("w", {16, 8}, std::vector<float>(128, 0.5f))}});
  for (const char* target : {"wasm", "webgpu", "webgl"}) {
    Options options;
    options.target = target;
    const auto first = compile(bytes_of(m), options), second = compile(bytes_of(m), options);
    ASSERT_TRUE(first) << first.error().to_string();
    ASSERT_EQ(first->size(), second->size());
    for (size_t i = 0; i < first->size(); ++i) {
      EXPECT_EQ((*first)[i].name, (*second)[i].name);
      EXPECT_EQ((*first)[i].bytes, (*second)[i].bytes) << (*first)[i].name;
    }
  }
}

// 160 MB: more than a phone binds, though its textures hold that. 1 GB: more than they hold.
TEST(Compile, MobileLimitsAreErrorsOfTheCompiler) {
  const auto sum = [](const std::string& extent) {
    return model({.inputs = {value("a", {extent})},
                  .nodes = {node("Add", {"a", "a"}, {"c"}, {}, "the sum")},
                  .outputs = {value("c", {extent})}});
  };
  EXPECT_NE(manifest_of(sum("40000000"), "webgpu").find("\"run\""), std::string::npos);
  EXPECT_NE(manifest_of(sum("40000000"), "webgpu", "mobile").find("0.2 GB"), std::string::npos);
  EXPECT_NE(manifest_of(sum("40000000"), "webgl", "mobile").find("\"run\""), std::string::npos);
  EXPECT_NE(manifest_of(sum("250000000"), "webgl").find("\"run\""), std::string::npos);
  EXPECT_NE(manifest_of(sum("250000000"), "webgl", "mobile").find("1.0 GB"), std::string::npos);
  EXPECT_NE(manifest_of(sum("4"), "webgl", "tiny").find("\"mobile\""), std::string::npos);
}

// A graph that the caller made compiles to what its model does.
TEST(Compile, GraphsAreAnEntranceOfTheirOwn) {
  graph::Graph graph;
  graph.name = "test";
  for (const char* name : {"x", "y"}) {
    graph::Value value;
    value.name = name;
    value.shape = {ir::index(4)};
    value.shape_known = true;
    graph.add_value(std::move(value));
  }
  graph.nodes.push_back({ops::builtin_catalog().find("", "Relu"), "the node", {0}, {1}, {}, {}});
  graph.inputs = {0};
  graph.outputs = {1};
  const onnx::Message m = model(
      {{value("x", {"4"})}, {node("Relu", {"x"}, {"y"}, {}, "the node")}, {value("y", {"4"})}});
  for (const char* target : {"wasm", "webgpu", "webgl"}) {
    Options options;
    options.target = target;
    const auto made = compile(graph, options), read = compile(bytes_of(m), options);
    ASSERT_TRUE(made) << made.error().to_string();
    ASSERT_EQ(made->size(), read->size());
    for (size_t i = 0; i < made->size(); ++i)
      EXPECT_EQ((*made)[i].bytes, (*read)[i].bytes) << (*made)[i].name;
  }
  graph.values[0].shape = {ir::index(4), ir::index(int64_t{1} << 40)};
  const auto large = compile(graph, Options{});
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().to_string().find("[Relu] \"the node\""), std::string::npos)
      << large.error().to_string();
}

// What kernels make, by the names that values have in the model: all of them, or what fusion
// leaves.
TEST(Compile, IntermediateTensorsCanBeOutputs) {
  const onnx::Message chain =
      model({{value("x", {"4", "4"})},
             {node("Exp", {"x"}, {"a"}), node("Neg", {"a"}, {"b"}), node("Softmax", {"b"}, {"y"})},
             {value("y", {})}});
  const auto outputs = [&](bool fuse) {
    Options options;
    options.fuse = fuse;
    options.expose = true;
    const auto files = compile(bytes_of(chain), options);
    const std::span<const std::byte> bytes = files->front().bytes;
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const size_t begin = text.find("\"outputs\"");
    return text.substr(begin, text.find("\"dims\"", begin) - begin);
  };
  const std::string all = outputs(false), left = outputs(true);
  EXPECT_EQ(count(all, "\"name\":\"a\""), 1u) << all;
  EXPECT_EQ(count(all, "\"name\":\"b\""), 1u);
  EXPECT_EQ(count(left, "\"name\":\"a\""), 0u) << left;
  EXPECT_EQ(count(left, "\"name\":\"y\""), 1u);
}

// More scores than kernels can count are none where one walk computes and forgets them.
TEST(Compile, WalksHaveNoIndexIntoTheirScores) {
  const auto made = [](const std::string& length, const std::string& target, bool whole = true) {
    std::vector<onnx::Message> nodes{node("MatMul", {"q", "k"}, {"s"})};
    if (whole) {
      nodes.push_back(node("Softmax", {"s"}, {"p"}));
      nodes.push_back(node("MatMul", {"p", "v"}, {"y"}));
    }
    return manifest_of(model({{value("q", {"16", length, "32"}), value("k", {"16", "32", length}),
                               value("v", {"16", length, "32"})},
                              nodes,
                              {value(whole ? "y" : "s", {})}}),
                       target);
  };
  const std::string refused = "more than this target can count", of = "tensor \\\"s\\\" of";
  for (const char* target : {"webgpu", "wasm", "opencl"}) {
    EXPECT_EQ(count(made("12288", target), refused), 0u) << target;
    EXPECT_EQ(count(made("12288", target, false), refused), 1u) << target;
    EXPECT_EQ(count(made("n", target), of), 0u) << target;
    EXPECT_EQ(count(made("n", target, false), of), 1u) << target;
  }
  EXPECT_EQ(count(made("12288", "webgl"), refused), 1u);
}

TEST(Compile, UnknownTargetsAreErrors) {
  Options options;
  options.target = "vax";
  const auto files = compile(std::span<const std::byte>(), options);
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().to_string().find("webgpu, webgl, wasm, cpu"), std::string::npos);
}

}  // namespace
}  // namespace gossamer::compiler
