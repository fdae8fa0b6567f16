// Test cases on disk: a folder with model.onnx and, beside it, test_data_set_N/ or gold_ort/ that
// hold input_K.pb and output_K.pb.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "gossamer/tensor_file.h"

namespace gossamer::command {

struct TestCase {
  std::string name;  // the data folder as reached from the folder that was given
  std::filesystem::path model;
  std::filesystem::path data;
};

// Every case below the folders, sorted by name. Errors: a folder that is missing, one without
// cases.
Result<std::vector<TestCase>> find_cases(const std::vector<std::string>& folders);

// input_0.pb, input_1.pb, ... (or "output"); a gap in the numbers is an absent optional one, which
// comes as a tensor of shape {-1}.
Result<std::vector<NamedTensor>> read_numbered(const std::filesystem::path& folder,
                                               const std::string& prefix);

}  // namespace gossamer::command
