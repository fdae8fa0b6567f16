// A program that this one starts and ends. Harnesses answer each line on their standard input with
// a line on their standard output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace gossamer::command {

// A file below web/: beside the executable's build folder, below the working directory, or below
// $GOSSAMER_HOME. An error says where it was looked for.
Result<std::filesystem::path> find_web_file(const std::string& name);

class ChildProcess {
 public:
  // Node.js with these arguments.
  static Result<ChildProcess> start_node(std::vector<std::string> arguments);
  // `words`: the program and its arguments; with `quiet`, its standard error goes nowhere.
  static Result<ChildProcess> start(std::vector<std::string> words, bool quiet = false);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // closes its input and waits until it has ended

  // Sends SIGTERM, and SIGKILL where it goes on for a second more.
  void end();

  Result<std::string> ask(const std::string& line);
  Result<std::string> receive();  // the next line; an error when the program has ended

 private:
  ChildProcess() = default;
  int process_ = -1, input_ = -1, output_ = -1;
  std::string rest_;
};

}  // namespace gossamer::command
