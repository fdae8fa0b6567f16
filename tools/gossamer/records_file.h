// Records of points of search spaces, as a file has them.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "schedule/choice.h"
#include "tune/tuner.h"

namespace gossamer::command {

// A record a line: {"key": "...", "class": "wasm", "point": "contraction rows=4"}; other members
// are left alone. Key, class and points are those of `gossamer inspect --space`. The last one of a
// key and class counts. Lines with a "trial" in place of the point are a search's (`gossamer
// tune`). Lines that are no records are told on standard error and left out. Errors: no such file.
Result<schedule::Records> read_records(const std::filesystem::path& file);

// What searches have measured, as `gossamer tune` writes it; of any adapter.
Result<std::vector<tune::Trial>> read_trials(const std::filesystem::path& file);

// A line of such a file: a measured point, or, with `best`, one to take.
std::string trial_line(const tune::Trial& trial, const std::string& kernel, bool best);

}  // namespace gossamer::command
