// The files beside a model that hold its external data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "onnx/wire.h"

namespace gossamer::onnx {

// The path with / between its parts and without ".", ".." and empty ones, so that "./w.bin" and
// "data/../w.bin" name one file. Nothing for a path that is absolute or leaves the folder; links
// are for the opener to check.
std::optional<std::string> normal_path(std::string_view path);

// "a", "b", "c" and 5 others.
std::string quoted_names(std::span<const std::string> names);

// Opens each file once, when its first range is asked for.
class ExternalFiles {
 public:
  // A whole file, by its normal path from the model's folder; the bytes stay as long as the
  // function does.
  using Open = std::function<Result<Bytes>(const std::string& path)>;
  // Called with bytes of an opened file that may leave memory until they are read again.
  using Release = std::function<void(Bytes bytes)>;
  explicit ExternalFiles(Open open, Release release = {})
      : open_(std::move(open)), release_(std::move(release)) {}
  ExternalFiles(const ExternalFiles&) = delete;
  ExternalFiles& operator=(const ExternalFiles&) = delete;

  // Adds to the files that the model refers to, which errors list.
  void expect(std::string path) { expected_.insert(std::move(path)); }
  // `length` bytes from byte `offset` on, a view that stays as long as this object. Errors, which
  // name the file: those of opening it, a range beyond its end.
  Result<Bytes> range(const std::string& path, uint64_t offset, uint64_t length);
  // Says that `bytes`, which may be anybody's, are not read soon.
  void release(Bytes bytes) const;
  // Those that were asked for and are there, by their paths.
  const std::map<std::string, Bytes, std::less<>>& opened() const { return opened_; }

 private:
  Open open_;
  Release release_;
  std::set<std::string, std::less<>> expected_;
  std::map<std::string, Bytes, std::less<>> opened_;
};

}  // namespace gossamer::onnx
