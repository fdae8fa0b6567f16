// A test with a folder of its own, which goes away with it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace gossamer::runtime {

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    char pattern[] = "/tmp/gossamer-test.XXXXXX";
    folder = mkdtemp(pattern);
  }
  ~FolderTest() override { std::filesystem::remove_all(folder); }

  // `name` may lie in a folder below, which is there.
  void put(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream(std::filesystem::path(folder) / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  std::string folder;
};

}  // namespace gossamer::runtime
