// The package that tests of models are written for, by hand, and what they do with it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "package/write.h"
#include "runtime/model.h"
#include "runtime/test_folder.h"

#define EXPECT_SAYS(text, piece) EXPECT_NE((text).find(piece), std::string::npos) << (text)

namespace gossamer::runtime {

// y[i] = x[i] + w[i % 4] for x of length n, a multiple of 4; w is doubled at load.
struct Example {
  package::Module module;
  std::vector<std::byte> code;
  package::File weights;
};

Example make_example();

class ModelTest : public FolderTest {
 protected:
  // Writes the package, its manifest changed by replacing a piece of text.
  void put_package(const std::string& from = {}, const std::string& to = {});
  std::string error_of_load();
  // 0, 10, 20, ...
  static HostTensor ramp(int64_t count);
  // What the package makes of ramp(count).
  static void expect_sum(const HostTensor& y, int64_t count);
};

}  // namespace gossamer::runtime
