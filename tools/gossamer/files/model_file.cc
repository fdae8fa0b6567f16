#include "gossamer/files/model_file.h"

#include "onnx/reader.h"

namespace gossamer::command {

Result<ModelFile> read_model_file(const std::filesystem::path& path, onnx::Known known) {
  GS_ASSIGN(OpenedModel model, gossamer::open_model(path));
  return read_model(std::move(model.bytes), path, std::move(model.external), std::move(known));
}

Result<ModelFile> read_model(Bytes bytes, const std::filesystem::path& path,
                             std::shared_ptr<onnx::ExternalFiles> external, onnx::Known known) {
  ModelFile model{path, std::move(external), std::move(bytes), std::move(known), {}};
  onnx::ReadOptions options;
  options.known = model.known;
  options.external = model.external.get();
  auto graph = onnx::read_model(model.bytes, options);
  if (!graph) {
    Diagnostic error = graph.error();
    if (error.where.empty()) error.where = path.string();
    return std::unexpected(std::move(error));
  }
  model.graph = std::move(*graph);
  return model;
}

Result<Bytes> constant_bytes(const ModelFile& model, const stages::ConstantSource& source) {
  if (source.file < 0) return source.bytes;
  std::span<const std::byte> bytes;
  if (source.file == 0) {
    if (source.offset > model.bytes.size() || source.length > model.bytes.size() - source.offset)
      return fail("a constant's data lie beyond the end of their file");
    bytes = std::span(model.bytes).subspan(source.offset, source.length);
  } else {
    const auto index = static_cast<size_t>(source.file) - 1;
    GS_CHECK(model.external && index < model.graph.files.size(), "file ", source.file,
             " of a constant");
    GS_ASSIGN(bytes, model.external->range(model.graph.files[index], source.offset, source.length));
  }
  return Bytes(bytes.begin(), bytes.end());
}

}  // namespace gossamer::command
