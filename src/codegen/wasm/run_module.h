// For tests only: executes emitted modules under node and validates them with wabt where it is
// installed.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "codegen/wasm/emit.h"

namespace gossamer::codegen::wasm {

using Memory = std::vector<std::byte>;

struct Job {
  std::string entry;  // "k0", "plan"
  std::vector<Memory> buffers;
  std::vector<int32_t> scalars;
  int64_t range = 1;
};

template <class T>
Memory memory_of(const std::vector<T>& values) {
  Memory memory(values.size() * sizeof(T));
  std::memcpy(memory.data(), values.data(), memory.size());
  return memory;
}

template <class T>
std::vector<T> values_of(const Memory& memory) {
  std::vector<T> values(memory.size() / sizeof(T));
  std::memcpy(values.data(), memory.data(), memory.size());
  return values;
}

inline void write_file(const std::string& path, const void* data, size_t size) {
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}

// Runs every job once and leaves the buffers as they are then.
inline void run_jobs(const std::vector<std::byte>& module, std::vector<Job>& jobs) {
  char folder[] = "/tmp/gossamer-wasm-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string dir = folder;
  std::string list = "[";
  Memory input;
  for (const Job& job : jobs) {
    if (list.size() > 1) list += ",";
    list +=
        "{\"name\":\"" + job.entry + "\",\"range\":" + std::to_string(job.range) + ",\"buffers\":[";
    for (size_t k = 0; k < job.buffers.size(); ++k) {
      list += (k ? "," : "") + std::to_string(job.buffers[k].size());
      input.insert(input.end(), job.buffers[k].begin(), job.buffers[k].end());
    }
    list += "],\"scalars\":[";
    for (size_t k = 0; k < job.scalars.size(); ++k)
      list += (k ? "," : "") + std::to_string(job.scalars[k]);
    list += "]}";
  }
  list += "]";
  write_file(dir + "/module.wasm", module.data(), module.size());
  write_file(dir + "/jobs.json", list.data(), list.size());
  write_file(dir + "/in.bin", input.data(), input.size());
  auto run = [](const std::string& command) { return std::system(command.c_str()); };
  if (run("command -v wasm-validate > /dev/null") == 0) {
    EXPECT_EQ(run("wasm-validate --enable-relaxed-simd " + dir + "/module.wasm"), 0) << dir;
  }
  ASSERT_EQ(run("node --experimental-wasm-relaxed-simd src/codegen/wasm/run_module.mjs " + dir), 0)
      << dir;
  std::ifstream stream(dir + "/out.bin", std::ios::binary);
  for (Job& job : jobs) {
    for (Memory& buffer : job.buffers) {
      stream.read(reinterpret_cast<char*>(buffer.data()),
                  static_cast<std::streamsize>(buffer.size()));
    }
  }
  run("rm -r " + dir);
}

}  // namespace gossamer::codegen::wasm
