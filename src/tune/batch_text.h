// What a planner and the devices that measure for it tell each other where they are not one
// process: JSON objects, a line each.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "tune/bench.h"

namespace gossamer::tune {

// {"adapter", "runMs", "turnSeconds", "spent": [compiling, loading, measuring],
// "kernels": [{"kernel", "key", "class", "schedule", "ms", "share"}]}
std::string to_json(const Survey& survey);
// `seen`: of the same model compiled the same way, without times. Errors: it is of others.
Result<Survey> read_survey(std::string_view text, Survey seen);

// {"number", "kind": "points", "comparison", "layouts" or "survey", "layouts": [{"key", "class",
// "layout"}], "others": the same, "best": [{"key", "class", "point"}], "challengers": the same}
std::string to_json(const Batch& batch);
Result<Batch> read_batch(std::string_view text);

// {"number", "turnSeconds", "spent", "runBefore": [ms], "runAfter": [ms],
// "points": [{"before": [ms], "after": [ms], "shares": [before, after]} or {"failed"}]}, with
// "failed" of layouts that did, "survey" where one was asked for.
std::string to_json(const Measurement& measurement, int number);
struct Answer {
  int number = 0;  // of the batch
  Measurement measurement;
};
// `surveyed`: the kernels that a survey is of, where one was asked for.
Result<Answer> read_measurement(std::string_view text,
                                const std::vector<compiler::KernelReport>& surveyed = {});

}  // namespace gossamer::tune
