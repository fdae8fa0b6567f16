// Test cases on disk: a folder with model.onnx and, beside it, test_data_set_N/ or gold_ort/ that
// hold input_K.pb and output_K.pb (or output_K.sample.json); or an operator file (.jsonc).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gossamer/files/item_file.h"
#include "gossamer/files/model_file.h"
#include "gossamer/files/tensor_file.h"

namespace gossamer::command {

struct TestCase {
  std::string name;  // the data folder, or the file's case, as reached from the folder given
  std::filesystem::path model;  // model.onnx, or an operator file
  std::filesystem::path data;   // the folder of tensors; empty: a case of an operator file
  size_t index = 0;             // of that case in the file
};

// What is known of a large expected output: some of its elements and what all of them sum up to.
struct Sample {
  std::vector<int64_t> shape;
  std::vector<int64_t> index;  // flat; the tensor beside it holds the values, in this order
  double mean = 0, deviation = 0, least = 0, largest = 0;
};
struct Expected {
  NamedTensor tensor;
  std::optional<Sample> sample;
};

// Sequences and optionals are their tensors, one by one.
struct CaseContent {
  ModelFile model;
  std::vector<NamedTensor> inputs;
  std::vector<Expected> expected;
  std::vector<stages::PortGroup> groups;  // of `expected`
};

// Whether a folder beside a model has the name of a data set.
bool is_data_folder(const std::filesystem::path& folder);

// Every case below the folders (or in the operator files given), sorted by name. Errors: a folder
// that is missing, one without cases.
Result<std::vector<TestCase>> find_cases(const std::vector<std::string>& folders);

Result<CaseContent> load_case(const TestCase& test);

// The distinct operators of the case's model, sorted; none where it cannot be read.
std::vector<std::string> operators_of(const TestCase& test);

}  // namespace gossamer::command
