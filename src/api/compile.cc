// The public C++ API over compiler::compile.
#include "gossamer/compile.hpp"

#include "api/files.h"
#include "api/open_model.h"
#include "compiler/compile.h"
#include "gguf/reader.h"
#include "gguf/texts.h"
#include "runtime/api/element_type.h"
#include "runtime/device_here.h"
#include "runtime/mapped_file.h"
#include "shipped/shipped.h"

namespace gossamer {
namespace {

template <class T>
std::expected<T, Error> told(Result<T> result) {
  if (!result)
    return std::unexpected(
        Error{result.error().where, result.error().message, result.error().hint});
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return *std::move(result);
  }
}

Result<Package> compile_with(std::span<const std::byte> onnx, const CompileOptions& options,
                             onnx::ExternalFiles* external) {
  compiler::Options given;
  given.target = options.target;
#define GS_WORDS(...)
#define GS_OPTION(Type, name, initial, choices, help) given.name = options.name;
#include "gossamer/options.def"
  GS_ASSIGN(const TargetKind target, target_named(options.target));
  if (options.side != "wasm" && (options.side != "cpu" || !is_gpu_of_pages(target)))
    return fail_at(cat("side \"", options.side, "\""),
                   cat("target ", options.target, " has none of it"),
                   "\"wasm\", or \"cpu\" for webgpu and webgl in native programs");
  given.native_side = options.side == "cpu";
  records::Records records;
  const bool here = !target_of(target).pages || given.native_side;
  GS_TRY(shipped::add_to(records, given, options.device_class,
                         [&] { return here ? runtime::device_here(options.target) : ""; }));
  given.records = &records;
  given.known.shapes.insert(options.shapes.begin(), options.shapes.end());
  given.known.dims.insert(options.dims.begin(), options.dims.end());
  given.known.kept.insert(options.keep_inputs.begin(), options.keep_inputs.end());
  given.known.lengths.insert(options.lengths.begin(), options.lengths.end());
  for (const auto& [name, tensor] : options.constants) {
    const auto dtype = runtime::dtype_of(tensor.type());
    if (!dtype)
      return fail(cat("the constant of input \"", name, "\" has an unknown element type"));
    given.known.constants[name] = {
        *dtype, tensor.shape(), {tensor.bytes().begin(), tensor.bytes().end()}, tensor.strings()};
  }
  given.progress = options.progress;
  given.external = external;
  // A message's fields may stand in any order.
  Bytes joined;
  if (!options.functions.empty()) {
    joined.assign(onnx.begin(), onnx.end());
    joined.insert(joined.end(), options.functions.begin(), options.functions.end());
    onnx = joined;
  }
  GS_ASSIGN(package::Files files, compiler::compile(onnx, given));
  Package package;
  for (package::File& file : files)
    package.files.push_back({std::move(file.name), std::move(file.bytes)});
  return package;
}

Result<> write_to(const Package& package, const std::string& folder) {
  package::Files files;
  for (const Package::File& file : package.files)
    files.push_back(package::file_of_view(file.name, file.bytes));
  return write_package(folder, files);
}

}  // namespace

std::expected<void, Error> Package::write(const std::string& folder) const {
  return told(write_to(*this, folder));
}

std::expected<Package, Error> compile(std::span<const std::byte> bytes,
                                      const CompileOptions& options) {
  if (!gguf::is_gguf(bytes)) return told(compile_with(bytes, options, nullptr));
  const auto compile_gguf = [&] -> Result<Package> {
    const std::string location = "model.gguf";
    GS_ASSIGN(gguf::File file, gguf::parse(bytes, bytes.size()));
    GS_TRY(gguf::parts_of(file, location));  // there is no other one
    GS_ASSIGN(const std::string model, gguf::to_onnx({{location, std::move(file)}}));
    onnx::ExternalFiles external(
        [&](const std::string&) -> Result<std::span<const std::byte>> { return bytes; });
    return compile_with(std::as_bytes(std::span(model)), options, &external);
  };
  return told(compile_gguf());
}

std::expected<Package, Error> compile_file(const std::string& path, const CompileOptions& options) {
  const auto model = open_model(path, options.dtype);
  if (!model) return told(Result<Package>(std::unexpected(model.error())));
  auto package = compile_with(model->bytes, options, model->external.get());
  if (!package && package.error().where.empty()) package.error().where = path;
  return told(std::move(package));
}

std::expected<std::map<std::string, std::string>, Error> texts_of_gguf(const std::string& path) {
  const auto read = [&] -> Result<std::map<std::string, std::string>> {
    GS_ASSIGN(const runtime::MappedFile model, runtime::MappedFile::open(path));
    GS_ASSIGN(const gguf::File file, gguf::parse(model.bytes(), model.bytes().size()));
    GS_ASSIGN(auto texts, gguf::texts_of(file));
    return std::map<std::string, std::string>(std::make_move_iterator(texts.begin()),
                                              std::make_move_iterator(texts.end()));
  };
  auto texts = read();
  if (!texts && texts.error().where.empty()) texts.error().where = path;
  return told(std::move(texts));
}

// A run time maps files; what it has mapped stays when the folder goes.
std::expected<Model, Error> load(const Package& package, const LoadOptions& options) {
  const auto folder = TemporaryFolder::create();
  if (!folder) return std::unexpected(Error{folder.error().where, folder.error().message, ""});
  const std::string place = (folder->path() / "package").string();
  if (auto written = package.write(place); !written) return std::unexpected(written.error());
  return load(place, options);
}

}  // namespace gossamer
