// Compiles a model once for its cases with open dimensions, each of which runs in a process of its
// own (isolate.h): what the first one makes lies in a folder for the others.
#pragma once

#include <filesystem>
#include <functional>
#include <set>

#include "api/files.h"
#include "gossamer/judge/cases.h"
#include "gossamer/runners/runner.h"

namespace gossamer::command {

class CompiledOnce {
 public:
  static Result<CompiledOnce> create(const std::vector<TestCase>& cases);

  // What `compile` makes of the model of a case with nothing known of its inputs, in one of several
  // forms. Cases may give other inputs: defaults, optional ones, sequences of another length.
  // Errors: its own.
  Result<package::Files> files(const TestCase& test, const std::vector<Port>& inputs,
                               std::string_view form,
                               const std::function<Result<package::Files>()>& compile) const;

 private:
  explicit CompiledOnce(TemporaryFolder folder) : folder_(std::move(folder)) {}

  TemporaryFolder folder_;
  std::set<std::filesystem::path> shared_;  // models of several cases
};

}  // namespace gossamer::command
