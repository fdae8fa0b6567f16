// Compiles models and prints the fingerprints of their packages. suite.mjs runs it.
//
//   fingerprint JOBS TEXTS [--jobs N]
//
// JOBS is a file with one job per line (package_texts.h). For each job, in order, a line is
// printed: `PACKAGE HASH PART=HASH ...`, or `PACKAGE !PROBLEM` if it fails. The texts of the parts
// are written to TEXTS/HASH.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "api/files.h"
#include "fingerprints/package_texts.h"
#include "gossamer/runners/isolate.h"

namespace gossamer::fingerprints {
namespace {

namespace fs = std::filesystem;

constexpr double seconds_per_job = 120;

// Two jobs may write the same text at the same time, so each renames its own temporary file.
Result<> keep_text(const fs::path& folder, const Part& part) {
  std::error_code error;
  const fs::path place = folder / part.hash;
  if (part.text.empty() || fs::exists(place, error)) return {};
  const fs::path temporary = folder / cat(part.hash, ".", getpid());
  const std::string text =
      part.loop_ir.empty() ? part.text : cat(part.loop_ir, "\n# is compiled to\n", part.text);
  GS_TRY(write_file(temporary, std::as_bytes(std::span(text))));
  fs::rename(temporary, place, error);
  if (error) return fail_at(place.string(), cat("cannot be written: ", error.message()));
  return {};
}

Result<std::string> run_job(std::string_view line, const fs::path& texts) {
  GS_ASSIGN(const Job job, parse_job(line));
  GS_ASSIGN(const Fingerprint found, fingerprint_of(job));
  std::string result = found.hash;
  for (const Part& part : found.parts) {
    GS_TRY(keep_text(texts, part));
    result += cat(" ", part.name, "=", part.hash);
  }
  return result;
}

Result<bool> run_all(const fs::path& list, const fs::path& texts, int jobs) {
  GS_ASSIGN(const std::string text, read_text(list));
  const std::vector<std::string> lines = lines_of(text);
  std::error_code error;
  fs::create_directories(texts, error);
  bool good = true;
  command::run_isolated(
      lines.size(), jobs, seconds_per_job,
      [&](size_t at) {
        auto result = run_job(lines[at], texts);
        return result ? *result : cat("!", result.error().to_string());
      },
      [&](size_t at, const command::JobOutcome& outcome) {
        const std::string& line = lines[at];
        std::string result = outcome.finished ? outcome.text : cat("!", outcome.text);
        std::ranges::replace(result, '\n', ' ');
        if (result.starts_with("!")) good = false;
        std::printf("%s %s\n", line.substr(0, line.find('\t')).c_str(), result.c_str());
      });
  return good;
}

int run(int argc, char** argv) {
  int jobs = 1;
  const bool has_jobs = argc == 5 && std::string_view(argv[3]) == "--jobs";
  if (has_jobs) {
    const std::string_view number = argv[4];
    std::from_chars(number.data(), number.data() + number.size(), jobs);
  }
  if ((argc != 3 && !has_jobs) || jobs < 1) {
    std::fprintf(stderr, "usage: fingerprint JOBS TEXTS [--jobs N]\n");
    return 2;
  }
  const auto good = run_all(argv[1], argv[2], jobs);
  if (!good) {
    std::fprintf(stderr, "fingerprint: %s\n", good.error().to_string().c_str());
    return 1;
  }
  return *good ? 0 : 1;
}

}  // namespace
}  // namespace gossamer::fingerprints

int main(int argc, char** argv) { return gossamer::fingerprints::run(argc, argv); }
