// Operator cases in the form of ONNX Runtime Web's: JSON with comments, an array of
// {name, operator, opset, attributes, inputShapeDefinitions, cases: [{name, inputs, outputs}]}.
// Each case becomes a model of one node.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gossamer/judge/cases.h"

namespace gossamer::command {

// The cases' names in the file's order, "TEST/CASE", made distinct by " #2". No names: the file is
// JSON of another form. Errors: not JSON.
Result<std::vector<std::string>> list_operator_cases(const std::filesystem::path& file);

// The operator of case `index`.
std::optional<std::string> operator_of_case(const std::filesystem::path& file, size_t index);

// Case `index` of that list. Errors name the test and what of it is not understood.
Result<CaseContent> load_operator_case(const std::filesystem::path& file, size_t index);

}  // namespace gossamer::command
