#include "gossamer/model_file.h"

#include "onnx/reader.h"

namespace gossamer::command {

Result<ModelFile> read_model_file(const std::filesystem::path& path, onnx::Known known) {
  GS_ASSIGN(Bytes bytes, read_file(path));
  return read_model(std::move(bytes), path, path.parent_path(), std::move(known));
}

Result<ModelFile> read_model(Bytes bytes, const std::filesystem::path& path,
                             const std::filesystem::path& folder, onnx::Known known) {
  ModelFile model{path, folder, std::move(bytes), std::move(known), {}};
  onnx::ReadOptions options;
  options.known = model.known;
  options.load_external = [folder = model.folder](const std::string& file, uint64_t offset,
                                                  uint64_t length) -> Result<Bytes> {
    const auto read = read_inside(folder, file);
    // The reader puts its own place in front: the message has to name the file.
    if (!read)
      return fail(cat("external data \"", file, "\": ", read.error().message), read.error().hint);
    const Bytes& all = *read;
    if (offset > all.size() || length > all.size() - offset)
      return fail(cat("external data \"", file, "\" has ", all.size(), " bytes, ", length,
                      " are needed from byte ", offset, " on"));
    const auto begin = all.begin() + static_cast<ptrdiff_t>(offset);
    return Bytes(begin, begin + static_cast<ptrdiff_t>(length));
  };
  auto graph = onnx::read_model(model.bytes, options);
  if (!graph) {
    Diagnostic error = graph.error();
    if (error.where.empty()) error.where = path.string();
    return std::unexpected(std::move(error));
  }
  model.graph = std::move(*graph);
  return model;
}

Result<Bytes> constant_bytes(const ModelFile& model, const graph::ConstantSource& source) {
  if (source.file < 0) return source.bytes;
  const auto cut = [&](const Bytes& all) -> Result<Bytes> {
    if (source.offset > all.size() || source.length > all.size() - source.offset)
      return fail("a constant's data lie beyond the end of their file");
    const auto begin = all.begin() + static_cast<ptrdiff_t>(source.offset);
    return Bytes(begin, begin + static_cast<ptrdiff_t>(source.length));
  };
  if (source.file == 0) return cut(model.bytes);
  const auto index = static_cast<size_t>(source.file) - 1;
  GS_CHECK(index < model.graph.files.size(), "file ", source.file, " of a constant");
  GS_ASSIGN(const Bytes all, read_inside(model.folder, model.graph.files[index]));
  return cut(all);
}

}  // namespace gossamer::command
