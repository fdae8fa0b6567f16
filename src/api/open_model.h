// Models on disk, of whatever format: as an ONNX model and the files that its weights are in.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "api/files.h"

namespace gossamer {

struct OpenedModel {
  Bytes bytes;  // an ONNX model
  std::shared_ptr<onnx::ExternalFiles> external;
};

// Whether a folder holds config.json and safetensors files, and not a compiled package.
bool is_model_folder(const std::filesystem::path& path);
// Another folder, which commands take for a compiled package.
bool is_compiled(const std::filesystem::path& path);

// `path`: an ONNX file, or a language model: a GGUF file, or a folder with config.json and
// safetensors files, whose matrices are stored as `dtype` says (safetensors::precision_named) once
// the first weight is read. Errors, which name the file: those of reading it; a dtype for another
// format.
Result<OpenedModel> open_model(const std::filesystem::path& path, std::string_view dtype = {});

}  // namespace gossamer
