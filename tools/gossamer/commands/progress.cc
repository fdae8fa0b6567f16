#include "gossamer/commands/progress.h"

#include <unistd.h>

#include <cstdio>

namespace gossamer::command {

Progress::Progress(bool quiet) : visible_(!quiet && isatty(STDERR_FILENO)) {}

Progress::~Progress() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

void Progress::show(std::string_view step, double fraction) {
  if (!visible_) return;
  shown_ = true;
  std::fprintf(stderr, "\r\033[K%3.0f%% %.*s", 100 * fraction, static_cast<int>(step.size()),
               step.data());
  std::fflush(stderr);
}

}  // namespace gossamer::command
