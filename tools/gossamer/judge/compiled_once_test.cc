#include "gossamer/judge/compiled_once.h"

#include <gtest/gtest.h>

namespace gossamer::command {
namespace {

TEST(CompiledOnce, CompilesAModelOfSeveralCasesOnce) {
  const std::vector<TestCase> cases = {{"a/0", "a/model.onnx", "a/test_data_set_0"},
                                       {"a/1", "a/model.onnx", "a/test_data_set_1"},
                                       {"b/0", "b/model.onnx", "b/test_data_set_0"}};
  auto once = CompiledOnce::create(cases);
  ASSERT_TRUE(once) << once.error().to_string();
  int compiled = 0;
  const auto compile = [&]() -> Result<package::Files> {
    ++compiled;
    return package::Files{{"weights.safetensors", Bytes{std::byte{1}}},
                          {"manifest.json", Bytes{std::byte{'{'}, std::byte{'}'}}}};
  };
  for (const TestCase& test : cases) {
    const auto files = once->files(test, {}, "", compile);
    ASSERT_TRUE(files) << files.error().to_string();
    EXPECT_EQ(std::ranges::find(*files, "manifest.json", &package::File::name)->bytes.size(), 2u);
  }
  EXPECT_EQ(compiled, 2);
  ASSERT_TRUE(once->files(cases[0], {}, "bitcode", compile));
  ASSERT_TRUE(once->files(cases[1], {}, "bitcode", compile));
  EXPECT_EQ(compiled, 3);
  // An input with a default that only this case gives, or another element of a sequence.
  ASSERT_TRUE(once->files(cases[1], {{"bias", ir::DType::f32, {1}}}, "", compile));
  EXPECT_EQ(compiled, 4);
}

TEST(CompiledOnce, PassesOnWhatCompilingReports) {
  const std::vector<TestCase> cases = {{"a/0", "a/model.onnx", "a/0"},
                                       {"a/1", "a/model.onnx", "a/1"}};
  auto once = CompiledOnce::create(cases);
  ASSERT_TRUE(once) << once.error().to_string();
  for (const TestCase& test : cases) {
    const auto files =
        once->files(test, {}, "", []() -> Result<package::Files> { return fail("no"); });
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().message, "no");
  }
}

}  // namespace
}  // namespace gossamer::command
