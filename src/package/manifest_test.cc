#include <gtest/gtest.h>

#include <string_view>

#include "package/write.h"

namespace gossamer::package {
namespace {

std::string text_of(const File& file) {
  return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

Files one_file(std::string_view name, std::string_view content) {
  File file{std::string(name), {}};
  for (char c : content) file.bytes.push_back(static_cast<std::byte>(c));
  return {file};
}

TEST(Manifest, WritesEveryFieldOfTheSpecification) {
  Module module;
  module.name = "tiny";
  module.target = TargetKind::webgpu;
  module.needs = {"webgpu-f16"};
  module.inputs = {{"x", ir::DType::f32, {1, Number::plan(0)}, {"", "n"}, 0}};
  module.outputs = {{"y", ir::DType::i64, {1, Number::plan(1)}, {}, 1}};
  module.dims = {{"n", 0, 1}};
  module.checks = {{Number::plan(2), "n must be even"}};
  module.plan_values = 3;
  module.tensors = {{"x", ir::DType::f32, ir::DType::f32, Number::plan(0), 0},
                    {"y", ir::DType::i64, ir::DType::i32, 12, 1}};
  module.slots = {{Number::plan(0), {}, false}, {64, {}, true}, {0, {256, 3, 2}, false}};
  module.weights = {{"w", ir::DType::f16, {2, 3}, 1}};
  KernelInfo first{.name = "a.relu",
                   .entry = "main",
                   .group_size = 64,
                   .buffers = 2,
                   .scalars = 1,
                   .schedule = "tile 8",
                   .source = "source A"};
  KernelInfo second = first;
  second.source = "source \"B\"";
  module.kernels = {first, second, first};
  module.run = {
      {1, {0, 1}, {Number::plan(2)}, 1024, Call{0, {}, 7}, Number::plan(2), "Conv \"f\""}};

  EXPECT_EQ(text_of(write_kernel_sources(module)), R"(["source A","source \"B\""])");
  EXPECT_EQ(
      text_of(write_manifest(module, one_file("kernels.json", "abc"))),
      R"({"format":"gossamer-package","version":2,"name":"tiny","target":"webgpu",)"
      R"("needs":["webgpu-f16"],)"
      R"("files":[{"name":"kernels.json","bytes":3,"xxh3":"78af5f94892f3950",)"
      R"("sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}],)"
      R"("inputs":[{"name":"x","dtype":"f32","shape":[1,"n"],"tensor":0}],)"
      R"("outputs":[{"name":"y","dtype":"i64","shape":[1,{"plan":1}],"tensor":1}],)"
      R"("dims":[{"name":"n","input":0,"axis":1}],)"
      R"("checks":[{"value":{"plan":2},"message":"n must be even"}],"plan":{"values":3},)"
      R"("tensors":[{"name":"x","dtype":"f32","storage":"f32","elements":{"plan":0},"slot":0},)"
      R"({"name":"y","dtype":"i64","storage":"i32","elements":12,"slot":1}],)"
      R"("slots":[{"bytes":{"plan":0}},{"bytes":64,"persistent":true},)"
      R"({"width":256,"height":3,"layers":2}],)"
      R"("weights":[{"name":"w","dtype":"f16","shape":[2,3],"tensor":1}],)"
      R"("kernels":[{"name":"a.relu","entry":"main","code":0,"group":64,"buffers":2,)"
      R"("scalars":1,"schedule":"tile 8"},)"
      R"({"name":"a.relu","entry":"main","code":1,"group":64,"buffers":2,"scalars":1,)"
      R"("schedule":"tile 8"},)"
      R"({"name":"a.relu","entry":"main","code":0,"group":64,"buffers":2,"scalars":1,)"
      R"("schedule":"tile 8"}],"init":[],)"
      R"("run":[{"kernel":1,"tensors":[0,1],"scalars":[{"plan":2}],"range":1024,)"
      R"("hardware":{"kernel":0,"scalars":[],"range":7},"operations":{"plan":2},)"
      R"("origin":"Conv \"f\""}]})");
}

