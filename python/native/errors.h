// Errors of the compiler and the run time as gossamer.Error.
#pragma once

#include <nanobind/nanobind.h>

#include <expected>
#include <string>
#include <utility>

#include "base/result.h"
#include "gossamer/gossamer.hpp"

namespace gossamer::python {

// gossamer.Error(message, where, hint), which python/gossamer defines.
[[noreturn]] inline void fail(const std::string& where, const std::string& message,
                              const std::string& hint) {
  const nanobind::object error = nanobind::module_::import_("gossamer.error").attr("Error");
  const nanobind::object made = error(message, where, hint);
  PyErr_SetObject(error.ptr(), made.ptr());
  throw nanobind::python_error();
}

template <class T, class Problem>
T value_of(std::expected<T, Problem> result) {
  if (!result) fail(result.error().where, result.error().message, result.error().hint);
  return *std::move(result);
}

}  // namespace gossamer::python
