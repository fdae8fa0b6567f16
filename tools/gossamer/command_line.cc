#include "gossamer/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

namespace gossamer::command {

Option Option::required() const { return Option(made_->required()); }
Option Option::needs(Option other) const { return Option(made_->needs(other.made_)); }
Option Option::excludes(Option other) const { return Option(made_->excludes(other.made_)); }
Option Option::delimiter(char between) const { return Option(made_->delimiter(between)); }
Option Option::one_value() const { return Option(made_->allow_extra_args(false)); }
Option Option::show_default() const { return Option(made_->capture_default_str()); }

Option Option::one_of(std::vector<std::string> words) const {
  return Option(made_->check(CLI::IsMember(std::move(words))));
}
Option Option::within(int least, int most) const {
  return Option(made_->check(CLI::Range(least, most)));
}
Option Option::within(uint64_t least, uint64_t most) const {
  return Option(made_->check(CLI::Range(least, most)));
}
Option Option::within(double least, double most) const {
  return Option(made_->check(CLI::Range(least, most)));
}
Option Option::positive() const { return Option(made_->check(CLI::PositiveNumber)); }
Option Option::not_negative() const { return Option(made_->check(CLI::NonNegativeNumber)); }
Option Option::bytes() const { return Option(made_->transform(CLI::AsSizeValue(true))); }

bool Option::given() const { return made_->count() > 0; }

Option Command::add_option(const std::string& names, std::string& value,
                           const std::string& help) const {
  return Option(made_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, int& value, const std::string& help) const {
  return Option(made_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, unsigned& value,
                           const std::string& help) const {
  return Option(made_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, uint16_t& value,
                           const std::string& help) const {
  return Option(made_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, size_t& value, const std::string& help) const {
  return Option(made_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, int64_t& value,
                           const std::string& help) const {
  return Option(made_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, double& value, const std::string& help) const {
  return Option(made_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, std::optional<double>& value,
                           const std::string& help) const {
  return Option(made_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, std::vector<std::string>& values,
                           const std::string& help) const {
  return Option(made_->add_option(names, values, help));
}
Option Command::add_option(const std::string& names, std::vector<double>& values,
                           const std::string& help) const {
  return Option(made_->add_option(names, values, help));
}
Option Command::add_flag(const std::string& names, bool& value, const std::string& help) const {
  return Option(made_->add_flag(names, value, help));
}

void Command::pass_on() const {
  made_->set_help_flag();
  made_->prefix_command();
}
std::vector<std::string> Command::words() const { return made_->remaining(); }

void Command::chosen(std::function<void()> act) const { made_->callback(std::move(act)); }

CommandLine::CommandLine(const std::string& name, const std::string& about,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(about, name)) {
  app_->require_subcommand(1);
  app_->set_version_flag("--version", version);
}

CommandLine::~CommandLine() = default;

Command CommandLine::add_command(const std::string& name, const std::string& about) {
  return Command(app_->add_subcommand(name, about));
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app_->exit(success);
  } catch (const CLI::ParseError& error) {
    std::string line = error.what();
    for (char& letter : line)
      if (letter == '\n') letter = ' ';
    std::fprintf(stderr, "gossamer: %s (see gossamer --help)\n", line.c_str());
    return 2;
  }
  return std::nullopt;
}

}  // namespace gossamer::command
