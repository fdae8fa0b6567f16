// Runs a cpu package on commands from stdin, so that it can take turns with a peer in another
// process:
//   serve PACKAGE THREADS [NAME=SHAPE=FILE | DIM]...
//     NAME=1x3x4=FILE: that input's raw bytes; other inputs are f32 and filled with periodic
//     values, their open dimensions with the DIMs in order
//   "run N"       N runs; prints {"wall": [ms...], "cpu": [ms...]}
//   "save STEM"   writes the outputs of the latest run, raw, to STEM0, STEM1, ...; prints {"types":
//   ["f32", ...]}
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "ir/type.h"
#include "runtime/model.h"

using namespace gossamer;

namespace {

double cpu_ms() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

double wall_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "serve: %s\n", what.c_str());
  std::exit(1);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + "\"";
}

std::string list(const std::vector<double>& values) {
  std::string result = "[";
  for (double value : values) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%.4f", result.size() > 1 ? "," : "", value);
    result += text;
  }
  return result + "]";
}

std::vector<std::byte> file_bytes(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) die("cannot read " + path);
  std::fseek(file, 0, SEEK_END);
  std::vector<std::byte> bytes(static_cast<size_t>(std::ftell(file)));
  std::rewind(file);
  if (std::fread(bytes.data(), 1, bytes.size(), file) != bytes.size()) die("cannot read " + path);
  std::fclose(file);
  return bytes;
}

// SHAPE=FILE of an input's argument; SHAPE may be empty.
runtime::HostTensor given(ir::DType dtype, const std::string& text) {
  const size_t middle = text.find('=');
  if (middle == std::string::npos) die("an input is given as NAME=SHAPE=FILE");
  std::vector<int64_t> shape;
  for (const char* at = text.c_str(); at < text.c_str() + middle;) {
    char* end = nullptr;
    shape.push_back(std::strtoll(at, &end, 10));
    at = end + 1;
  }
  return {dtype, std::move(shape), file_bytes(text.substr(middle + 1))};
}

runtime::HostTensor fill(ir::DType dtype, std::vector<int64_t> shape) {
  if (dtype != ir::DType::f32) die("an input is not f32");
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t at = 0; at < values.size(); ++at)
    values[at] = static_cast<float>(static_cast<double>((at * 37) % 101) / 101 - 0.5);
  const auto bytes = std::as_bytes(std::span(values));
  return {dtype, std::move(shape), {bytes.begin(), bytes.end()}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) die("serve PACKAGE THREADS [NAME=SHAPE=FILE | DIM]...");
  runtime::LoadOptions options;
  options.threads = std::atoi(argv[2]);
  std::vector<std::string> inputs, dims;
  for (int at = 3; at < argc; ++at)
    (std::strchr(argv[at], '=') ? inputs : dims).push_back(argv[at]);
  size_t next = 0;
  auto model = runtime::Model::load(argv[1], std::move(options));
  if (!model) die(model.error().to_string());
  std::vector<runtime::HostTensor> feeds;
  for (const runtime::Port& port : (*model)->inputs()) {
    const std::string prefix = port.name + "=";
    const auto found = std::ranges::find_if(
        inputs, [&](const std::string& input) { return input.starts_with(prefix); });
    if (found != inputs.end()) {
      feeds.push_back(given(port.dtype, found->substr(prefix.size())));
      continue;
    }
    std::vector<int64_t> shape = port.shape;
    for (int64_t& extent : shape) {
      if (extent < 0) extent = next < dims.size() ? std::atoll(dims[next++].c_str()) : 1;
    }
    feeds.push_back(fill(port.dtype, std::move(shape)));
  }
  std::vector<runtime::HostTensor> outputs;
  // An earlier build may have no run() into memory that is there.
  const auto run_on = [](auto& on, const auto& with, auto& into) -> Result<> {
    if constexpr (requires { on.run(with, into); }) {
      return on.run(with, into);
    } else {
      GS_ASSIGN(into, on.run(with));
      return {};
    }
  };
  const auto run = [&] {
    if (auto done = run_on(**model, feeds, outputs); !done) die(done.error().to_string());
  };
  std::printf("{\"device\": %s}\n", quoted((*model)->report().device).c_str());
  std::fflush(stdout);
  char line[4096];
  while (std::fgets(line, sizeof line, stdin)) {
    int count = 0;
    if (std::sscanf(line, "run %d", &count) == 1) {
      std::vector<double> wall, cpu;
      for (int turn = 0; turn < count; ++turn) {
        const double began = wall_ms(), used = cpu_ms();
        run();
        wall.push_back(wall_ms() - began);
        cpu.push_back(cpu_ms() - used);
      }
      std::printf("{\"wall\": %s, \"cpu\": %s}\n", list(wall).c_str(), list(cpu).c_str());
    } else if (std::strncmp(line, "save ", 5) == 0) {
      const std::string stem(line + 5, std::strcspn(line + 5, "\n"));
      std::string types;
      for (size_t at = 0; at < outputs.size(); ++at) {
        std::FILE* file = std::fopen((stem + std::to_string(at)).c_str(), "wb");
        if (!file) die("cannot write " + stem);
        std::fwrite(outputs[at].bytes.data(), 1, outputs[at].bytes.size(), file);
        std::fclose(file);
        types += (at ? ", " : "") + quoted(std::string(ir::name_of(outputs[at].dtype)));
      }
      std::printf("{\"types\": [%s]}\n", types.c_str());
    } else {
      die("unknown command");
    }
    std::fflush(stdout);
  }
}
