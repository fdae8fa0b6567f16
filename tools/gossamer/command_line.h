// Options of the subcommands. The parser behind them (CLI11) is in command_line.cc alone: its
// header takes seconds a source, and it throws.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gossamer::command {

// What is said of an option after it was added; each gives the option itself. Usage that breaks it
// is the parser's error.
class Option {
 public:
  explicit Option(CLI::Option* made) : made_(made) {}

  Option required() const;
  Option needs(Option other) const;
  Option excludes(Option other) const;
  Option delimiter(char between) const;  // one word may hold many values
  Option one_value() const;              // of a list: each mention of the option takes one word
  Option show_default() const;           // in the help text, as the variable is now

  // Of its values, or of each of a list.
  Option one_of(std::vector<std::string> words) const;
  Option within(int least, int most) const;
  Option within(uint64_t least, uint64_t most) const;
  Option within(double least, double most) const;
  Option positive() const;
  Option not_negative() const;
  Option bytes() const;  // a number, or with KB, MB, ..., of 1024

  // After parsing.
  bool given() const;

 private:
  CLI::Option* made_;
};

// A subcommand. Variables that its options set have what they hold as a default, and must live
// until the command has run.
class Command {
 public:
  explicit Command(CLI::App* made) : made_(made) {}

  // NAMES: "--input,-i", or "model" for what stands by its place.
  Option add_option(const std::string& names, std::string& value, const std::string& help) const;
  Option add_option(const std::string& names, int& value, const std::string& help) const;
  Option add_option(const std::string& names, unsigned& value, const std::string& help) const;
  Option add_option(const std::string& names, uint16_t& value, const std::string& help) const;
  Option add_option(const std::string& names, size_t& value, const std::string& help) const;
  Option add_option(const std::string& names, int64_t& value, const std::string& help) const;
  Option add_option(const std::string& names, double& value, const std::string& help) const;
  Option add_option(const std::string& names, std::optional<double>& value,
                    const std::string& help) const;
  Option add_option(const std::string& names, std::vector<std::string>& values,
                    const std::string& help) const;
  Option add_option(const std::string& names, std::vector<double>& values,
                    const std::string& help) const;
  // True when it is given; "--name,!--no-name" has a word for false.
  Option add_flag(const std::string& names, bool& value, const std::string& help) const;

  // Leaves all words after the command's name, --help too, to another program.
  void pass_on() const;
  // Those words, after parsing.
  std::vector<std::string> words() const;

  // Called when the command was chosen and its options are set.
  void chosen(std::function<void()> act) const;

 private:
  CLI::App* made_;
};

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& about, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command add_command(const std::string& name, const std::string& about);

  // Sets the variables and calls the chosen command's function, unless there is an exit code
  // already: 0 after --help or --version, 2 after an error, which is one line on stderr.
  std::optional<int> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace gossamer::command
