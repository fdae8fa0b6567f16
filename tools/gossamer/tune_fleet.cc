#include "gossamer/tune_fleet.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <mutex>
#include <thread>

#include "tune/batch_text.h"
#include "tune/text.h"

namespace gossamer::command {
namespace {

void say(std::string_view line) {
  std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
  std::fflush(stdout);
}

std::string json_string(std::string_view text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return {buffer.GetString(), buffer.GetSize()};
}

// Lines of standard input, with whose end the process ends: nobody would hear it any more. Devices
// end with it (`gossamer rpc --with-parent`).
class Input {
 public:
  Input() {
    std::thread([this] {
      for (std::string line; std::getline(std::cin, line);) {
        const std::lock_guard lock(mutex_);
        lines_.push_back(std::move(line));
        wake_.notify_one();
      }
      std::_Exit(0);
    }).detach();
  }

  std::string next() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return !lines_.empty(); });
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::string> lines_;
};

class Plan {
 public:
  Plan(const tune::Options& options, std::vector<compiler::KernelReport> kernels,
       std::atomic<bool>& is_stopped,
       const std::function<std::string(const tune::Outcome&)>& table_of)
      : options_(options), kernels_(std::move(kernels)), stopped_(is_stopped), table_(table_of) {}

  Result<std::string> answer(std::string_view line) {
    const std::string_view word = line.substr(0, line.find(' '));
    const std::string_view rest = line.substr(std::min(line.size(), word.size() + 1));
    if (word == "stop") {
      stopped_ = true;
      return "{}";
    }
    if (word == "survey") return survey(rest);
    if (!planner_) return fail("no device has said what it is");
    if (word == "next") return next();
    if (word == "take") {
      GS_ASSIGN(const tune::Answer taken, tune::read_measurement(rest));
      planner_->take(taken.number, taken.measurement);
      return "{}";
    }
    int number = 0;
    const auto [end, wrong] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (word != "lose" || wrong != std::errc()) return fail("survey, next, take, lose or stop");
    GS_TRY(planner_->lose(number, std::string(end, rest.data() + rest.size())));
    return "{}";
  }

 private:
  Result<std::string> survey(std::string_view text) {
    GS_ASSIGN(tune::Survey survey, tune::read_survey(text, kernels_));
    const std::string adapter = survey.timing.adapter;
    if (planner_ && adapter != planner_->adapter())
      return fail_at(adapter, cat("is not what the others are: ", planner_->adapter()),
                     "times of one device say nothing of another: tune for it by itself");
    if (!planner_) {
      GS_ASSIGN(planner_, tune::Planner::create(std::move(survey), options_));
    }
    return "{}";
  }

  std::string next() {
    if (const auto batch = planner_->next()) return cat("{\"batch\":", to_json(*batch), "}");
    if (!planner_->is_over()) return "{\"wait\":true}";
    const tune::Outcome outcome = planner_->outcome();
    return cat("{\"end\":", to_json(outcome), ",\"table\":", json_string(table_(outcome)), "}");
  }

  const tune::Options& options_;
  const std::vector<compiler::KernelReport> kernels_;
  std::atomic<bool>& stopped_;
  const std::function<std::string(const tune::Outcome&)>& table_;
  std::unique_ptr<tune::Planner> planner_;
};

}  // namespace

Result<> measure_batches(std::span<const std::byte> model, tune::Measurer& measurer,
                         const compiler::Options& compile) {
  static Input input;  // its thread goes on until the process ends
  const std::function<bool()> is_stopped;
  tune::Bench bench(model, measurer, compile, is_stopped);
  GS_ASSIGN(const tune::Survey survey, bench.begin().now());
  say(to_json(survey));
  while (true) {
    GS_ASSIGN(const tune::Batch batch, tune::read_batch(input.next()));
    GS_ASSIGN(const tune::Measurement measured, bench.measure(batch).now());
    say(to_json(measured, batch.number));
  }
}

Result<> plan_batches(std::span<const std::byte> model, const tune::Options& options,
                      std::atomic<bool>& is_stopped,
                      const std::function<std::string(const tune::Outcome&)>& table_of) {
  compiler::Options compile = options.compile;
  compile.records = nullptr;
  compile.groups = true;
  compiler::Report report;
  GS_TRY(compiler::compile(model, compile, &report));
  std::string files;
  if (compile.external)
    for (const auto& [name, bytes] : compile.external->opened())
      files += cat(files.empty() ? "" : ",", json_string(name));
  say(cat("{\"files\":[", files, "]}"));
  Plan plan(options, std::move(report.kernels), is_stopped, table_of);
  for (std::string line; std::getline(std::cin, line);) {
    const auto answer = plan.answer(line);
    say(answer ? *answer : cat("{\"error\":", json_string(answer.error().to_string()), "}"));
  }
  return {};
}

}  // namespace gossamer::command
