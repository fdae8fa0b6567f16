#include "api/open_model.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <list>

#include "base/strings.h"
#include "gguf/reader.h"
#include "runtime/mapped_file.h"
#include "safetensors/reader.h"

namespace gossamer {

namespace fs = std::filesystem;
using runtime::MappedFile;

namespace {

Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Of a language model in a GGUF file, or several, an ONNX model whose weights are ranges of these.
Result<Bytes> read_model_bytes(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return read_file(path);
  const auto mapped = MappedFile::open(path.string());
  if (!mapped || !gguf::is_gguf(mapped->bytes())) return read_file(path);
  GS_ASSIGN(gguf::File first, gguf::parse(mapped->bytes(), mapped->bytes().size()));
  GS_ASSIGN(const auto names, gguf::parts_of(first, path.filename().string()));
  std::vector<gguf::Part> parts = {{names[0], std::move(first)}};
  std::list<MappedFile> others;
  for (const std::string& name : std::span(names).subspan(1)) {
    auto other = MappedFile::open((path.parent_path() / name).string());
    if (!other)
      return fail(cat("the model has ", names.size(), " parts, and ", name,
                      " cannot be read: ", other.error().message),
                  "download it into the same folder");
    const auto bytes = others.emplace_back(*std::move(other)).bytes();
    auto file = gguf::parse(bytes, bytes.size());
    if (!file) {
      file.error().where = name;
      return std::unexpected(std::move(file.error()));
    }
    parts.push_back({name, *std::move(file)});
  }
  GS_ASSIGN(const std::string model, gguf::to_onnx(parts));
  return bytes_of(model);
}

// A folder's safetensors files, mapped.
using Mapped = std::list<std::pair<std::string, MappedFile>>;

std::span<const std::byte> named(const Mapped& files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &Mapped::value_type::first);
  return found->second.bytes();
}

// Writes converted weights to a file without a name, which is mapped.
Result<MappedFile> converted(const safetensors::Translated& model, const Mapped& files) {
  GS_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  const fs::path path = folder.path() / "weights";
  constexpr uint64_t most_numbers = uint64_t{1} << 22;  // at a time
  std::ofstream out(path, std::ios::binary);
  uint64_t end = 0;
  Bytes part;
  for (const safetensors::Conversion& one : model.conversions) {
    part.assign(one.made_offset - end, std::byte{0});
    out.write(reinterpret_cast<const char*>(part.data()),
              static_cast<std::streamsize>(part.size()));
    const auto all = named(files, one.file).subspan(one.offset, one.length);
    const uint64_t step = safetensors::bytes_of(one.from, most_numbers);
    for (uint64_t at = 0; at < all.size(); at += step) {
      const auto numbers = all.subspan(at, std::min<uint64_t>(step, all.size() - at));
      const uint64_t count = numbers.size() / safetensors::bytes_of(one.from, 1);
      part.resize(safetensors::bytes_of(one.into, count));
      auto done = safetensors::convert(one.from, numbers, one.into, part);
      if (!done) {
        // Of errors of external data the message is said, not the place.
        done.error().message =
            cat("tensor \"", one.tensor, "\" of ", one.file, " ", done.error().message);
        return std::unexpected(std::move(done.error()));
      }
      out.write(reinterpret_cast<const char*>(part.data()),
                static_cast<std::streamsize>(part.size()));
    }
    end = one.made_offset + one.made_length;
  }
  out.close();
  if (!out)
    return fail(cat("converted weights of ", model.made_bytes, " bytes cannot be written to ",
                    path.string(), ": ", std::strerror(errno)),
                "set TMPDIR to a folder with more room");
  return MappedFile::open(path.string());
}

Result<OpenedModel> open_folder(const fs::path& folder, std::string_view dtype) {
  GS_ASSIGN(const auto precision, safetensors::precision_named(dtype));
  GS_ASSIGN(const std::string config, read_text(folder / "config.json"));
  std::vector<std::string> names = {safetensors::only_file};
  std::error_code error;
  const bool listed = fs::exists(folder / safetensors::index_file, error);
  if (listed) {
    GS_ASSIGN(const std::string index, read_text(folder / safetensors::index_file));
    GS_ASSIGN(names, safetensors::files_of(index));
  }
  const auto files = std::make_shared<Mapped>();
  std::vector<safetensors::File> headers;
  for (const std::string& name : names) {
    if (listed && !fs::exists(folder / name, error))
      return fail(cat("lacks ", one_line(name), ", one of the ", names.size(), " files that ",
                      safetensors::index_file, " lists"),
                  "download it, too");
    GS_ASSIGN(MappedFile file, MappedFile::open((folder / name).string()));
    files->emplace_back(name, std::move(file));
    const auto bytes = files->back().second.bytes();
    headers.push_back({name, bytes, bytes.size()});
  }
  GS_ASSIGN(auto translated, safetensors::translate(config, headers, precision));
  OpenedModel model{bytes_of(translated.model), nullptr};
  translated.model.clear();
  // A function is copied, so what it maps is shared.
  const auto plan = std::make_shared<const safetensors::Translated>(std::move(translated));
  const auto made = std::make_shared<std::list<MappedFile>>();
  model.external = std::make_shared<onnx::ExternalFiles>(
      [files, plan, made](const std::string& name) -> Result<std::span<const std::byte>> {
        if (name != plan->made) return named(*files, name);
        GS_ASSIGN(MappedFile file, converted(*plan, *files));
        return made->emplace_back(std::move(file)).bytes();
      },
      MappedFile::release);
  return model;
}

Result<OpenedModel> open(const fs::path& path, std::string_view dtype) {
  std::error_code error;
  if (is_model_folder(path)) return open_folder(path, dtype);
  if (fs::is_directory(path, error)) {
    if (fs::exists(path / "adapter_config.json", error))
      return fail("is an adapter, which changes another model",
                  "merge both (merge_and_unload of peft) and save the result");
    return fail("is a folder without a model that is known",
                cat("give an ONNX or GGUF file, or a folder with config.json and ",
                    safetensors::only_file));
  }
  if (path.extension() == ".safetensors" && is_model_folder(path.parent_path()))
    return fail("has weights alone",
                cat("give the folder with config.json, ", path.parent_path().string()));
  if (!dtype.empty())
    return fail("has weights in the form that they have",
                "leave out dtype, which is for folders with safetensors files");
  GS_ASSIGN(Bytes bytes, read_model_bytes(path));
  return OpenedModel{std::move(bytes), external_files(path.parent_path())};
}

}  // namespace

bool is_model_folder(const fs::path& path) {
  std::error_code error;
  const auto has = [&](const char* name) { return fs::exists(path / name, error); };
  return fs::is_directory(path, error) && has("config.json") && !has("manifest.json") &&
         !has("index.json") && (has(safetensors::only_file) || has(safetensors::index_file));
}

bool is_compiled(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && !is_model_folder(path);
}

Result<OpenedModel> open_model(const fs::path& path, std::string_view dtype) {
  auto model = open(path, dtype);
  if (!model && !model.error().where.starts_with(path.string()))
    model.error().where =
        cat(path.string(), model.error().where.empty() ? "" : ": ", model.error().where);
  return model;
}

}  // namespace gossamer
