#include "gossamer/devices/tune_fleet.h"

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
#include "tune/whole_search.h"

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
  Plan(std::span<const std::byte> model, const tune::Options& options, tune::Survey seen,
       std::atomic<bool>& is_stopped,
       const std::function<std::string(const tune::Outcome&)>& table_of)
      : model_(model),
        options_(options),
        compile_(options.compile),
        seen_(std::move(seen)),
        stopped_(is_stopped),
        table_(table_of) {}

  Result<std::string> answer(std::string_view line) {
    const std::string_view word = line.substr(0, line.find(' '));
    const std::string_view rest = line.substr(std::min(line.size(), word.size() + 1));
    if (word == "stop") {
      stopped_ = true;
      return "{}";
    }
    if (word == "survey") return survey(rest);
    if (!search_) return fail("no device has said what it is");
    if (word == "next") return next();
    if (word == "take") {
      GS_ASSIGN(tune::Answer taken, tune::read_measurement(rest, laid_out_));
      GS_TRY(search_->take(taken.number, std::move(taken.measurement)));
      return "{}";
    }
    int number = 0;
    const auto [end, wrong] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (word != "lose" || wrong != std::errc()) return fail("survey, next, take, lose or stop");
    GS_TRY(search_->lose(number, std::string(end, rest.data() + rest.size())));
    return "{}";
  }

 private:
  Result<std::string> survey(std::string_view text) {
    GS_ASSIGN(tune::Survey survey, tune::read_survey(text, seen_));
    const std::string adapter = survey.timing.adapter;
    if (search_ && adapter != search_->adapter())
      return fail_at(adapter, cat("is not what the others are: ", search_->adapter()),
                     "times of one device say nothing of another: tune for it by itself");
    if (!search_) {
      take_adapters(survey, compile_);
      search_ = std::make_unique<tune::WholeSearch>(std::move(survey), options_);
    }
    return "{}";
  }

  Result<std::string> next() {
    GS_ASSIGN(const auto batch, search_->next());
    if (batch) {
      if (batch->kind == tune::Batch::Kind::survey) {
        GS_ASSIGN(laid_out_, kernels_in(batch->layouts, model_, compile_));
      }
      return cat("{\"batch\":", to_json(*batch), "}");
    }
    if (!search_->is_over()) return "{\"wait\":true}";
    const tune::Outcome outcome = search_->outcome();
    return cat("{\"end\":", to_json(outcome), ",\"table\":", json_string(table_(outcome)), "}");
  }

  const std::span<const std::byte> model_;
  const tune::Options& options_;
  compiler::Options compile_;  // as the devices compile
  const tune::Survey seen_;
  std::vector<compiler::KernelReport> laid_out_;  // in the layouts that were taken
  std::atomic<bool>& stopped_;
  const std::function<std::string(const tune::Outcome&)>& table_;
  std::unique_ptr<tune::WholeSearch> search_;
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
  GS_ASSIGN(tune::Survey seen, tune::survey_without_times(model, options.compile));
  std::string files;
  if (options.compile.external)
    for (const auto& [name, bytes] : options.compile.external->opened())
      files += cat(files.empty() ? "" : ",", json_string(name));
  say(cat("{\"files\":[", files, "]}"));
  Plan plan(model, options, std::move(seen), is_stopped, table_of);
  for (std::string line; std::getline(std::cin, line);) {
    const auto answer = plan.answer(line);
    say(answer ? *answer : cat("{\"error\":", json_string(answer.error().to_string()), "}"));
  }
  return {};
}

}  // namespace gossamer::command
