// What tuner.wasm has beside the compiler: compilations by records, and a search that asks
// JavaScript to load and time what it makes.
//
//   gs_compile_recorded      as gs_compile, by records besides; after a search, with files of
//                            weights that have no bytes: its first package has them
//   gs_tune                  -> Answer*: the first request
//   gs_tune_answer           takes the answer to the last request, -> the next one
//
// A request is the file "request" of an Answer, JSON {"ask", ...}, and with "load" the files of a
// package; web/compiler/src/tune.ts says what the others are. An instance has one search.
#include <rapidjson/document.h>

#include <coroutine>
#include <memory>

#include "compiler/lowered_kernel_cache.h"
#include "native/options.h"
#include "tune/text.h"
#include "tune/tuner.h"

namespace gossamer::web {
namespace {

package::File text_file(std::string name, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {std::move(name), {bytes, bytes + text.size()}};
}

// Puts each request where JavaScript finds it, and goes on with the answer.
class PageMeasurer : public tune::Measurer {
 public:
  package::Files request;  // not empty: waits for its answer
  bool is_stopped = false;

  // JSON: {"error": text}, or what was asked for; with "stop", the search ends soon.
  void take(std::string_view answer) {
    answer_ = answer;
    rapidjson::Document json;
    json.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag>(answer.data(),
                                                                                answer.size());
    error_.clear();
    if (json.HasParseError() || !json.IsObject()) {
      error_ = "the page's answer is no JSON object";
    } else {
      is_stopped = is_stopped || json.HasMember("stop");
      if (json.HasMember("error") && json["error"].IsString()) error_ = json["error"].GetString();
    }
    request.clear();
    waiting_.resume();
  }

  tune::Task<Result<int>> load(package::Files files) override {
    const int number = next_++;
    GS_CO_TRY(co_await Asked{*this, "load", cat(R"("model":)", number), std::move(files)});
    co_return number;
  }
  void free(int model) override { freed_ += cat(freed_.empty() ? "" : ",", model); }
  tune::Task<Result<tune::Timing>> profile(int model, int runs,
                                           const std::vector<int>& kernels) override {
    std::string list;
    for (const int kernel : kernels) list += cat(list.empty() ? "" : ",", kernel);
    GS_CO_TRY(
        co_await Asked{*this,
                       "profile",
                       cat(R"("model":)", model, R"(,"runs":)", runs, R"(,"kernels":[)", list, "]"),
                       {}});
    co_return tune::read_profile(answer_);
  }
  tune::Task<Result<double>> time(int model, int runs) override {
    GS_CO_TRY(co_await Asked{*this, "runs", cat(R"("model":)", model, R"(,"runs":)", runs), {}});
    co_return tune::read_time(answer_);
  }
  tune::Task<Result<>> check(int model) override {
    co_return co_await Asked{*this, "check", cat(R"("model":)", model), {}};
  }

 private:
  struct Asked {
    PageMeasurer& measurer;
    std::string_view what;
    std::string about;
    package::Files files;

    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      PageMeasurer& to = measurer;
      to.waiting_ = waiting;
      to.request = std::move(files);
      to.request.push_back(text_file(
          "request", cat(R"({"ask":")", what, R"(",)", about, R"(,"freed":[)", to.freed_, "]}")));
      to.freed_.clear();
    }
    Result<> await_resume() const {
      if (!measurer.error_.empty()) return fail(measurer.error_);
      return {};
    }
  };

  std::coroutine_handle<> waiting_;
  std::string answer_, error_, freed_;
  int next_ = 0;
};

using Outcome = Result<tune::Outcome>;

struct Search {
  std::vector<std::byte> model;
  std::vector<Entry> given;
  std::unique_ptr<onnx::ExternalFiles> external;
  std::string compile_options;  // as they came, and what became of kernels with them
  compiler::LoweredKernelCache lowered;
  package::WeightFiles weights;  // without bytes: the page has them of the first package
  tune::Recorded recorded;
  tune::Options options;
  PageMeasurer measurer;
  std::string lines, progress;  // since the last request
  std::unique_ptr<tune::Task<Outcome>> task;

