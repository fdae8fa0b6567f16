// A graph as a folder that `gossamer test` reads, and what else must hold of it.
#pragma once

#include <filesystem>

#include "fuzz/grow.h"

namespace gossamer::fuzz {

// model.onnx, graph.txt and test_data_set_0; `expected`: a tensor an output.
Result<> write_files(const Recipe& recipe, const std::vector<ops::TensorData>& expected,
                     const std::filesystem::path& folder);

// The same with what the interpreter says. Errors: the
// interpreter says otherwise of the whole graph than of its nodes.
Result<> write_case(const Recipe& recipe, const Values& values,
                    const std::filesystem::path& folder);

// Compiled twice, the bytes are the same; a kernel's text reads as the kernel it was printed from.
// Models that are refused hold nothing of interest. Errors name the target.
Result<> check_compile(const std::string& onnx, const std::vector<std::string>& targets);

}  // namespace gossamer::fuzz
