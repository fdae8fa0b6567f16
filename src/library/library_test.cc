#include <gtest/gtest.h>

#include "library/encode.h"
#include "library/header.h"
#include "runtime/embedded/program.h"

namespace gossamer::library {
namespace {

package::Module module_with(const std::string& input, const std::string& output) {
  package::Module module;
  module.name = "m */ evil";
  module.target = TargetKind::cpu;
  module.tensors = {{"a", ir::DType::f32, ir::DType::f32, 6, 0},
                    {"b", ir::DType::f32, ir::DType::f32, 6, 1}};
  module.slots.resize(2);
  for (package::Slot& slot : module.slots) slot.bytes = 24;
  module.inputs = {{input, ir::DType::f32, {2, 3}, {"", ""}, 0}};
  module.outputs = {{output, ir::DType::f32, {2, 3}, {}, 1}};
  return module;
}

TEST(Library, NamesAreIdentifiers) {
  EXPECT_EQ(identifier_of("digits"), "digits");
  EXPECT_EQ(identifier_of("Net-3 (v2).onnx"), "Net_3_v2_onnx");
  EXPECT_EQ(identifier_of("2d__conv/"), "model_2d_conv");
  EXPECT_EQ(identifier_of("double"), "double_model");
  EXPECT_EQ(identifier_of("..."), "model");
}

// Fields that would be one, and text that would end a comment.
TEST(Library, HeaderKeepsNamesApart) {
  const package::Module module = module_with("x", "x_bytes");
  const auto encoded = encode(module, {}, false);
  ASSERT_TRUE(encoded) << encoded.error().to_string();
  const std::string header = header_of(module, *encoded, {"m", "a machine"});
  EXPECT_NE(header.find("const float* x;"), std::string::npos) << header;
  EXPECT_NE(header.find("float* x_bytes_2;"), std::string::npos) << header;
  EXPECT_NE(header.find("#define M_X_ELEMENTS 6"), std::string::npos) << header;
  EXPECT_EQ(header.find("*/ evil"), std::string::npos) << header;
}

TEST(Library, DynamicMemoryIsToldAndRefusesNothing) {
  package::Module module = module_with("x", "y");
  module.inputs[0].symbols[0] = "batch";
  module.dims = {{"batch", 0, 0}};
  module.slots[0].bytes = package::Number::plan(0);
  module.plan_values = 1;
  const auto encoded = encode(module, {}, false);
  ASSERT_TRUE(encoded);
  EXPECT_TRUE(encoded->has_dynamic_memory);
  EXPECT_EQ(encoded->dims, std::vector<std::string>{"batch"});
  EXPECT_EQ(encoded->words[GS_DIMS], 1);
  const std::string header = header_of(module, *encoded, {"m", "a machine"});
  EXPECT_NE(header.find("int64_t batch;"), std::string::npos) << header;
  EXPECT_EQ(header.find("m_init_in"), std::string::npos) << header;
}

// A weight is read where it lies unless something else is ever in its slot.
TEST(Library, WeightsAreCopiedOnlyWhereTheyMust) {
  package::Module module = module_with("x", "y");
  module.weights = {{"w", ir::DType::f32, {2, 3}, 2, -1}};
  module.tensors.push_back({"w", ir::DType::f32, ir::DType::f32, 6, 2});
  module.slots.emplace_back().bytes = 24;
  const std::string json = R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
  std::vector<std::byte> stored(8 + json.size() + 24);
  stored[0] = static_cast<std::byte>(json.size());
  std::ranges::copy(std::as_bytes(std::span(json)), stored.begin() + 8);
  const auto kept = encode(module, stored, true);
  ASSERT_TRUE(kept) << kept.error().to_string();
  EXPECT_EQ(kept->words[GS_WEIGHTS], 0);
  EXPECT_NE(kept->words[GS_WEIGHT_SUM], 0);
  EXPECT_EQ(kept->weights.size() % GS_ALIGNMENT, 0u);
  module.tensors.push_back({"later", ir::DType::f32, ir::DType::f32, 6, 2});
  const auto copied = encode(module, stored, false);
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->words[GS_WEIGHTS], 1);
  EXPECT_FALSE(encode(module, {}, false)) << "weights that are not there";
}

}  // namespace
}  // namespace gossamer::library
