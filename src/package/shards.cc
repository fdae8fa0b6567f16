// Writes constants into files of limited size, which are named by their content.
#include <algorithm>

#include "package/sha256.h"
#include "package/write.h"

namespace gossamer::package {
namespace {

// What is smaller may be there for one target only; what is larger is the model's.
constexpr size_t least_shared = 64 * 1024;

// The numbers of constants that lie in one file.
using Together = std::vector<size_t>;

// A constant of more bytes has a group of its own.
std::vector<Together> split(std::span<const Constant> constants, const Together& which,
                            uint64_t most) {
  std::vector<Together> groups;
  uint64_t bytes = 0;
  for (size_t at : which) {
    const uint64_t size = constants[at].size();
    if (groups.empty() || (bytes > 0 && bytes + size > most)) {
      groups.emplace_back();
      bytes = 0;
    }
    groups.back().push_back(at);
    bytes += size;
  }
  return groups;
}

std::vector<std::string> pieces_of(std::span<const std::byte> bytes) {
  std::vector<std::string> pieces;
  for (size_t at = 0; at < bytes.size(); at += piece_bytes)
    pieces.push_back(sha256(bytes.subspan(at, std::min<size_t>(piece_bytes, bytes.size() - at))));
  return pieces;
}

}  // namespace

Result<WeightFiles> write_weights(std::span<const Constant> constants, uint64_t most, bool shared,
                                  bool pieces) {
  WeightFiles result;
  result.file_of.resize(constants.size());
  Together large, small;
  for (size_t at = 0; at < constants.size(); ++at)
    (shared && constants[at].size() >= least_shared ? large : small).push_back(at);
  const std::vector<Together> above = split(constants, large, most);
  const std::vector<Together> own = split(constants, small, most);
  for (const std::vector<Together>* groups : {&above, &own}) {
    for (const Together& group : *groups) {
      std::vector<Constant> chosen;
      for (size_t at : group) {
        chosen.push_back(constants[at]);
        result.file_of[at] = static_cast<int>(result.files.size());
      }
      GS_ASSIGN(File file, write_safetensors(chosen));
      file.above = groups == &above;
      const bool by_hash = file.above || groups->size() > 1;
      if (file.parts.empty()) {
        file.sha256 = sha256(file.bytes);
        file.xxh3 = content_hash(file.bytes);
        if (pieces && file.size > piece_bytes) file.pieces = pieces_of(file.bytes);
        if (by_hash)
          file.name = cat("weights.", std::string_view(file.sha256).substr(0, 16), ".safetensors");
      } else {
        file.sha256 = file.xxh3 = cat("@", result.files.size());
        if (by_hash) file.name = file.sha256;
      }
      result.files.push_back(std::move(file));
    }
  }
  return result;
}

}  // namespace gossamer::package
