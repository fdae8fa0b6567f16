#include "onnx/external_files.h"

#include "onnx/file_kind.h"

namespace gossamer::onnx {

std::optional<std::string> normal_path(std::string_view path) {
  if (path.starts_with('/') || path.starts_with('\\') || path.contains('\0') || path.contains(':'))
    return std::nullopt;
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find_first_of("/\\"));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part == ".." && parts.empty()) return std::nullopt;
    if (part == "..")
      parts.pop_back();
    else
      parts.push_back(part);
  }
  std::string joined;
  for (const std::string_view part : parts) joined += cat(joined.empty() ? "" : "/", part);
  return joined.empty() ? std::nullopt : std::optional(joined);
}

std::string quoted_names(std::span<const std::string> names) {
  constexpr size_t most = 8;
  std::string text;
  for (size_t at = 0; at < names.size() && at < most; ++at)
    text += cat(at ? ", " : "", "\"", names[at], "\"");
  return names.size() > most ? cat(text, " and ", names.size() - most, " others") : text;
}

Result<Bytes> ExternalFiles::range(const std::string& path, uint64_t offset, uint64_t length) {
  auto found = opened_.find(path);
  if (found == opened_.end()) {
    const auto file = open_(path);
    if (!file) {
      const std::vector<std::string> wanted(expected_.begin(), expected_.end());
      const std::string& hint = file.error().hint;
      return fail(cat("external data \"", path, "\": ", file.error().message),
                  wanted.empty() ? hint
                                 : cat("the model wants ", quoted_names(wanted),
                                       hint.empty() ? "" : "; ", hint));
    }
    if (const auto other = other_kind(*file); other && other->any)
      return fail(cat("external data \"", path, "\" is ", other->what, ", not weights"),
                  other->hint);
    found = opened_.emplace(path, *file).first;
  }
  const Bytes all = found->second;
  if (offset > all.size() || length > all.size() - offset)
    return fail(cat("external data \"", path, "\" has ", all.size(), " bytes, ", length,
                    " are needed from byte ", offset, " on"),
                "the file is truncated, or another model's");
  return all.subspan(offset, length);
}

void ExternalFiles::release(Bytes bytes) const {
  if (!release_) return;
  for (const auto& [path, all] : opened_) {
    const std::less<> before;
    if (before(bytes.data(), all.data()) ||
        before(all.data() + all.size(), bytes.data() + bytes.size()))
      continue;
    // Reading may have brought pages before these, too.
    const auto at = static_cast<size_t>(bytes.data() - all.data());
    const size_t more = std::min(at, size_t{1} << 22);
    return release_(all.subspan(at - more, bytes.size() + more));
  }
}

}  // namespace gossamer::onnx
