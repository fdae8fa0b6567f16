// Writes constants into files of limited size, which are named by their content.
#include <xxhash.h>

#include <algorithm>
#include <utility>

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

// Sets the hashes of a file, whose bytes are read once, piece by piece.
void hash(File& file, const WeightOptions& options) {
  Sha256 whole, piece;
  XXH3_state_t xxh3;
  XXH3_64bits_reset(&xxh3);
  const bool pieces = options.pieces && file.size > piece_bytes;
  uint64_t in_piece = 0;
  const auto end_piece = [&] {
    if (pieces) file.pieces.push_back(std::exchange(piece, Sha256()).finish());
    in_piece = 0;
  };
  file.each([&](std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto now = bytes.first(std::min<uint64_t>(bytes.size(), piece_bytes - in_piece));
      whole.add(now);
      XXH3_64bits_update(&xxh3, now.data(), now.size());
      if (pieces) piece.add(now);
      in_piece += now.size();
      if (in_piece == piece_bytes) end_piece();
      if (options.on_read) options.on_read(now);
      bytes = bytes.subspan(now.size());
    }
  });
  if (in_piece > 0) end_piece();
  file.sha256 = whole.finish();
  file.xxh3 = hash_text(XXH3_64bits_digest(&xxh3));
}

}  // namespace

Result<WeightFiles> write_weights(std::span<const Constant> constants,
                                  const WeightOptions& options) {
  WeightFiles result;
  result.file_of.resize(constants.size());
  Together large, small;
  for (size_t at = 0; at < constants.size(); ++at)
    (options.shared && constants[at].size() >= least_shared ? large : small).push_back(at);
  const std::vector<Together> above = split(constants, large, options.most);
  const std::vector<Together> own = split(constants, small, options.most);
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
      const bool here = std::ranges::all_of(
          file.parts, [](const FilePart& part) { return part.range.file.empty(); });
      if (here) {
        hash(file, options);
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
