#include "compiler/lowered_kernel_cache.h"

#include <gtest/gtest.h>

#include "autoschedule/default_schedule.h"
#include "compiler/compile.h"
#include "compiler/compile_cache.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "onnx/model_writer.h"
#include "records/records.h"

namespace gossamer::compiler {
namespace {

using onnx::bytes_of;
using onnx::model;
using onnx::node;
using onnx::value;

// y[i] = x[i] + x[i] over so many numbers, or a dimension.
ir::Kernel twice(const ir::Expr& extent) {
  const ir::Buffer x = ir::buffer("x", ir::DType::f32, {extent});
  const ir::Buffer y = ir::buffer("y", ir::DType::f32, {extent});
  const ir::Var i = ir::var("i");
  ir::Kernel kernel;
  kernel.name = "twice";
  kernel.params = {{x, false, false}, {y, true, false}};
  kernel.body = ir::loop(i, extent, ir::LoopKind::grid,
                         ir::store(y, {i}, ir::load(x, {i}) + ir::load(x, {i})));
  return kernel;
}

TEST(LoweredKernelCache, EqualOnesTakeTheirWayOnce) {
  LoweredKernelCache kernels;
  const auto wasm = TargetKind::wasm;
  const ir::Var n = ir::var("n"), m = ir::var("m");
  const Canonical one = canonicalize(twice(n), {n, m}), other = canonicalize(twice(m), {n, m});
  const auto first = kernels.run(one, wasm);
  ASSERT_TRUE(first);
  EXPECT_EQ(*kernels.run(other, wasm), *first);
  ASSERT_EQ((*first)->given.size(), 1u);
  ASSERT_EQ((*first)->scalars.size(), 1u);
  EXPECT_TRUE((*first)->scalars[0].same((*first)->given[0]));
  EXPECT_TRUE(ir::uses((*first)->range, (*first)->given[0].get()));
  const Canonical known = canonicalize(twice(ir::index(8)), {n});
  EXPECT_NE(*kernels.run(known, wasm), *first);
  EXPECT_NE(*kernels.run(known, TargetKind::cpu), *kernels.run(known, wasm));
}

// A page builds a pipeline for each kernel, so webgpu's take computed extents as scalars.
TEST(LoweredKernelCache, KernelsBehindOtherStridesAreOneOnWebgpu) {
  LoweredKernelCache kernels;
  const ir::Var n = ir::var("n");
  const auto of = [&](int64_t stride, TargetKind target) {
    const Canonical kernel = canonicalize(twice(ir::floordiv(n, stride)), {n});
    return **kernels.run(kernel, target);
  };
  EXPECT_NE(of(2, TargetKind::wasm).key, of(4, TargetKind::wasm).key);
  const LoweredKernelCache::Lowered two = of(2, TargetKind::webgpu),
                                    four = of(4, TargetKind::webgpu);
  EXPECT_EQ(two.key, four.key);
  ASSERT_EQ(four.scalars.size(), 1u);
  EXPECT_TRUE(ir::equal(four.scalars[0], ir::floordiv(four.given[0], 4)));
}

// Each scale of a quantized model is another number.
TEST(LoweredKernelCache, KernelsOfOtherScalesAreOneOnWebgpu) {
  const auto kernels_with = [](float scale) {
    const onnx::Message source =
        model({{value("x", {"n", "4"})},
               {node("ReduceMax", {"x"}, {"top"}, {onnx::attribute("keepdims", int64_t{0})}),
                node("Constant", {}, {"scale"}, {onnx::attribute("value_float", scale)}),
                node("Mul", {"top", "scale"}, {"y"})},
               {value("y", {})}});
    Options options;
    options.target = "webgpu";
    const auto files = compile(bytes_of(source), options);
    if (!files) return files.error().to_string();
    std::string text;
    for (const package::File& file : *files) {
      if (file.name == "kernels.json")
        text.assign(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
    }
    return text;
  };
  EXPECT_EQ(kernels_with(0.3f), kernels_with(0.7f));
  EXPECT_NE(kernels_with(0.3f), kernels_with(0.5f));
}

// Two launches of one kernel, each over its own dimension; by kept kernels the same bytes.
TEST(LoweredKernelCache, PackagesAreTheSame) {
  const onnx::Message source = model({{value("x", {"n", "4"}), value("y", {"m", "4"})},
                                      {node("Exp", {"x"}, {"a"}), node("Exp", {"y"}, {"b"})},
                                      {value("a", {"n", "4"}), value("b", {"m", "4"})}});
  for (const char* target : {"wasm", "webgpu"}) {
    Options options;
    options.target = target;
    const auto plain = compile(bytes_of(source), options);
    ASSERT_TRUE(plain);
    LoweredKernelCache kept;
    options.lowered = &kept;
    for (const int time : {1, 2}) {
      const auto files = compile(bytes_of(source), options);
      ASSERT_TRUE(files);
      ASSERT_EQ(files->size(), plain->size());
      for (size_t i = 0; i < files->size(); ++i)
        EXPECT_EQ((*files)[i].bytes, (*plain)[i].bytes) << (*files)[i].name << ", " << time;
    }
    const std::span<const std::byte> bytes = plain->front().bytes;
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    EXPECT_EQ(text.find("\"schedule\":"), text.rfind("\"schedule\":")) << text;
  }
}

// A legal point of the kernel other than its default one, and others at other times, if there are.
schedule::Point another_point(const KernelReport& kernel, int time) {
  const schedule::Point start = autoschedule::default_point(*kernel.group, kernel.capabilities);
  std::vector<schedule::Point> points;
  const auto vary = [&](const std::vector<schedule::Place>& places,
                        std::initializer_list<const char*> values) {
    for (const char* value : values) {
      schedule::Point point = start;
      for (const schedule::Place& place : places) set_argument(point, place, value);
      if (to_string(point) != to_string(start) &&
          autoschedule::schedule_at(*kernel.group, kernel.capabilities, point))
        points.push_back(std::move(point));
    }
  };
  std::vector<schedule::Place> unrolled, chunks;
  for (size_t at = 0; at < start[0].calls.size(); ++at) {
    const schedule::Call& call = start[0].calls[at];
    if (call.word == "unroll" && limit_of(call)) unrolled.push_back({0, at, *limit_of(call)});
    if (call.word == "fuse" && start[0].pattern == "map") chunks.push_back({0, at, 1});
  }
  if (start[0].pattern != "rows") {
    vary(places_of(start, "invocation"), {"32", "128"});
    vary(chunks, {"", "256"});
    vary(places_of(start, "row"), {"1", "2"});
  }
  vary(unrolled, {"1", "2", "8"});
  vary(places_of(start, "lane"), {"1"});
  return points.empty() ? start : points[static_cast<size_t>(time) % points.size()];
}

// Of what a compilation left, one at other points makes what it makes of the model.
void expect_the_same(const onnx::Message& source, const char* target) {
  CompileCache kept;
  Options options;
  options.target = target;
  options.groups = true;
  records::Records records;
  options.records = &records;
  // The last one has the points of the one before.
  for (const int time : {1, 2, 2, 3}) {
    options.cache = nullptr;
    const auto plain = compile(bytes_of(source), options);
    options.cache = &kept;
    Report report;
    const auto files = compile(bytes_of(source), options, &report);
    ASSERT_TRUE(plain && files);
    ASSERT_EQ(files->size(), plain->size());
    for (size_t i = 0; i < files->size(); ++i)
      EXPECT_EQ((*files)[i].bytes, (*plain)[i].bytes) << (*files)[i].name << ", " << time;
    EXPECT_EQ(report.recorded > 0, time > 1) << target;
    // Kernels after the first stay at their default points for one more time.
    for (size_t at = 0; at < std::min<size_t>(static_cast<size_t>(time), report.kernels.size());
         ++at) {
      const KernelReport& kernel = report.kernels[at];
      records.add(kernel.key, kernel.machine, another_point(kernel, time));
    }
  }
  EXPECT_TRUE(kept.graph && kept.stages);
}

TEST(CompileCache, PackagesAreTheSame) {
  const onnx::Message dynamic =
      model({{value("x", {"n", "64"}), value("w", {"64", "32"})},
             {node("MatMul", {"x", "w"}, {"p"}), node("Softmax", {"p"}, {"y"})},
             {value("y", {"n", "32"})}});
  // How many there are is a variable of the run.
  const onnx::Message counted =
      model({{value("x", {"64"})},
             {node("NonZero", {"x"}, {"i"}), node("Exp", {"x"}, {"y"}), node("Neg", {"i"}, {"z"})},
             {value("y", {"64"}), value("z", {"1", "m"}, 7)}});
  for (const char* target : {"wasm", "webgpu", "webgl"}) {
    expect_the_same(dynamic, target);
    expect_the_same(counted, target);
  }
}

}  // namespace
}  // namespace gossamer::compiler
