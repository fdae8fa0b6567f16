// CLASS.jsonl of this folder, as cmake/shipped.cmake puts them into the program.
#pragma once

#include <span>
#include <string_view>

namespace gossamer::shipped {

struct File {
  std::string_view device_class, text;
};
extern const std::span<const File> files;

}  // namespace gossamer::shipped