  // What it asks for next, or says at the end.
  Result<package::Files> next() {
    package::Files files = std::move(measurer.request);
    measurer.request.clear();
    if (task->is_done()) {
      GS_ASSIGN(tune::Outcome outcome, task->take());
      weights = std::move(outcome.weights);
      files = {text_file("request", cat(R"({"ask":"end","outcome":)", to_json(outcome), "}"))};
    }
    if (!lines.empty()) files.push_back(text_file("lines", lines));
    if (!progress.empty()) files.push_back(text_file("progress", progress));
    lines.clear();
    progress.clear();
    return files;
  }
};

std::unique_ptr<Search> search;

Result<package::Files> begin(std::span<const std::byte> model, std::string_view json,
                             std::span<const Entry> given, std::string_view records, double seconds,
                             int trials, uint32_t seed, double layout_share) {
  search = std::make_unique<Search>();
  search->model.assign(model.begin(), model.end());
  search->given.assign(given.begin(), given.end());
  tune::Options& options = search->options;
  GS_ASSIGN(options.compile, read_options(json));
  options.compile.progress = nullptr;
  search->compile_options = json;
  options.compile.lowered = &search->lowered;
  if (!given.empty() || !options.compile.hold_external) {
    search->external = std::make_unique<onnx::ExternalFiles>(opener_of(search->given));
    options.compile.external = search->external.get();
  }
  search->recorded = tune::read_records(records, "records");
  options.known = search->recorded.trials;
  options.known_layouts = search->recorded.layout_trials;
  options.costs = search->recorded.costs;
  options.compile.records = &search->recorded.records;
  options.seconds = seconds;
  options.trials = trials;
  options.seed = seed;
  options.layout_share = layout_share;
  // The package that the page gets, by code that is warm then.
  options.compilations_after = 0.3;
  Search* made = search.get();
  const auto write = [made](const tune::Trial& trial, const std::string& kernel, bool best) {
    made->lines += line_of(trial, kernel, best) + '\n';
  };
  options.on_trial = [write](const auto& trial, const auto& kernel) {
    write(trial, kernel, false);
  };
  options.on_better = [write](const auto& trial, const auto& kernel) {
    write(trial, kernel, true);
  };
  options.on_layout_trial = [made](const auto& trial, const auto& name) {
    made->lines += line_of(trial, name) + '\n';
  };
  options.on_better_layout = [made](const auto& layout, const auto& trial, const auto& name) {
    made->lines += line_of(layout, trial, name) + '\n';
  };
  options.on_progress = [made](const tune::Progress& progress) {
    made->progress = to_json(progress);
  };
  options.is_stopped = [made] { return made->measurer.is_stopped; };
  search->task =
      std::make_unique<tune::Task<Outcome>>(tune::tune(search->model, search->measurer, options));
  search->task->begin();
  return search->next();
}

}  // namespace
}  // namespace gossamer::web

using gossamer::web::Answer;
using gossamer::web::Entry;

GS_EXPORT(gs_compile_recorded)
Answer* gs_compile_recorded(const std::byte* model, uint32_t model_size, const char* options,
                            uint32_t options_size, const Entry* given, uint32_t given_count,
                            const char* records, uint32_t records_size) {
  const auto compile = [&]() -> gossamer::Result<gossamer::package::Files> {
    GS_ASSIGN(auto read, gossamer::web::read_options({options, options_size}));
    gossamer::onnx::ExternalFiles external(gossamer::web::opener_of({given, given_count}));
    if (given_count > 0 || !read.hold_external) read.external = &external;
    // Most kernels of what a search found are there, and its weights are the page's.
    auto& search = gossamer::web::search;
    if (search && search->compile_options == std::string_view(options, options_size)) {
      read.lowered = &search->lowered;
      if (!search->weights.files.empty()) read.weights = &search->weights;
    }
    const auto recorded = gossamer::tune::read_records({records, records_size}, "records");
    read.records = &recorded.records;
    return gossamer::compiler::compile({model, model_size}, read);
  };
  return gossamer::web::answer(compile());
}

// Model, options and records may go when it returns; files of weights (`given`) must stay.
GS_EXPORT(gs_tune)
Answer* gs_tune(const std::byte* model, uint32_t model_size, const char* options,
                uint32_t options_size, const Entry* given, uint32_t given_count,
                const char* records, uint32_t records_size, double seconds, int trials,
                uint32_t seed, double layout_share) {
  return gossamer::web::answer(gossamer::web::begin({model, model_size}, {options, options_size},
                                                    {given, given_count}, {records, records_size},
                                                    seconds, trials, seed, layout_share));
}

GS_EXPORT(gs_tune_answer)
Answer* gs_tune_answer(const char* json, uint32_t size) {
  auto& search = gossamer::web::search;
  if (!search || search->task->is_done()) return gossamer::web::answer(gossamer::fail("no search"));
  search->measurer.take({json, size});
  return gossamer::web::answer(search->next());
}
