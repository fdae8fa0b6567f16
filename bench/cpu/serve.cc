// Runs a cpu package on commands from stdin, so that it can take turns with a peer in another
// process:
//   serve PACKAGE THREADS DIM...   (DIM: values for the inputs' open dimensions, in order)
//   "run N"      N runs; prints {"wall": [ms...], "cpu": [ms...]}
//   "profile N"  prints [{"name", "schedule", "origin", "ms": fastest of N}...]
//   "save FILE"  writes the first output of the latest run, raw
// The inputs are filled by the rule of lib/feeds.mjs.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
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
  if (argc < 3) die("serve PACKAGE THREADS DIM...");
  runtime::LoadOptions options;
  options.threads = std::atoi(argv[2]);
  options.profile = argc > 3 && std::strcmp(argv[3], "--profile") == 0;
  int next = options.profile ? 4 : 3;
  auto model = runtime::Model::load(argv[1], std::move(options));
  if (!model) die(model.error().to_string());
  std::vector<runtime::HostTensor> feeds;
  for (const runtime::Port& port : (*model)->inputs()) {
    std::vector<int64_t> shape = port.shape;
    for (int64_t& extent : shape) {
      if (extent < 0) extent = next < argc ? std::atoll(argv[next++]) : 1;
    }
    feeds.push_back(fill(port.dtype, std::move(shape)));
  }
  std::vector<runtime::HostTensor> outputs;
  const auto run = [&] {
    auto result = (*model)->run(feeds);
    if (!result) die(result.error().to_string());
    outputs = std::move(*result);
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
    } else if (std::sscanf(line, "profile %d", &count) == 1) {
      std::vector<double> best;
      for (int turn = 0; turn < count; ++turn) {
        run();
        const auto launches = (*model)->report().launches;
        best.resize(launches.size(), std::numeric_limits<double>::infinity());
        for (size_t at = 0; at < best.size(); ++at)
          best[at] = std::min(best[at], launches[at].milliseconds);
      }
      const auto launches = (*model)->report().launches;
      std::printf("[");
      for (size_t at = 0; at < best.size(); ++at) {
        std::printf("%s{\"name\": %s, \"schedule\": %s, \"origin\": %s, \"ms\": %.5f}",
                    at ? "," : "", quoted(launches[at].kernel).c_str(),
                    quoted(launches[at].schedule).c_str(), quoted(launches[at].origin).c_str(),
                    best[at]);
      }
      std::printf("]\n");
    } else if (std::strncmp(line, "save ", 5) == 0) {
      const std::string path(line + 5, std::strcspn(line + 5, "\n"));
      std::FILE* file = std::fopen(path.c_str(), "wb");
      if (!file || outputs.empty()) die("nothing to save, or nowhere");
      std::fwrite(outputs[0].bytes.data(), 1, outputs[0].bytes.size(), file);
      std::fclose(file);
      std::printf("{}\n");
    } else {
      die("unknown command");
    }
    std::fflush(stdout);
  }
}
