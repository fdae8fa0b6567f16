#include "gossamer/commands/compile_options.h"

#include <algorithm>

namespace gossamer::command {
namespace {

std::string dashed(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

Option add(const Command& command, const std::string& name, std::string& value,
           const std::string& help, const std::vector<std::string>& words) {
  const Option option = command.add_option("--" + name, value, help);
  return words.empty() ? option : option.one_of(words);
}

// What is on has a word that turns it off.
Option add(const Command& command, const std::string& name, bool& value, const std::string& help,
           const std::vector<std::string>&) {
  return command.add_flag(value ? cat("--", name, ",!--no-", name) : "--" + name, value, help);
}

Option add(const Command& command, const std::string& name, uint64_t& value,
           const std::string& help, const std::vector<std::string>&) {
  return command.add_option("--" + name, value, help)
      .bytes()
      .within(uint64_t{1}, uint64_t{1} << 40);
}

}  // namespace

CompileOptionNames add_compile_options(const Command& command, compiler::Options& options) {
  CompileOptionNames added;
#define GS_WORDS(...) __VA_ARGS__
#define GS_OPTION(Type, name, initial, choices, help) \
  added.emplace(dashed(#name), add(command, dashed(#name), options.name, help, {choices}));
#include "gossamer/options.def"
  return added;
}

}  // namespace gossamer::command
