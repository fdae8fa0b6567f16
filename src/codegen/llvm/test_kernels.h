// Kernels that a test runs.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "codegen/llvm/emit.h"

namespace gossamer::codegen::llvm_ {

// Kernels compiled, linked and loaded into this process.
class Loaded {
 public:
  explicit Loaded(std::vector<ir::Kernel> kernels, const PlanFunction* plan = nullptr,
                  const std::string& cpu = "native") {
    const auto object = emit_object(kernels, plan, {cpu});
    EXPECT_TRUE(object.has_value()) << (object ? "" : object.error().to_string());
    const auto library = link_shared_library(*object);
    EXPECT_TRUE(library.has_value()) << (library ? "" : library.error().to_string());
    char path[] = "/tmp/gossamer-test.XXXXXX";
    const int file = mkstemp(path);
    EXPECT_EQ(write(file, library->data(), library->size()), static_cast<ssize_t>(library->size()));
    close(file);
    handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle_, nullptr) << dlerror();
    unlink(path);
  }
  ~Loaded() { dlclose(handle_); }
  void run(int64_t begin, int64_t end, std::vector<const void*> args, int kernel = 0) {
    using Entry = void (*)(int64_t, int64_t, const void* const*);
    const std::string name = "k" + std::to_string(kernel);
    reinterpret_cast<Entry>(dlsym(handle_, name.c_str()))(begin, end, args.data());
  }
  void* symbol(const char* name) { return dlsym(handle_, name); }

 private:
  void* handle_ = nullptr;
};

}  // namespace gossamer::codegen::llvm_
