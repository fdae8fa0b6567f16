// The files of a package on disk, checked against its manifest.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/device.h"
#include "runtime/manifest.h"
#include "runtime/mapped_file.h"
#include "runtime/shared.h"

namespace gossamer::runtime {

struct PackageFolder {
  Manifest manifest;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> files;

  // The bytes of a file of the package, or an error.
  Result<std::span<const std::byte>> file(std::string_view name) const;
};

// The folders of a folder of packages for several targets, by target, as its index.json lists them;
// empty where there is no such file.
std::map<std::string, std::string> packages_in(const std::string& folder);

// Maps every file that the manifest lists and `shared` does not have. Errors name the file:
// missing, of another length or content than the manifest says. A folder that is not a package says
// what it is and which folder to give.
Result<PackageFolder> open_package(const std::string& folder, Shared* shared = nullptr);

// Can this machine, with this device and the one beside it (or null), run what the package needs?
Result<> check_needs(const package::Module& module, const Device& device, const Device* side);

}  // namespace gossamer::runtime
