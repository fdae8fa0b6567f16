// Passes of earlier runs, by key, in two files of a folder that processes may share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/judge/judge.h"

namespace gossamer::command {

struct StoredVerdict {
  Verdict verdict;
  std::string package_key;  // of the package that ran; the key itself where that is its key
};

// NAME.new takes lines at its end. Once it has more than `limit` bytes it becomes NAME.old, in
// place of the file of that name, and a new one begins: a pass that is not used in that time is
// gone. Lines that are damaged are left out.
class VerdictStore {
 public:
  static constexpr uint64_t usual_limit = 8 << 20;  // bytes

  // Errors: a folder that cannot be written.
  static Result<VerdictStore> open(const std::filesystem::path& folder, const std::string& name,
                                   uint64_t limit = usual_limit);
  VerdictStore(VerdictStore&& other) noexcept;
  VerdictStore& operator=(VerdictStore&&) = delete;
  ~VerdictStore();

  // What the files held when they were opened.
  std::optional<StoredVerdict> find(std::string_view key) const;
  // Adds a line unless NAME.new had the key when it was opened. Keys have KeyBuilder::digits
  // characters. A line that cannot be written is lost.
  void add(std::string_view key, std::string_view package_key, const Verdict& verdict);

 private:
  VerdictStore(std::string text, size_t old_bytes, int file);
  std::string_view line_of(std::string_view key, size_t from) const;

  std::string text_;  // NAME.old and NAME.new
  size_t old_bytes_;
  std::vector<size_t> lines_;  // their first bytes in text_, sorted by key
  int file_;
};

}  // namespace gossamer::command
