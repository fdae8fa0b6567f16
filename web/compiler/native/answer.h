// What calls from JavaScript give back.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "package/package.h"

#define GS_EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace gossamer::web {

// As JavaScript reads it: words in this order.
struct Entry {
  const char* name;
  uint32_t name_size;
  const std::byte* bytes;
  uint32_t size;
};
struct Answer {
  // 1: entries are files, behind each whose weights the caller has the list "@parts"; 0: one entry,
  // the diagnostic as JSON
  uint32_t ok;
  uint32_t count;
  const Entry* entries;
  std::vector<Entry> table;
  package::Files files;
};

// It stays the caller's until gs_release.
Answer* answer(Result<package::Files> files);

}  // namespace gossamer::web
