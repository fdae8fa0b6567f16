// C++ counterpart of tests/shared.mjs: models and test cases that are not part of this repository.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace gossamer::onnx {

// A path below the shared test data, relative to the source root, in which tests run. Nothing
// exists there when GOSSAMER_SHARED is "none" or the folder is absent.
inline std::filesystem::path testdata(const std::string& part = "") {
  std::string folder;
  if (const char* chosen = std::getenv("GOSSAMER_SHARED")) {
    folder = chosen == std::string("none") ? "tests/none" : chosen;
  } else {
    std::ifstream("tests/shared.txt") >> folder;
  }
  return std::filesystem::path(folder) / "testdata" / part;
}

}  // namespace gossamer::onnx
