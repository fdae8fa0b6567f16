// A model on disk, read: its bytes, graph, and the constants that the graph refers to.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"
#include "gossamer/files.h"
#include "graph/graph.h"
#include "onnx/reader.h"

namespace gossamer::command {

struct ModelFile {
  std::filesystem::path path, folder;
  Bytes bytes;
  // What the reader was told of the inputs, which a compilation must be told too.
  std::map<std::string, int64_t, std::less<>> lengths;
  std::map<std::string, std::vector<int64_t>, std::less<>> shapes;
  graph::Graph graph;
};

// External data lie in `folder`; `path` is for errors.
Result<ModelFile> read_model(Bytes bytes, const std::filesystem::path& path,
                             const std::filesystem::path& folder, onnx::ReadOptions options = {});

// Errors name the file where the reader's own do not.
Result<ModelFile> read_model_file(const std::filesystem::path& path,
                                  onnx::ReadOptions options = {});

// A constant's elements, from the graph, the model file or an external file.
Result<Bytes> constant_bytes(const ModelFile& model, const graph::ConstantSource& source);

}  // namespace gossamer::command
