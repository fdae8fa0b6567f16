// Which records a device has with it, and that each of those that come with the compiler is one.
#include "shipped/shipped.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "shipped/files.h"
#include "tune/text.h"

namespace gossamer::shipped {
namespace {

TEST(Shipped, ClassOfAnAdapter) {
  EXPECT_EQ(device_class_of("opencl, NVIDIA H200, driver 580.159.04"), "nvidia");
  EXPECT_EQ(device_class_of("webgpu, NVIDIA H200, 580.159.04, wgpu-native 29.0.1.1"), "nvidia");
  EXPECT_EQ(device_class_of("nvidia hopper"), "nvidia");
  EXPECT_EQ(device_class_of("google swiftshader"), "swiftshader");
  EXPECT_EQ(device_class_of("opengl, llvmpipe (LLVM 15.0.6, 256 bits), 4.5 (Core Profile) Mesa"),
            "llvmpipe");
  EXPECT_EQ(device_class_of("opencl, pthread-skylake-avx512-AMD EPYC, driver 3.1+debian"), "pocl");
  EXPECT_EQ(device_class_of("opencl, cpu-haswell-Intel Core, driver 5.0"), "pocl");
  EXPECT_EQ(device_class_of("wasm, wasmtime 50 on AMD EPYC, relaxed SIMD, 2 threads"), "wasmtime");
  EXPECT_EQ(device_class_of("amd rdna-3"), "");
  EXPECT_EQ(device_class_of(""), "");
}

using Names = std::vector<std::string_view>;

Names classes(std::string target, std::string_view device_class, bool native = false) {
  compiler::Options options;
  options.target = std::move(target);
  options.native_side = native;
  options.cpu = "x86-64-v3";
  auto taken = classes_for(options, device_class);
  EXPECT_TRUE(taken) << taken.error().to_string();
  return taken ? *taken : Names();
}

TEST(Shipped, ClassesOfPages) {
  EXPECT_EQ(classes("wasm", ""), (Names{"v8"}));
  EXPECT_EQ(classes("webgpu", ""), (Names{"v8", "swiftshader"}));
  EXPECT_EQ(classes("webgpu", "nvidia"), (Names{"nvidia", "v8", "swiftshader"}));
  EXPECT_EQ(classes("webgpu", "llvmpipe"), (Names{"llvmpipe", "v8"}));
  EXPECT_EQ(classes("webgl", ""), (Names{"v8"}));
  for (const char* target : {"cpu", "wasm", "webgpu", "webgl", "opencl", "opengl"})
    EXPECT_EQ(classes(target, "none"), Names{}) << target;
}

TEST(Shipped, ClassesOfWasmByItsEngine) {
  EXPECT_EQ(classes("wasm", "", true), (Names{"wasmtime"}));
  EXPECT_EQ(classes("wasm", "v8", true), (Names{"v8"}));
  EXPECT_EQ(classes("wasm", "wasmtime"), (Names{"wasmtime"}));
  EXPECT_EQ(classes("webgpu", "wasmtime"), (Names{"wasmtime", "swiftshader"}));
}

TEST(Shipped, AnUnknownClassIsNamed) {
  const auto taken = classes_for({}, "voodoo");
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().to_string().find("voodoo"), std::string::npos);
  EXPECT_NE(taken.error().to_string().find("nvidia"), std::string::npos);
}

// Every line says a class of this folder, a point that reads back, and what kernels near it are
// known by.
TEST(Shipped, EveryLineIsARecord) {
  std::set<std::string_view> seen;
  for (const File& file : files) {
    const std::string name(file.device_class);
    EXPECT_TRUE(std::ranges::find(device_classes(), file.device_class) != device_classes().end())
        << name;
    EXPECT_TRUE(seen.insert(file.device_class).second) << name;
    EXPECT_EQ(lines_of(name), file.text);
    const tune::Recorded read = tune::read_records(file.text, name);
    for (const Diagnostic& one : read.left_out) ADD_FAILURE() << one.to_string();
    EXPECT_TRUE(read.trials.empty()) << name;
    size_t lines = 0;
    for (size_t at = 0; at < file.text.size(); ++lines) {
      const std::string_view line = file.text.substr(at, file.text.find('\n', at) - at);
      at += line.size() + 1;
      // Costs were read, or left out above.
      if (line.starts_with('#') || line.starts_with("{\"costs\"")) {
        --lines;
        continue;
      }
      EXPECT_NE(line.find(cat(R"("shipped":")", name, "\"")), std::string_view::npos) << line;
      EXPECT_NE(line.find("\"structure\":\""), std::string_view::npos) << line;
      EXPECT_NE(line.find("\"ratio\":"), std::string_view::npos) << line;
    }
    EXPECT_EQ(read.records.size(), lines) << name << ": a key stands there twice";
  }
  size_t there = 0;
  for (const auto& entry : std::filesystem::directory_iterator("src/shipped"))
    there += entry.path().extension() == ".jsonl";
  EXPECT_EQ(seen.size(), there);
}

// What searches on hardware begin with, natively and in pages.
TEST(Shipped, CostsComeWithTheirClass) {
  compiler::Options options;
  options.target = "webgpu";
  tune::Recorded nvidia, none;
  ASSERT_TRUE(add_to(nvidia, options, "nvidia"));
  ASSERT_EQ(nvidia.costs.size(), 1u);
  EXPECT_EQ(nvidia.costs[0].machine, "webgpu.hardware");
  EXPECT_GT(nvidia.records.size(), 0u);
  ASSERT_TRUE(add_to(none, options, no_class));
  EXPECT_TRUE(none.costs.empty());
}

TEST(Shipped, NotAskedWhatTheDeviceIsWhereNothingHangsOnIt) {
  compiler::Options options;
  options.target = "wasm";
  records::Records records;
  bool asked = false;
  const Adapter adapter = [&] {
    asked = true;
    return std::string("NVIDIA");
  };
  ASSERT_TRUE(add_to(records, options, "", adapter));
  EXPECT_FALSE(asked);
}

}  // namespace
}  // namespace gossamer::shipped
