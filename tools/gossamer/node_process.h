// A Node program that answers each line on its standard input with a line on its standard output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace gossamer::command {

// A file below web/: beside the executable's build folder, below the working directory, or below
// $GOSSAMER_HOME. An error says where it was looked for.
Result<std::filesystem::path> find_web_file(const std::string& name);

class NodeProcess {
 public:
  static Result<NodeProcess> start(std::vector<std::string> arguments);
  NodeProcess(NodeProcess&& other) noexcept;
  NodeProcess& operator=(NodeProcess&&) = delete;
  ~NodeProcess();  // closes its input and waits until it has ended

  Result<std::string> ask(const std::string& line);
  Result<std::string> receive();  // the next line; an error when the program has ended

 private:
  NodeProcess() = default;
  int process_ = -1, input_ = -1, output_ = -1;
  std::string rest_;
};

}  // namespace gossamer::command
