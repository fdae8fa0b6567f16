// Of target cpu.
#include <gtest/gtest.h>

#include "shipped/shipped.h"

namespace gossamer::shipped {
namespace {

using Names = std::vector<std::string_view>;

Names classes(const char* target, const char* cpu, std::string_view device_class) {
  compiler::Options options;
  options.target = target;
  options.cpu = cpu;
  return *classes_for(options, device_class);
}

TEST(ShippedForProcessors, ByTheirVectors) {
  EXPECT_EQ(classes("cpu", "x86-64-v4", ""), (Names{"avx512"}));
  EXPECT_EQ(classes("cpu", "x86-64-v2", ""), Names{});
  EXPECT_EQ(classes("cpu", "x86-64-v4", "avx2"), (Names{"avx2"}));
  EXPECT_EQ(classes("opencl", "x86-64-v4", ""), (Names{"avx512", "pocl"}));
  EXPECT_EQ(classes("opengl", "haswell", "nvidia"), (Names{"nvidia", "avx2", "llvmpipe"}));
}

}  // namespace
}  // namespace gossamer::shipped
