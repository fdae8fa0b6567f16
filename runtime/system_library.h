// A driver's library, found when it is needed.
#pragma once

#include <initializer_list>
#include <string>

#include "base/result.h"

namespace gossamer::runtime {

class SystemLibrary {
 public:
  // The first of these names that there is; drivers stay loaded until the process ends. Errors:
  // there is none; `install` says what to do.
  static Result<SystemLibrary> open(std::initializer_list<const char*> names,
                                    const std::string& install);
  // Null where it has none of that name.
  void* find(const char* name) const;

 private:
  explicit SystemLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace gossamer::runtime