TEST(Manifest, WritesSteps) {
  Module module;
  module.target = TargetKind::webgpu;
  module.side = Side{TargetKind::wasm, "side.wasm"};
  module.dims = {{"n", 0, 1}, {"i"}};
  module.checks = {{Number::plan(0), "no", 1}};
  module.plan_values = 1;
  module.plan_segments = 2;
  module.slots = {{64, {}, false}, {Number::plan(0), {}, false, 1, 1}};
  module.kernels = {{.name = "sort", .entry = "k0", .buffers = 2, .device = 1}};
  module.run = {{0, {0, 1}, {}, 1, {}, {}, "TopK", "sorts"}};
  const Step launch{.kind = Step::Kind::launch, .first = 0, .last = 1};
  module.steps = {
      {.kind = Step::Kind::read, .tensor = 2, .dim = 1, .count = 3},
      {.kind = Step::Kind::plan, .segment = 1},
      {.kind = Step::Kind::set, .sets = {{1, Number::plan(0)}, {0, -4}}},
      {.kind = Step::Kind::copy, .tensor = 0, .to = 1},
      {.kind = Step::Kind::branch, .number = Number::plan(0), .body = {launch}},
      {.kind = Step::Kind::loop, .dim = 1, .number = 9, .condition = 0, .body = {launch}},
      {.kind = Step::Kind::loop, .dim = 1, .number = 9}};
  const std::string text = text_of(write_manifest(module, {}));
  const auto has = [&](std::string_view piece) {
    EXPECT_NE(text.find(piece), std::string::npos) << piece << " in " << text;
  };
  has(R"("target":"webgpu","side":{"target":"wasm","code":"side.wasm"},)");
  has(R"("dims":[{"name":"n","input":0,"axis":1},{"name":"i"}])");
  has(R"({"value":{"plan":0},"message":"no","segment":1})");
  has(R"("plan":{"values":1,"segments":2})");
  has(R"("slots":[{"bytes":64},{"bytes":{"plan":0},"segment":1,"device":1}])");
  has(R"("schedule":"","device":1}])");
  has(R"("origin":"TopK","reason":"sorts"}])");
  has(R"("steps":[{"read":2,"dims":1,"count":3},{"plan":1},{"set":[[1,{"plan":0}],[0,-4]]},)"
      R"({"copy":[0,1]},{"if":{"plan":0},"then":[{"launch":[0,1]}],"else":[]},)"
      R"({"loop":9,"dim":1,"while":0,"body":[{"launch":[0,1]}]},{"loop":9,"dim":1,"body":[]}])");
}

TEST(Manifest, WritesGroups) {
  Module module;
  module.target = TargetKind::cpu;
  module.inputs = {{"x.0", ir::DType::f32, {1}, {}, 0}, {"x.1", ir::DType::f32, {1}, {}, 0}};
  module.groups = {{"x", "sequence", {{0, 2}}, {}}, {"mask", "optional", {}, {{0, 0}}}};
  const std::string text = text_of(write_manifest(module, {}));
  EXPECT_NE(text.find(R"("groups":[{"name":"x","kind":"sequence","inputs":[0,2]},)"
                      R"({"name":"mask","kind":"optional","outputs":[0,0]}],)"),
            std::string::npos)
      << text;
}

TEST(Manifest, LeavesOutWhatAStaticCpuPackageLacks) {
  Module module;
  module.target = TargetKind::cpu;
  module.kernels = {{.name = "copy", .entry = "k0", .buffers = 2}};
  const std::string text = text_of(write_manifest(module, {}));
  EXPECT_EQ(text.find("\"plan\""), std::string::npos);
  EXPECT_EQ(text.find("\"code\""), std::string::npos);
  EXPECT_EQ(text_of(write_kernel_sources(module)), "[]");
}

TEST(Manifest, HashesLikeTheReferenceXxh3) {
  EXPECT_EQ(content_hash({}), "2d06800538d394c2");
  const Files files = one_file("f", "abc");
  EXPECT_EQ(content_hash(files[0].bytes), "78af5f94892f3950");
}

}  // namespace
}  // namespace gossamer::package
