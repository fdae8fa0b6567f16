// Files of records (tune/text.h).
#pragma once

#include <filesystem>

#include "base/result.h"
#include "tune/text.h"

namespace gossamer::command {

// Lines that are no records are told on standard error. Errors: no such file.
Result<tune::Recorded> read_records(const std::filesystem::path& file);

}  // namespace gossamer::command
