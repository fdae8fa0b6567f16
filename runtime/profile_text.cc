// A profile as a table, as a trace and as JSON; web/runtime/src/profile has the same columns,
// events and names.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/result.h"
#include "gossamer/profile.hpp"

namespace gossamer {
namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr size_t columns = 11, numbers = 8;
using Row = std::array<std::string, columns>;

std::string fixed(double value, int digits) {
  if (!(value > 0) || !std::isfinite(value)) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

double rate(double amount, double ms) { return ms > 0 ? amount / ms / 1e6 : 0; }

Row row_of(const KernelProfile& kernel, double kernel_ms) {
  return {fixed(kernel.ms, 4),
          fixed(100 * kernel.ms / kernel_ms, 1),
          cat(kernel.launches),
          fixed(kernel.bytes / 1e6, 2),
          fixed(rate(kernel.bytes, kernel.ms), 1),
          fixed(rate(kernel.operations, kernel.ms), 1),
          fixed(100 * kernel.share, 0),
          kernel.limit,
          kernel.name,
          kernel.origin,
          kernel.schedule.substr(0, kernel.schedule.find(':'))};  // only what kind it is
}

void member(Json& json, const char* key, const std::string& value) {
  json.Key(key);
  json.String(value);
}
void member(Json& json, const char* key, double value) {
  json.Key(key);
  json.Double(std::isfinite(value) ? value : 0);
}
void member(Json& json, const char* key, int64_t value) {
  json.Key(key);
  json.Int64(value);
}

void write_limits(Json& json, const Profile& profile) {
  json.Key("limits");
  json.StartArray();
  json.StartObject();
  member(json, "device", profile.device);
  member(json, "copyRate", profile.limits.copy_rate);
  member(json, "arithmeticRate", profile.limits.arithmetic_rate);
  json.EndObject();
  json.EndArray();
}

void write_head(Json& json, const Profile& profile) {
  member(json, "model", profile.model);
  member(json, "device", profile.device);
  member(json, "adapter", profile.adapter);
  member(json, "method", profile.method);
  member(json, "runMs", profile.run_ms);
  member(json, "kernelMs", profile.kernel_ms);
  write_limits(json, profile);
}

// The name of a process or a thread.
void write_name(Json& json, const char* what, int64_t thread, const std::string& name) {
  json.StartObject();
  member(json, "name", std::string(what));
  member(json, "ph", std::string("M"));
  member(json, "pid", int64_t{1});
  member(json, "tid", thread);
  json.Key("args");
  json.StartObject();
  member(json, "name", name);
  json.EndObject();
  json.EndObject();
}

}  // namespace

std::string Profile::table() const {
  std::vector<Row> rows{{"ms", "%", "launches", "MB", "GB/s", "GFLOP/s", "% of", "limit", "kernel",
                         "nodes", "schedule"}};
  for (const KernelProfile& kernel : kernels)
    if (kernel.launches > 0) rows.push_back(row_of(kernel, kernel_ms));
  std::array<size_t, columns> widths{};
  for (const Row& row : rows)
    for (size_t at = 0; at < columns; ++at) widths[at] = std::max(widths[at], row[at].size());
  std::string text = cat(model, " on ", device, ": ", adapter, "\n");
  for (const Row& row : rows) {
    std::string line;
    for (size_t at = 0; at < columns; ++at) {
      const std::string room(widths[at] - row[at].size(), ' ');
      line += cat(at > 0 ? "  " : "", at + 1 < numbers ? room + row[at] : row[at] + room);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  text += cat(fixed(kernel_ms, 3), " ms in kernels (by ", method, "), ", fixed(run_ms, 3),
              " ms a run\n", device, ": a copy reaches ", fixed(limits.copy_rate, 1),
              " GB/s, multiply-adds ", fixed(limits.arithmetic_rate, 1), " GFLOP/s");
  return text;
}

std::string Profile::trace() const {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  member(json, "displayTimeUnit", std::string("ms"));
  json.Key("otherData");
  json.StartObject();
  write_head(json, *this);
  json.EndObject();
  json.Key("traceEvents");
  json.StartArray();
  write_name(json, "process_name", 0, cat(model, " (", device, ")"));
  write_name(json, "thread_name", 1, device);
  int64_t end = 0;  // nanoseconds, whole ones, so that no event begins before the last ends
  for (const LaunchProfile& launch : launches) {
    const auto duration = static_cast<int64_t>(std::llround(1e6 * launch.ms));
    json.StartObject();
    member(json, "name", launch.name);
    member(json, "cat", std::string("kernel"));
    member(json, "ph", std::string("X"));
    member(json, "pid", int64_t{1});
    member(json, "tid", int64_t{1});
    member(json, "ts", static_cast<double>(end) / 1e3);
    member(json, "dur", static_cast<double>(duration) / 1e3);
    json.Key("args");
    json.StartObject();
    member(json, "nodes", launch.origin);
    member(json, "bytes", launch.bytes);
    member(json, "operations", launch.operations);
    member(json, "GB/s", rate(launch.bytes, launch.ms));
    member(json, "GFLOP/s", rate(launch.operations, launch.ms));
    json.EndObject();
    json.EndObject();
    end += duration;
  }
  json.EndArray();
  json.EndObject();
  return text.GetString();
}

std::string Profile::json() const {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  write_head(json, *this);
  json.Key("kernels");
  json.StartArray();
  for (const KernelProfile& kernel : kernels) {
    json.StartObject();
    member(json, "name", kernel.name);
    member(json, "schedule", kernel.schedule);
    member(json, "device", device);
    member(json, "launches", kernel.launches);
    member(json, "ms", kernel.ms);
    member(json, "bytes", kernel.bytes);
    member(json, "operations", kernel.operations);
    member(json, "origin", kernel.origin);
    member(json, "limit", kernel.limit);
    member(json, "share", kernel.share);
    json.EndObject();
  }
  json.EndArray();
  json.Key("launches");
  json.StartArray();
  for (const LaunchProfile& launch : launches) {
    json.StartObject();
    member(json, "name", launch.name);
    member(json, "kernel", static_cast<int64_t>(launch.kernel));
    member(json, "origin", launch.origin);
    member(json, "device", device);
    member(json, "ms", launch.ms);
    member(json, "bytes", launch.bytes);
    member(json, "operations", launch.operations);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return text.GetString();
}

}  // namespace gossamer
