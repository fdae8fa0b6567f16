// Which records a compilation takes: files (tune/text.h), and those that come with the compiler.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "compiler/compile.h"
#include "tune/text.h"

namespace gossamer::command {

class Command;

// Lines that are no records are told on standard error. Errors: no such file.
Result<tune::Recorded> read_records(const std::filesystem::path& file);

struct RecordOptions {
  std::string file, device_class;  // the latter as in shipped::classes_for
  bool exact = false;
};
void add_records_option(const Command& command, RecordOptions& options, const std::string& help);
void add_device_class_option(const Command& command, std::string& device_class);

// Of the file, if any, and for options.target as it stands; `here`: code for this machine's device,
// which is opened in this process, or, apart, in one of its own: drivers have threads, and a
// process that will fork (isolate.h) must not. Errors: as of both.
enum class Here : uint8_t { no, yes, apart };
Result<records::Records> records_for(const RecordOptions& given, const compiler::Options& options,
                                     Here here);

}  // namespace gossamer::command
