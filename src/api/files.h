// Whole files and folders, with errors that name them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "onnx/external_files.h"
#include "package/package.h"

namespace gossamer {

using Bytes = std::vector<std::byte>;

// Errors: missing, a folder, unreadable, larger than `limit`.
Result<Bytes> read_file(const std::filesystem::path& path, uint64_t limit = uint64_t{1} << 40);
Result<std::string> read_text(const std::filesystem::path& path);
// Without their ends, be these of one character or two.
std::vector<std::string> lines_of(const std::string& text);
Result<> write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

// External data of a model in `folder`, mapped: relative names that stay inside it, links resolved.
std::shared_ptr<onnx::ExternalFiles> external_files(const std::filesystem::path& folder);

// Writes the files into a folder that may hold others, each whole or as it was before.
Result<> write_files(const std::filesystem::path& folder, const package::Files& files);

// Writes the files to a temporary sibling and renames it into place, so that a folder is either the
// whole new package or what was there before. Replaces only a folder that is empty or a package.
// `external`: whose views the files have; what is written leaves memory.
Result<> write_package(const std::filesystem::path& folder, const package::Files& files,
                       const onnx::ExternalFiles* external = nullptr);

// The files of a folder that write_package wrote, by name.
Result<package::Files> read_package(const std::filesystem::path& folder);

// A fresh folder under the system's temporary directory, removed with everything in it at the end.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> create();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace gossamer
