// Records of points of search spaces, as a file has them.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "schedule/choice.h"

namespace gossamer::command {

// A record a line: {"key": "...", "class": "wasm", "point": "contraction rows=4"}; other members
// are left alone. Key, class and points are those of `gossamer inspect --space`. Errors name the
// line.
Result<schedule::Records> read_records(const std::filesystem::path& file);

}  // namespace gossamer::command
