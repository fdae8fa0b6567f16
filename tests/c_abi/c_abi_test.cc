// Of target cpu.
// The C ABI from C: a model of every element type, compiled here, run there (every_type.c).
#include <gtest/gtest.h>

#include <filesystem>

#include "c_abi/every_type.h"
#include "compiler/compile.h"
#include "gossamer/gossamer.hpp"
#include "onnx/model_writer.h"
#include "runtime/test_folder.h"

namespace gossamer {
namespace {

namespace fs = std::filesystem;

// x, [2, 3] of an ONNX type; outputs: x twice over, x as f32, that as the type again.
onnx::Message model_of(int type) {
  constexpr int f32 = 1;
  return onnx::model(
      {{onnx::value("x", {"2", "3"}, type)},
       {onnx::node("Concat", {"x", "x"}, {"twice"}, {onnx::attribute("axis", int64_t{0})}),
        onnx::node("Cast", {"x"}, {"numbers"}, {onnx::attribute("to", int64_t{f32})}),
        onnx::node("Cast", {"numbers"}, {"again"}, {onnx::attribute("to", int64_t{type})})},
       {onnx::value("twice", {"4", "3"}, type), onnx::value("numbers", {"2", "3"}, f32),
        onnx::value("again", {"2", "3"}, type)}},
      25);
}

class CAbiTest : public runtime::FolderTest {
 protected:
  std::string package_of(const char* name, int onnx_type) const {
    const std::string below = std::string(name) + "/";
    const onnx::Message model = model_of(onnx_type);
    compiler::Options options;
    options.target = "cpu";
    const auto files = compiler::compile(onnx::bytes_of(model), options);
    EXPECT_TRUE(files) << name << ": " << files.error().to_string();
    if (!files) return folder;
    fs::create_directory(folder + "/" + below);
    for (const package::File& file : *files) put(below + file.name, file.bytes);
    return folder + "/" + name;
  }
};

void expect_none(const char* wrong, const std::string& where) {
  EXPECT_EQ(wrong, nullptr) << where << ": " << wrong;
}

#define GOSSAMER_TYPE(NAME, name, text, kind, bits, onnx)                           \
  TEST_F(CAbiTest, NAME) {                                                          \
    expect_none(check_type(package_of(text, onnx).c_str(), GOSSAMER_##NAME), text); \
  }
GOSSAMER_ELEMENT_TYPES(GOSSAMER_TYPE)
#undef GOSSAMER_TYPE

TEST_F(CAbiTest, BadInputIsAnError) {
  const std::string numbers = package_of("f32", 1), texts = package_of("string", 8);
  expect_none(check_bad_input(numbers.c_str(), texts.c_str()), "bad input");
}

// Of C++, whose enumeration can also hold any number.
TEST_F(CAbiTest, UnknownElementTypesInCpp) {
  constexpr auto unknown = static_cast<ElementType>(200);
  EXPECT_EQ(byte_size(unknown), 0u);
  auto model = load(package_of("f32", 1));
  ASSERT_TRUE(model);
  const Tensor x(unknown, {2, 3}, std::vector<std::byte>(24));
  EXPECT_FALSE(x.data<float>());
  const auto made = model->run({{"x", x}});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("unknown element type"), std::string::npos);
}

}  // namespace
}  // namespace gossamer
