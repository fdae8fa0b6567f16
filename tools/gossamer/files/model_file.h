// A model on disk, read: its bytes, graph, and the constants that the graph refers to.
#pragma once

#include <filesystem>

#include "api/open_model.h"
#include "base/result.h"
#include "graph/graph.h"
#include "onnx/known.h"

namespace gossamer::command {

struct ModelFile {
  std::filesystem::path path;
  std::shared_ptr<onnx::ExternalFiles> external;
  Bytes bytes;
  onnx::Known known;  // what the reader was told, which a compilation must be told too
  graph::Graph graph;
};

// `path` is for errors.
Result<ModelFile> read_model(Bytes bytes, const std::filesystem::path& path,
                             std::shared_ptr<onnx::ExternalFiles> external, onnx::Known known = {});

// Errors name the file where the reader's own do not.
Result<ModelFile> read_model_file(const std::filesystem::path& path, onnx::Known known = {});

// A constant's elements, from the graph, the model file or an external file.
Result<Bytes> constant_bytes(const ModelFile& model, const stages::ConstantSource& source);

}  // namespace gossamer::command
