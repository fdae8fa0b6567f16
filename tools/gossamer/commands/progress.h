// Progress of long work: one line on standard error, where that is a terminal.
#pragma once

#include <string_view>

namespace gossamer::command {

class Progress {
 public:
  explicit Progress(bool quiet = false);
  ~Progress();  // clears the line
  void show(std::string_view step, double fraction);

 private:
  bool visible_;
  bool shown_ = false;
};

}  // namespace gossamer::command
