// manifest.json, read and checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "package/package.h"

namespace gossamer::runtime {

using package::FileEntry;

struct Manifest {
  package::Module module;  // without the shaders' sources
  std::vector<FileEntry> files;
};

// Whether its size is known without a plan.
bool is_static(const package::Slot& slot);

// How deep branches and loops may lie in each other.
constexpr int deepest_step = 256;

// Every index of the result is valid, in steps too. Errors: not JSON, not a package, another
// version (named with ours), a member that is missing or of the wrong kind, an index out of range.
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace gossamer::runtime
