#include "gossamer/records_file.h"

#include <cstdio>

#include "api/files.h"

namespace gossamer::command {

Result<tune::Recorded> read_records(const std::filesystem::path& file) {
  GS_ASSIGN(const std::string text, read_text(file.string()));
  tune::Recorded read = tune::read_records(text, file.string());
  for (const Diagnostic& one : read.left_out)
    std::fprintf(stderr, "gossamer: left out: %s\n", one.to_string().c_str());
  return read;
}

}  // namespace gossamer::command
