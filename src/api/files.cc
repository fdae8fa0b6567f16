#include "api/files.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <list>

#include "runtime/mapped_file.h"

namespace gossamer {

namespace fs = std::filesystem;

Result<Bytes> read_file(const fs::path& path, uint64_t limit) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) return fail_at(path.string(), "no such file");
  if (fs::is_directory(status)) return fail_at(path.string(), "is a folder, not a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail_at(path.string(), cat("cannot be read: ", std::strerror(errno)));
  if (fs::is_regular_file(status)) {
    const auto size = fs::file_size(path, error);
    if (!error && size > limit)
      return fail_at(path.string(), cat("is ", size, " bytes long, more than ", limit));
    Bytes bytes(error ? 0 : size);
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (static_cast<size_t>(in.gcount()) != bytes.size())
      return fail_at(path.string(), "ended while it was read");
    return bytes;
  }
  Bytes bytes;  // a pipe: its length is not known before
  char block[65536];
  while (in.read(block, sizeof block), in.gcount() > 0) {
    const auto* begin = reinterpret_cast<const std::byte*>(block);
    bytes.insert(bytes.end(), begin, begin + in.gcount());
    if (bytes.size() > limit)
      return fail_at(path.string(), cat("is longer than ", limit, " bytes"));
  }
  return bytes;
}

Result<std::string> read_text(const fs::path& path) {
  GS_ASSIGN(const Bytes bytes, read_file(path));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

namespace {

// `release`: called with what is written, unless empty.
Result<> write_file(const fs::path& path, const package::File& file,
                    const std::function<void(std::span<const std::byte>)>& release) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  constexpr size_t most = size_t{1} << 24;  // at a time
  file.each([&](std::span<const std::byte> bytes) {
    while (!bytes.empty() && out) {
      const auto now = bytes.first(std::min(most, bytes.size()));
      out.write(reinterpret_cast<const char*>(now.data()),
                static_cast<std::streamsize>(now.size()));
      if (release) release(now);
      bytes = bytes.subspan(now.size());
    }
  });
  out.close();
  if (!out) return fail_at(path.string(), cat("cannot be written: ", std::strerror(errno)));
  return {};
}

}  // namespace

Result<> write_file(const fs::path& path, std::span<const std::byte> bytes) {
  return write_file(path, package::file_of_view({}, bytes), {});
}

std::shared_ptr<onnx::ExternalFiles> external_files(const fs::path& folder) {
  // A function is copied, so what it maps is shared; a list keeps its elements where they are.
  const auto mapped = std::make_shared<std::list<runtime::MappedFile>>();
  return std::make_shared<onnx::ExternalFiles>(
      [folder, mapped](const std::string& name) -> Result<std::span<const std::byte>> {
        std::error_code error;
        const fs::path base = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
        const fs::path whole = fs::weakly_canonical(base / name, error);
        const auto [end, differs] =
            std::mismatch(base.begin(), base.end(), whole.begin(), whole.end());
        if (fs::path(name).is_absolute() || end != base.end())
          return fail("lies outside the model's folder", "move the file beside the model");
        auto file = runtime::MappedFile::open(whole.string());
        if (!file) return fail(file.error().message, "put the file into the model's folder");
        return mapped->emplace_back(*std::move(file)).bytes();
      },
      runtime::MappedFile::release);
}

Result<> write_files(const fs::path& folder, const package::Files& files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail_at(folder.string(), cat("cannot be made: ", error.message()));
  for (const package::File& file : files) {
    const fs::path path = folder / file.name, part = folder / (file.name + ".part");
    fs::create_directories(path.parent_path(), error);
    if (error) return fail_at(path.string(), cat("cannot be made: ", error.message()));
    GS_TRY(write_file(part, file, {}));
    fs::rename(part, path, error);
    if (error) return fail_at(path.string(), cat("cannot be made: ", error.message()));
  }
  return {};
}

Result<package::Files> read_package(const fs::path& folder) {
  package::Files files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_regular_file()) continue;
    GS_ASSIGN(Bytes bytes, read_file(entry.path()));
    files.push_back({entry.path().filename().string(), std::move(bytes)});
  }
  if (error) return fail_at(folder.string(), error.message());
  std::ranges::sort(files, {}, &package::File::name);
  return files;
}

Result<> write_package(const fs::path& folder, const package::Files& files,
                       const onnx::ExternalFiles* external) {
  std::error_code error;
  fs::path target = folder;
  if (!target.has_filename()) target = target.parent_path();  // "out/" names out
  if (target.empty()) return fail("the output folder has no name");
  if (fs::exists(target, error)) {
    if (!fs::is_directory(target)) return fail_at(target.string(), "exists and is not a folder");
    if (!fs::is_empty(target) && !fs::exists(target / "manifest.json") &&
        !fs::exists(target / "index.json"))
      return fail_at(target.string(), "exists and is not a package",
                     "name a new folder or remove this one");
  }
  const fs::path parent = fs::absolute(target).parent_path();
  fs::create_directories(parent, error);
  if (error) return fail_at(parent.string(), cat("cannot be made: ", error.message()));
  std::string pattern = (parent / cat(".", target.filename().string(), ".XXXXXX")).string();
  if (!mkdtemp(pattern.data()))
    return fail_at(parent.string(), cat("cannot be written to: ", std::strerror(errno)));
  const fs::path temporary = pattern;
  fs::permissions(temporary, fs::perms(0755), error);
  const auto abandon = [&](Diagnostic diagnostic) {
    fs::remove_all(temporary, error);
    return std::unexpected(std::move(diagnostic));
  };
  for (const package::File& file : files) {
    const fs::path path = temporary / file.name;
    fs::create_directories(path.parent_path(), error);
    const auto written = write_file(path, file, [&](std::span<const std::byte> bytes) {
      if (external) external->release(bytes);
    });
    if (!written) return abandon(written.error());
  }
  // A folder cannot be replaced in one step: the old one moves aside and goes when the new is
  // there.
  const fs::path old = temporary.string() + ".old";
  const bool replaces = fs::exists(target, error);
  if (replaces) fs::rename(target, old, error);
  if (replaces && error)
    return abandon({target.string(), cat("cannot be replaced: ", error.message()), {}});
  fs::rename(temporary, target, error);
  if (error) {
    Diagnostic diagnostic{target.string(), cat("cannot be made: ", error.message()), {}};
    if (replaces) fs::rename(old, target, error);
    return abandon(std::move(diagnostic));
  }
  if (replaces) fs::remove_all(old, error);
  return {};
}

Result<TemporaryFolder> TemporaryFolder::create() {
  std::error_code error;
  fs::path base = fs::temp_directory_path(error);
  if (error) base = "/tmp";
  std::string pattern = (base / "gossamer.XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    return fail_at(base.string(), cat("no temporary folder: ", std::strerror(errno)));
  return TemporaryFolder(fs::path(pattern));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // what cannot be removed is the system's to clean
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace gossamer
