#include "runtime/package_folder.h"

#include <rapidjson/document.h>

#include <filesystem>

#include "package/sha256.h"
#include "package/write.h"

namespace gossamer::runtime {

namespace fs = std::filesystem;

Result<std::span<const std::byte>> PackageFolder::file(std::string_view name) const {
  const auto found = files.find(name);
  if (found == files.end()) return fail(cat("the package has no ", name));
  return found->second->bytes();
}

std::map<std::string, std::string> packages_in(const std::string& folder) {
  std::map<std::string, std::string> found;
  const auto index = MappedFile::open(folder + "/index.json");
  if (!index) return found;
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(reinterpret_cast<const char*>(index->bytes().data()),
                                             index->bytes().size());
  if (json.HasParseError() || !json.IsObject() || !json.HasMember("variants")) return found;
  if (!json["variants"].IsObject()) return found;
  for (const auto& [target, place] : json["variants"].GetObject())
    if (place.IsString()) found[target.GetString()] = place.GetString();
  return found;
}

namespace {

// Of a path that has no manifest.json.
Diagnostic not_a_package(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return {folder, "no such folder", {}};
  if (!fs::is_directory(folder, error)) {
    if (fs::path(folder).extension() == ".onnx")
      return {folder, "is a model, not the folder of a package",
              "compile it first, and give the folder that this writes"};
    return {folder, "is a file, not the folder of a package",
            "give the folder that has manifest.json"};
  }
  const auto packages = packages_in(folder);
  if (packages.empty())
    return {folder, "is not a package: it has no manifest.json",
            "give the folder that `gossamer compile` wrote"};
  std::string targets, folders;
  for (const auto& [target, place] : packages) {
    targets += cat(targets.empty() ? "" : ", ", target);
    folders += cat(folders.empty() ? "" : ", ", (fs::path(folder) / place).string());
  }
  return {folder, cat("has packages for several targets: ", targets),
          cat("give the folder of one: ", folders)};
}

}  // namespace

Result<PackageFolder> open_package(const std::string& folder, Shared* shared) {
  PackageFolder package;
  const std::string path = folder + "/manifest.json";
  {
    std::error_code error;
    if (!fs::exists(path, error)) return std::unexpected(not_a_package(folder));
    GS_ASSIGN(const MappedFile text, MappedFile::open(path));
    const auto bytes = text.bytes();
    auto manifest = parse_manifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!manifest) return fail_at(path, manifest.error().message, manifest.error().hint);
    package.manifest = std::move(*manifest);
  }
  for (const FileEntry& entry : package.manifest.files) {
    if (auto known = shared && !entry.sha256.empty() ? shared->file(entry.sha256) : nullptr) {
      shared->add_file(entry.sha256, known);
      package.files.emplace(entry.name, std::move(known));
      continue;
    }
    const std::string where = cat(folder, entry.above ? "/../" : "/", entry.name);
    GS_ASSIGN(MappedFile file, MappedFile::open(where));
    if (std::cmp_not_equal(file.bytes().size(), entry.bytes))
      return fail_at(where,
                     cat("has ", file.bytes().size(), " bytes, the manifest says ", entry.bytes),
                     "copy the package again");
    if (package::content_hash(file.bytes()) != entry.xxh3)
      return fail_at(where, "is not the file that the manifest describes: its hash differs",
                     "copy the package again");
    // xxh3 can be forged.
    if (!entry.sha256.empty() && package::sha256(file.bytes()) != entry.sha256)
      return fail_at(where, "is not the file that the manifest describes: its SHA-256 differs",
                     "copy the package again, from where you trust");
    const auto kept = std::make_shared<const MappedFile>(std::move(file));
    if (shared && !entry.sha256.empty()) shared->add_file(entry.sha256, kept);
    package.files.emplace(entry.name, kept);
  }
  return package;
}

Result<> check_needs(const package::Module& module, const Device& device, const Device* side) {
  if (!device.computes()) return {};
  for (const std::string& need : module.needs) {
    bool have = device.has(need) || (side && side->has(need));
#if defined(__x86_64__)
    __builtin_cpu_init();
    have =
        have ||
        (need == "cpu-avx512" && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl")) ||
        (need == "cpu-avx2" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) ||
        (need == "cpu-avx512-vnni" && __builtin_cpu_supports("avx512vnni")) ||
        (need == "cpu-avx-vnni" && __builtin_cpu_supports("avxvnni"));
#endif
    if (!have)
      return fail(cat("the package needs ", need, ", which this machine lacks"),
                  "compile the model for this machine");
  }
  return {};
}

}  // namespace gossamer::runtime
