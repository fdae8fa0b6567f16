#include "base/target.h"

#include <gtest/gtest.h>

namespace gossamer {
namespace {

TEST(Target, RowsAreFoundByKindAndName) {
  for (const Target& row : all_targets()) {
    EXPECT_EQ(target_of(row.kind).name, row.name);
    EXPECT_EQ(*target_named(row.name), row.kind);
    EXPECT_FALSE(is_gpu(side_of(row.kind))) << row.name;
  }
  EXPECT_EQ(all_targets().size(), target_names().size());
}

TEST(Target, AnotherNameIsRefusedWithThoseThereAre) {
  const auto unknown = target_named("cuda");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().to_string().find("webgpu, webgl, wasm, cpu"), std::string::npos);
}

}  // namespace
}  // namespace gossamer
