#include "gossamer/runners/isolate.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "base/result.h"

namespace gossamer::command {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  size_t index = 0;
  pid_t process = -1;
  int answer = -1, errors = -1;  // read ends of its pipes
  std::string text, error_text;
  Clock::time_point started;
  bool timed_out = false;
};

void write_all(int file, const std::string& text) {
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += static_cast<size_t>(written);
  }
}

Child start(size_t index, const std::function<std::string(size_t)>& job) {
  Child child;
  child.index = index;
  child.started = Clock::now();
  int answer[2], errors[2];
  GS_CHECK(pipe(answer) == 0 && pipe(errors) == 0, std::strerror(errno));
  std::fflush(nullptr);
  child.process = fork();
  GS_CHECK(child.process >= 0, std::strerror(errno));
  if (child.process == 0) {
    close(answer[0]);
    close(errors[0]);
    dup2(errors[1], STDERR_FILENO);
    write_all(answer[1], job(index));
    std::fflush(nullptr);
    _exit(0);  // not exit: the parent's destructors are not the child's
  }
  close(answer[1]);
  close(errors[1]);
  child.answer = answer[0];
  child.errors = errors[0];
  return child;
}

// Reads what has come; false when the other end is closed.
bool drain(int file, std::string& text, size_t limit) {
  char block[65536];
  const ssize_t count = read(file, block, sizeof block);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  if (text.size() < limit) text.append(block, static_cast<size_t>(count));
  return true;
}

std::string first_line(const std::string& text) {
  const size_t begin = text.find_first_not_of("\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

JobOutcome finish(Child& child) {
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  if (child.timed_out) return {false, "ran out of time"};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {true, std::move(child.text)};
  std::string how = WIFSIGNALED(status) ? cat("crashed: ", strsignal(WTERMSIG(status)))
                                        : cat("ended with status ", WEXITSTATUS(status));
  if (const std::string line = first_line(child.error_text); !line.empty()) how += ": " + line;
  return {false, how};
}

}  // namespace

void run_isolated(size_t count, int jobs, double timeout_seconds,
                  const std::function<std::string(size_t)>& job,
                  const std::function<void(size_t, const JobOutcome&)>& done) {
  std::vector<Child> running;
  std::map<size_t, JobOutcome> waiting;  // finished before an earlier one
  size_t next = 0, reported = 0;
  while (reported < count) {
    while (next < count && running.size() < static_cast<size_t>(std::max(jobs, 1)))
      running.push_back(start(next++, job));
    std::vector<pollfd> files;
    for (const Child& child : running) {
      files.push_back({child.answer, POLLIN, 0});
      files.push_back({child.errors, POLLIN, 0});
    }
    poll(files.data(), files.size(), timeout_seconds > 0 ? 100 : -1);
    for (size_t at = 0; at < running.size(); ++at) {
      Child& child = running[at];
      if (files[2 * at].revents && !drain(child.answer, child.text, size_t{1} << 30)) {
        close(child.answer);
        child.answer = -1;  // poll ignores it
      }
      if (files[2 * at + 1].revents && !drain(child.errors, child.error_text, size_t{1} << 16)) {
        close(child.errors);
        child.errors = -1;
      }
      const std::chrono::duration<double> age = Clock::now() - child.started;
      if (timeout_seconds > 0 && age.count() > timeout_seconds && !child.timed_out) {
        child.timed_out = true;
        kill(child.process, SIGKILL);
      }
    }
    for (size_t at = running.size(); at-- > 0;) {
      if (running[at].answer >= 0 || running[at].errors >= 0) continue;
      waiting[running[at].index] = finish(running[at]);
      running.erase(running.begin() + static_cast<ptrdiff_t>(at));
    }
    for (auto at = waiting.find(reported); at != waiting.end(); at = waiting.find(reported)) {
      done(reported++, at->second);
      waiting.erase(at);
    }
  }
}

}  // namespace gossamer::command
