// The page around a package (web/runtime/page/README.md).
#pragma once

#include <string>

#include "base/result.h"
#include "package/package.h"

namespace gossamer::command {

struct PageOptions {
  std::string name;      // the model's
  std::string labels;    // text of a file of class names, or ""
  bool several = false;  // the files are of several packages below index.json
};

// Adds index.html and its scripts to the files of a package. Errors: the web run time is not built.
Result<> add_page(package::Files& files, const PageOptions& options);

// One .html with everything inside.
Result<std::string> single_page(const package::Files& files, const PageOptions& options);

bool page_is_built();

}  // namespace gossamer::command
