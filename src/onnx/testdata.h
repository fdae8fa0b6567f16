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

// Cases of the shared test data in `shared`, or else those of the public onnx package in `own`,
// which tests/conformance/onnx_package.mjs makes. Empty where there are none.
inline std::filesystem::path cases(const std::string& shared, const std::string& own) {
  const std::filesystem::path found[] = {testdata(shared), "third_party/cache/onnx_package/" + own};
  for (const auto& path : found) {
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

}  // namespace gossamer::onnx
