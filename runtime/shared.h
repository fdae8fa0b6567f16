// What models share that are loaded and run one after another, such as candidates of a search:
// their devices, files that were checked, and constants that come out the same.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "runtime/manifest.h"
#include "runtime/mapped_file.h"

namespace gossamer::runtime {

class Shared {
 public:
  // The device of that name, made where there is none.
  Result<std::shared_ptr<Device>> device(
      const std::string& name, const std::function<Result<std::unique_ptr<Device>>()>& make);
  // By SHA-256; null: not loaded.
  std::shared_ptr<const MappedFile> file(const std::string& sha256) const;
  void add_file(const std::string& sha256, const std::shared_ptr<const MappedFile>& file);
  // By origin; null: not loaded.
  std::shared_ptr<Buffer> constant(const std::string& origin) const;
  void add_constant(const std::string& origin, const std::shared_ptr<Buffer>& buffer);
  // What a model that is loaded now has stays until the next one is, that of others while they are
  // there.
  void begin();
  // Nothing of what was there is shared from now on: a device may be lost.
  void forget();

 private:
  struct Latest {
    std::vector<std::shared_ptr<const MappedFile>> files;
    std::vector<std::shared_ptr<Buffer>> constants;
  };
  std::map<std::string, std::shared_ptr<Device>> devices_;
  std::map<std::string, std::weak_ptr<const MappedFile>> files_;
  std::map<std::string, std::weak_ptr<Buffer>> constants_;
  Latest before_, now_;
};

// What steps read, and copy from and to.
void add_tensors(const std::vector<package::Step>& steps, std::vector<int>& tensors);

// Describes where the bytes of each slot come from. Equal texts on one device mean equal bytes.
// Nothing where that is not known when the package is loaded, or changes in runs. `sources`: of
// each kernel, its code; null: not known.
using Origins = std::vector<std::optional<std::string>>;
Origins origins_of(const Manifest& manifest, const std::vector<const std::string*>& sources);

}  // namespace gossamer::runtime
