#include "gossamer/judge/verdict_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "api/files.h"
#include "gossamer/judge/case_key.h"
#include "package/sha256.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

// A line is KEY PACKAGE_KEY SUM JSON, with one space between.
constexpr size_t key_digits = KeyBuilder::digits, sum_digits = 16;
constexpr size_t package_at = key_digits + 1, sum_at = package_at + key_digits + 1,
                 json_at = sum_at + sum_digits + 1;

std::string sum_of(std::string_view keys, std::string_view json) {
  const std::string text = cat(keys, json);
  return package::sha256(std::as_bytes(std::span(text))).substr(0, sum_digits);
}

// Of the line that begins there, "" where it is too short.
std::string_view key_at(std::string_view text, size_t at) {
  return text.substr(at).size() < json_at ? std::string_view() : text.substr(at, key_digits);
}

std::string text_of(const fs::path& file) { return read_text(file).value_or(""); }

// Two processes may find the file too long at a time.
void retire(const fs::path& folder, const fs::path& now, const fs::path& old, uint64_t limit) {
  std::error_code error;
  const auto long_enough = [&] {
    const uint64_t size = fs::file_size(now, error);
    return !error && size > limit;
  };
  if (!long_enough()) return;
  const int lock = ::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) return;
  if (flock(lock, LOCK_EX) == 0 && long_enough()) fs::rename(now, old, error);
  ::close(lock);
}

}  // namespace

Result<VerdictStore> VerdictStore::open(const fs::path& folder, const std::string& name,
                                        uint64_t limit) {
  const fs::path now = folder / (name + ".new"), old = folder / (name + ".old");
  retire(folder, now, old, limit);
  const int file = ::open(now.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return fail_at(now.string(), cat("cannot be written: ", std::strerror(errno)));
  std::string text = text_of(old);
  text += '\n';  // after a last line that was cut off
  const size_t old_bytes = text.size();
  text += text_of(now);
  return VerdictStore(std::move(text), old_bytes, file);
}

VerdictStore::VerdictStore(std::string text, size_t old_bytes, int file)
    : text_(std::move(text)), old_bytes_(old_bytes), file_(file) {
  for (size_t at = 0; at < text_.size();) {
    lines_.push_back(at);
    const size_t end = text_.find('\n', at);
    at = end == std::string::npos ? text_.size() : end + 1;
  }
  std::ranges::sort(lines_, {}, [this](size_t at) { return std::pair(key_at(text_, at), at); });
}

VerdictStore::VerdictStore(VerdictStore&& other) noexcept
    : text_(std::move(other.text_)),
      old_bytes_(other.old_bytes_),
      lines_(std::move(other.lines_)),
      file_(std::exchange(other.file_, -1)) {}

VerdictStore::~VerdictStore() {
  if (file_ >= 0) ::close(file_);
}

// The last whole line of the key that begins at byte `from` or later; "" where there is none.
std::string_view VerdictStore::line_of(std::string_view key, size_t from) const {
  const auto found =
      std::ranges::equal_range(lines_, key, {}, [this](size_t at) { return key_at(text_, at); });
  for (auto at = found.end(); at != found.begin() && *--at >= from;) {
    const size_t end = std::min(text_.find('\n', *at), text_.size());
    const std::string_view line = std::string_view(text_).substr(*at, end - *at);
    if (line.size() <= json_at || line[json_at - 1] != ' ') continue;
    const std::string sum = sum_of(line.substr(0, sum_at), line.substr(json_at));
    if (line.substr(sum_at, sum_digits) == sum) return line;
  }
  return {};
}

std::optional<StoredVerdict> VerdictStore::find(std::string_view key) const {
  if (key.size() != key_digits) return std::nullopt;
  const std::string_view line = line_of(key, 0);
  if (line.empty()) return std::nullopt;
  auto verdict = verdict_from_json(std::string(line.substr(json_at)));
  if (!verdict || verdict->status != Verdict::pass) return std::nullopt;
  return StoredVerdict{*std::move(verdict), std::string(line.substr(package_at, key_digits))};
}

void VerdictStore::add(std::string_view key, std::string_view package_key, const Verdict& verdict) {
  if (key.size() != key_digits || !line_of(key, old_bytes_).empty()) return;
  const std::string keys = cat(key, " ", package_key, " "), json = to_json(verdict);
  const std::string line = cat(keys, sum_of(keys, json), " ", json, "\n");
  // One call, so that lines of two processes do not mix.
  [[maybe_unused]] const ssize_t written = write(file_, line.data(), line.size());
}

}  // namespace gossamer::command
