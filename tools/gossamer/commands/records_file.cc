#include "gossamer/commands/records_file.h"

#include <cstdio>
#include <set>

#include "api/files.h"
#include "gossamer/command_line.h"
#include "gossamer/runners/isolate.h"
#include "runtime/device_here.h"
#include "shipped/shipped.h"

namespace gossamer::command {
namespace {

constexpr double seconds_to_open = 60;

// "": not known.
std::string name_of_device(const std::string& target, Here here) {
  if (here == Here::no) return "";
  if (here == Here::yes) return runtime::device_here(target);
  std::string name;
  run_isolated(
      1, 1, seconds_to_open, [&](size_t) { return runtime::device_here(target); },
      [&](size_t, const JobOutcome& outcome) {
        if (outcome.finished) name = outcome.text;
      });
  return name;
}

}  // namespace

Result<tune::Recorded> read_records(const std::filesystem::path& file) {
  GS_ASSIGN(const std::string text, read_text(file.string()));
  tune::Recorded read = tune::read_records(text, file.string());
  for (const Diagnostic& one : read.left_out)
    std::fprintf(stderr, "gossamer: left out: %s\n", one.to_string().c_str());
  return read;
}

void add_records_option(const Command& command, RecordOptions& options, const std::string& help) {
  command.add_option("--records", options.file, help);
}

void add_device_class_option(const Command& command, std::string& device_class) {
  std::set<std::string> names{std::string(shipped::no_class)};
  for (const std::string_view name : shipped::device_classes()) names.emplace(name);
  command
      .add_option(
          "--device-class", device_class,
          "Whose records kernels take where the compiler comes with some; none: nobody's; by "
          "default of what the target, --cpu and this machine's device are")
      .one_of({names.begin(), names.end()});
}

Result<records::Records> records_for(const RecordOptions& given, const compiler::Options& options,
                                     Here here) {
  records::Records records;
  if (!given.file.empty()) {
    GS_ASSIGN(tune::Recorded read, read_records(given.file));
    records = std::move(read.records);
  }
  if (given.exact) records.set_exact();
  GS_TRY(shipped::add_to(records, options, given.device_class,
                         [&] { return name_of_device(options.target, here); }));
  return records;
}

}  // namespace gossamer::command
