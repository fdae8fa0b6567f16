// Runs each of many jobs in a process of its own, several at a time, so that a crash or a hang ends
// one job and not the whole run.
#pragma once

#include <functional>
#include <string>

namespace gossamer::command {

struct JobOutcome {
  bool finished = false;  // the job returned; otherwise `text` says how it ended
  std::string text;       // what the job returned
};

// Calls job(i) for i in [0, count) in child processes, at most `jobs` at once, and done(i, outcome)
// here, in order of i. Must be called while this process has one thread. A job that runs longer
// than `timeout_seconds` (0: no limit) is ended.
void run_isolated(size_t count, int jobs, double timeout_seconds,
                  const std::function<std::string(size_t)>& job,
                  const std::function<void(size_t, const JobOutcome&)>& done);

}  // namespace gossamer::command
