// The files beside a model that hold its external data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "onnx/wire.h"

namespace gossamer::onnx {

// Opens each file once, when its first range is asked for.
class ExternalFiles {
 public:
  // A whole file, by its path from the model's folder; the bytes stay as long as the function does.
  using Open = std::function<Result<Bytes>(const std::string& path)>;
  explicit ExternalFiles(Open open) : open_(std::move(open)) {}
  ExternalFiles(const ExternalFiles&) = delete;
  ExternalFiles& operator=(const ExternalFiles&) = delete;

  // `length` bytes from byte `offset` on, a view that stays as long as this object. Errors, which
  // name the file: those of opening it, a range beyond its end.
  Result<Bytes> range(const std::string& path, uint64_t offset, uint64_t length);
  // Those that were asked for and are there, by their paths.
  const std::map<std::string, Bytes, std::less<>>& opened() const { return opened_; }

 private:
  Open open_;
  std::map<std::string, Bytes, std::less<>> opened_;
};

}  // namespace gossamer::onnx
