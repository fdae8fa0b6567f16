// gossamer rpc: a server that devices join, this process as such a device, or the list of them.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "api/files.h"
#include "gossamer/commands/commands.h"
#include "gossamer/devices/child_process.h"
#include "gossamer/devices/rpc_device.h"
#include "rpc/broker.h"
#include "rpc/remote.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

struct RpcOptions {
  rpc::BrokerOptions broker;
  std::string join, list, name;
  bool with_parent = false;
};

std::string random_token() {
  std::random_device random;
  constexpr char digits[] = "0123456789abcdef";
  std::string token;
  for (int word = 0; word < 4; ++word)
    for (uint32_t bits = random(), digit = 0; digit < 8; ++digit, bits >>= 4)
      token += digits[bits & 15];
  return token;
}

// The page, where the web half is built; devices that are no pages need none.
void read_page(std::map<std::string, std::string>& files) {
  const auto folder = find_web_file("rpc/dist/page");
  if (!folder) return;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(*folder, error)) {
    auto text = read_text(entry.path());
    const std::string name = entry.path().filename().string();
    if (text) files[name == "index.html" ? "/" : "/" + name] = std::move(*text);
  }
}

int run_server(RpcOptions& options) {
  if (options.broker.token.empty()) {
    const char* token = std::getenv("GOSSAMER_RPC_TOKEN");
    options.broker.token = token ? token : random_token();
  }
  read_page(options.broker.files);
  options.broker.on_notice = [](const std::string& line) {
    std::fprintf(stderr, "gossamer: %s\n", line.c_str());
  };
  const auto done = rpc::run_broker(options.broker, [&](uint16_t port) {
    const std::string where = cat(options.broker.host, ":", port);
    // The one line of standard output: what --device and --join take.
    std::printf("rpc://%s?token=%s\n", where.c_str(), options.broker.token.c_str());
    std::fflush(stdout);
    if (options.broker.files.empty())
      std::fprintf(stderr, "gossamer: no page: the web half is not built\n");
    else
      std::fprintf(stderr, "gossamer: a browser joins at http://%s/?token=%s\n", where.c_str(),
                   options.broker.token.c_str());
  });
  return done ? 0 : report_error(done.error(), false);
}

Result<> print_devices(const std::string& address) {
  GS_ASSIGN(const rpc::Address where, rpc::parse_address(address));
  GS_ASSIGN(const auto devices, rpc::RemoteDevice::list(where));
  for (const rpc::DeviceInfo& device : devices) {
    std::string targets;
    for (const std::string& target : device.targets)
      targets += cat(targets.empty() ? "" : ",", target);
    std::printf("%s  %s  %s\n", device.name.c_str(), targets.c_str(), device.about.c_str());
  }
  if (devices.empty()) std::fprintf(stderr, "gossamer: no device has joined\n");
  return {};
}

void end_with_parent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

// The status of a process that ended by itself; nothing where the device is to start again: what it
// ran ended it, or did not end.
std::optional<int> final_status(int status) {
  if (WIFEXITED(status))
    return WEXITSTATUS(status) == late_status ? std::nullopt : std::optional(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGINT || signal == SIGTERM) return 1;
  std::fprintf(stderr, "gossamer: the device ended: %s\n", strsignal(signal));
  return std::nullopt;
}

// The device is a process below this one, which starts it again.
int join_server(const RpcOptions& options) {
  const auto where = rpc::parse_address(options.join);
  if (!where) return report_error(where.error(), false);
  Joining joining{*where, options.name, random_token()};
  if (joining.name.empty()) {
    std::array<char, 256> host{};
    joining.name = gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "native";
  }
  const auto join = [&] {
    const auto done = join_as_device(joining);
    return done ? 0 : report_error(done.error(), false);
  };
  // Who started this one starts it again.
  if (options.with_parent) return join();
  for (;; joining.again = true) {
    const pid_t process = fork();
    if (process < 0)
      return report_error({"", cat("no process: ", std::strerror(errno)), ""}, false);
    if (process == 0) {
      end_with_parent();
      return join();
    }
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    if (const auto done = final_status(status)) return *done;
    std::fprintf(stderr, "gossamer: the device starts again\n");
    // One that fails at once fails again.
    sleep(1);
  }
}

int run_rpc(RpcOptions& options) {
  if (options.with_parent) end_with_parent();
  if (!options.join.empty()) return join_server(options);
  if (options.list.empty()) return run_server(options);
  const auto done = print_devices(options.list);
  return done ? 0 : report_error(done.error(), false);
}

}  // namespace

void add_rpc(CommandLine& app, Chosen& chosen) {
  auto options = std::make_shared<RpcOptions>();
  const Command command = app.add_command(
      "rpc", "Serve devices that join (pages, programs) to those who compile: --device");
  command.add_option("--port,-p", options->broker.port, "0 takes a free one").show_default();
  command.add_option("--host", options->broker.host, "The address to listen on").show_default();
  command.add_option("--token", options->broker.token,
                     "What all must say who connect; GOSSAMER_RPC_TOKEN, or one made up");
  const Option join = command.add_option(
      "--join", options->join,
      "Be a device (cpu, and wasm where wasmtime's library is) of the server at rpc://...");
  command.add_option("--name", options->name, "With --join: the device's name").needs(join);
  command.add_option("--list", options->list, "Print the devices of the server at rpc://...")
      .excludes(join);
  command.add_flag("--with-parent", options->with_parent,
                   "End when the program that started this one does");
  command.chosen([options, &chosen] { chosen.run = [options] { return run_rpc(*options); }; });
}

}  // namespace gossamer::command
