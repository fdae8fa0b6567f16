#include "gossamer/records_file.h"

#include <cstdio>
#include <set>

#include "api/files.h"
#include "runtime/device_here.h"
#include "shipped/shipped.h"

namespace gossamer::command {

Result<tune::Recorded> read_records(const std::filesystem::path& file) {
  GS_ASSIGN(const std::string text, read_text(file.string()));
  tune::Recorded read = tune::read_records(text, file.string());
  for (const Diagnostic& one : read.left_out)
    std::fprintf(stderr, "gossamer: left out: %s\n", one.to_string().c_str());
  return read;
}

void add_records_option(CLI::App& command, RecordOptions& options, const std::string& help) {
  command.add_option("--records", options.file, help);
}

void add_device_class_option(CLI::App& command, std::string& device_class) {
  std::set<std::string> names{std::string(shipped::no_class)};
  for (const std::string_view name : shipped::device_classes()) names.emplace(name);
  command
      .add_option(
          "--device-class", device_class,
          "Whose records kernels take where the compiler comes with some; none: nobody's; by "
          "default of what the target, --cpu and this machine's device are")
      ->check(CLI::IsMember(names));
}

Result<schedule::Records> records_for(const RecordOptions& given, const compiler::Options& options,
                                      bool here) {
  schedule::Records records;
  if (!given.file.empty()) {
    GS_ASSIGN(tune::Recorded read, read_records(given.file));
    records = std::move(read.records);
  }
  if (given.exact) records.set_exact();
  GS_TRY(shipped::add_to(records, options, given.device_class,
                         [&] { return here ? runtime::device_here(options.target) : ""; }));
  return records;
}

}  // namespace gossamer::command
