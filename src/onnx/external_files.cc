#include "onnx/external_files.h"

namespace gossamer::onnx {

Result<Bytes> ExternalFiles::range(const std::string& path, uint64_t offset, uint64_t length) {
  auto found = opened_.find(path);
  if (found == opened_.end()) {
    const auto file = open_(path);
    if (!file)
      return fail(cat("external data \"", path, "\": ", file.error().message), file.error().hint);
    found = opened_.emplace(path, *file).first;
  }
  const Bytes all = found->second;
  if (offset > all.size() || length > all.size() - offset)
    return fail(cat("external data \"", path, "\" has ", all.size(), " bytes, ", length,
                    " are needed from byte ", offset, " on"));
  return all.subspan(offset, length);
}

}  // namespace gossamer::onnx
