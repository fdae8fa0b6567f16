#include "gossamer/devices/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace gossamer::command {

namespace fs = std::filesystem;

namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return arguments;
}

}  // namespace

Result<fs::path> find_web_file(const std::string& name) {
  std::error_code error;
  std::vector<fs::path> homes;
  if (const char* home = std::getenv("GOSSAMER_HOME"); home && *home) homes.emplace_back(home);
  const fs::path above = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  homes.push_back(above);
  homes.push_back(above / "share/gossamer");  // as installed (cmake/install.cmake)
  homes.push_back(fs::current_path(error));
  for (const fs::path& home : homes)
    if (fs::exists(home / "web" / name, error)) return home / "web" / name;
  return fail(cat("web/", name, " was not found"),
              "set GOSSAMER_HOME to the folder that Gossamer was built from");
}

Result<ChildProcess> ChildProcess::start_node(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "node");
  auto node = start(std::move(arguments));
  if (!node) node.error().hint = "install Node 20 or later";
  return node;
}

Result<ChildProcess> ChildProcess::start(std::vector<std::string> words, bool quiet) {
  signal(SIGPIPE, SIG_IGN);  // a program that ended is an error, not our end
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
    return fail(cat("no pipe: ", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  if (quiet) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ChildProcess child;
  const int failure = posix_spawnp(&child.process_, words[0].c_str(), &actions, nullptr,
                                   pointers(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  child.input_ = in[1];
  child.output_ = out[0];
  if (failure != 0) {
    child.process_ = -1;
    return fail(cat(words[0], " cannot be started: ", std::strerror(failure)));
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      rest_(std::move(other.rest_)) {}

ChildProcess::~ChildProcess() {
  if (input_ >= 0) close(input_);
  if (process_ > 0) {
    char ignored[4096];
    while (read(output_, ignored, sizeof ignored) > 0) {
    }
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (output_ >= 0) close(output_);
}

void ChildProcess::end() {
  if (process_ <= 0) return;
  kill(process_, SIGTERM);
  for (int turn = 0; turn < 100; ++turn) {
    const pid_t ended = waitpid(process_, nullptr, WNOHANG);
    if (ended == process_ || (ended < 0 && errno == ECHILD)) {
      process_ = -1;
      return;
    }
    usleep(10'000);
  }
  kill(process_, SIGKILL);
}

Result<std::string> ChildProcess::receive() {
  for (;;) {
    if (const size_t end = rest_.find('\n'); end != std::string::npos) {
      std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return line;
    }
    char block[65536];
    const ssize_t count = read(output_, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return fail("the program that was started has ended", "its message stands above");
    rest_.append(block, static_cast<size_t>(count));
  }
}

Result<std::string> ChildProcess::ask(const std::string& line) {
  const std::string whole = line + "\n";
  for (size_t at = 0; at < whole.size();) {
    const ssize_t written = write(input_, whole.data() + at, whole.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return fail("the program that was started has ended", "its message stands above");
    at += static_cast<size_t>(written);
  }
  return receive();
}

}  // namespace gossamer::command
