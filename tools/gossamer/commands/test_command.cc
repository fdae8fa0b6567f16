// gossamer test: every case below some folders, on one target.

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <thread>

#include "api/files.h"
#include "gossamer/commands/commands.h"
#include "gossamer/commands/records_file.h"
#include "gossamer/devices/web_cases.h"
#include "gossamer/judge/compiled_once.h"
#include "gossamer/judge/judge.h"
#include "gossamer/judge/kept_verdicts.h"
#include "gossamer/runners/isolate.h"

namespace gossamer::command {
namespace {

struct TestOptions {
  std::vector<std::string> folders, targets;
  std::string target;  // of those the one that is tried
  RecordOptions records;
  std::string filter, only, adapters = "any";
  bool f16 = false, relaxed_simd = true;
  BrowserOptions browser;
  int limit = 0, jobs = 1;
  double timeout = 300;
  bool json = false, list = false;
  RunnerOptions runner;
  JudgeOptions judge;
};

struct Tally {
  int passed = 0, failed = 0;
};

void print_verdict(const Verdict& verdict, bool json, Tally& tally) {
  ++(verdict.status == Verdict::pass ? tally.passed : tally.failed);
  if (json) {
    std::printf("%s\n", to_json(verdict).c_str());
  } else {
    std::printf("%-5s %s", std::string(name_of(verdict.status)).c_str(), verdict.name.c_str());
    if (verdict.status != Verdict::error)
      std::printf("  error %.3g of tolerance, %.2f ms", verdict.ratio, verdict.milliseconds);
    if (!verdict.message.empty()) std::printf("  (%s)", verdict.message.c_str());
    if (!verdict.known.empty()) std::printf("  (%s known when compiling)", verdict.known.c_str());
    if (verdict.elsewhere > 0) std::printf("  (%d launches on the CPU side)", verdict.elsewhere);
    if (verdict.kept) std::printf("  (kept)");
    std::printf("\n");
  }
  std::fflush(stdout);
}

void show_progress(size_t done, size_t count) {
  if (isatty(STDERR_FILENO))
    std::fprintf(stderr, "\r%zu of %zu%s", done, count, done == count ? "\n" : "");
}

Result<> run_here(const TestOptions& options, const std::vector<TestCase>& cases,
                  const KeptVerdicts* kept, const Done& done) {
  GS_ASSIGN(const CompiledOnce once, CompiledOnce::create(cases));
  run_isolated(
      cases.size(), options.jobs, options.timeout,
      [&](size_t at) {
        return to_message(
            run_case(cases[at], options.target, options.runner, options.judge, once, kept));
      },
      [&](size_t at, const JobOutcome& outcome) {
        Verdict verdict;
        verdict.name = cases[at].name;
        verdict.message = outcome.text;
        if (outcome.finished) verdict = verdict_from_message(outcome.text);
        done(at, verdict);
      });
  return {};
}

Result<> run_in_browser(const TestOptions& options, const std::vector<TestCase>& cases,
                        const KeptVerdicts* kept, const Done& done) {
  const WebTestOptions web{.target = options.target,
                           .browser = options.browser,
                           .adapters = options.adapters,
                           .records = options.runner.records,
                           .f16 = options.f16,
                           .relaxed_simd = options.relaxed_simd,
                           .jobs = options.jobs,
                           .timeout = options.timeout,
                           .threads = options.runner.threads,
                           .open = options.judge.open,
                           .kept = kept};
  return run_web_cases(cases, web, options.judge, done);
}

// Runs without a browser and without another machine.
bool runs_in_process(const TestOptions& options) {
  return options.target == "interp" || options.target == "c" ||
         runs_here_on(options.target, options.browser.device);
}

Result<TestSetting> setting_of(const TestOptions& options) {
  const BrowserOptions& browser = options.browser;
  TestSetting setting;
  if (!runs_in_process(options)) {
    setting.device = browser.name;
    setting.place = cat(options.target, "-", browser.name);
  } else {
    const bool paged = runs_here_on(options.target, native_device) && !runs_here(options.target);
    setting.device = setting.place = cat(paged ? "native_" : "", options.target);
  }
  const int threads = options.runner.threads;
  const unsigned count =
      threads > 0 ? static_cast<unsigned>(threads) : std::thread::hardware_concurrency();
  setting.run = cat(browser.args, "\n", browser.limits, "\n", options.f16, "\n", threads, " ",
                    count, "\n", options.judge.classes, options.judge.open ? "\nopen" : "");
  setting.compile = cat(options.adapters, "\n", options.relaxed_simd, "\n", options.runner.cpu,
                        "\n", options.records.device_class, "\n");
  if (!options.records.file.empty()) {
    GS_ASSIGN(const std::string records, read_text(options.records.file));
    setting.compile += records;
  }
  return setting;
}

// nullptr where none are kept: it was not asked for, or the device is another machine or a browser
// that identity.json does not describe.
std::unique_ptr<KeptVerdicts> open_kept(const TestOptions& options) {
  const char* folder = std::getenv("GOSSAMER_VERDICTS");
  if (!folder || !*folder || !options.browser.path.empty()) return nullptr;
  if (!options.browser.device.empty() && options.browser.device != native_device) return nullptr;
  auto setting = setting_of(options);
  if (!setting) return nullptr;  // reported when the records are read
  auto kept = KeptVerdicts::open(folder, *std::move(setting));
  if (kept) return *std::move(kept);
  std::fprintf(stderr, "gossamer: no verdicts are kept: %s\n", kept.error().to_string().c_str());
  return nullptr;
}

// Reads what compilations take of records. Errors: as of records_for.
Result<> records_of(TestOptions& options, records::Records& records) {
  if (options.target == "interp" || options.target == "c") return {};
  compiler::Options compile;
  compile.target = options.target;
  compile.native_side = runs_here_on(options.target, options.browser.device);
  compile.cpu = options.runner.cpu;
  GS_ASSIGN(records,
            records_for(options.records, compile, compile.native_side ? Here::apart : Here::no));
  options.runner.records = &records;
  return {};
}

// Prints verdicts in the order of the cases. Errors: as of run_web_cases.
Result<> run_cases(TestOptions& options, const std::vector<TestCase>& cases, Tally& tally) {
  const std::unique_ptr<KeptVerdicts> kept = open_kept(options);
  std::vector<std::optional<Verdict>> verdicts(cases.size());
  std::vector<std::string> keys(cases.size());
  std::vector<TestCase> left;
  std::vector<size_t> places;  // of `left` in `cases`
  size_t printed = 0;
  const auto take = [&](size_t at, Verdict verdict) {
    if (kept) kept->keep(keys[at], verdict);
    verdicts[at] = std::move(verdict);
    for (; printed < cases.size() && verdicts[printed]; ++printed) {
      print_verdict(*verdicts[printed], options.json, tally);
      show_progress(printed + 1, cases.size());
    }
  };
  for (size_t at = 0; at < cases.size(); ++at) {
    if (kept) keys[at] = kept->files_key(cases[at]);
    if (auto found = kept ? kept->find(keys[at], cases[at].name) : std::nullopt) {
      take(at, *std::move(found));
      continue;
    }
    left.push_back(cases[at]);
    places.push_back(at);
  }
  if (left.empty()) return {};
  records::Records records;
  GS_TRY(records_of(options, records));
  const auto done = [&](size_t at, const Verdict& verdict) { take(places[at], verdict); };
  if (!runs_in_process(options)) return run_in_browser(options, left, kept.get(), done);
  options.runner.f16 = options.f16;
  options.runner.adapters = options.adapters;
  options.runner.limits = options.browser.limits;
  return run_here(options, left, kept.get(), done);
}

// The names in a file, one a line.
Result<std::set<std::string>> read_names(const std::string& file) {
  GS_ASSIGN(const std::string text, read_text(file));
  const std::vector<std::string> lines = lines_of(text);
  return std::set<std::string>(lines.begin(), lines.end());
}

void print_cases(const std::vector<TestCase>& cases, bool json) {
  for (const TestCase& test : cases) {
    if (!json) {
      std::printf("%s\n", test.name.c_str());
      continue;
    }
    rapidjson::StringBuffer text;
    rapidjson::Writer<rapidjson::StringBuffer> writer(text);
    writer.StartObject();
    writer.Key("name");
    writer.String(test.name);
    writer.Key("operators");
    writer.StartArray();
    for (const std::string& name : operators_of(test)) writer.String(name);
    writer.EndArray();
    writer.EndObject();
    std::printf("%s\n", text.GetString());
  }
}

int run_test(TestOptions& options) {
  if (!options.list && options.targets.empty()) return report_usage("--target is required");
  for (const std::string& target : options.targets) {
    if (const std::string wrong = wrong_device(target, options.browser.device); !wrong.empty())
      return report_usage(wrong);
    if (options.browser.limits == "es31" && target != "opengl")
      return report_usage("--limits es31 is for --target opengl");
    if ((target == "interp" || target == "c") && !options.browser.device.empty())
      return report_usage(cat("--device has no target ", target));
  }
  auto found = find_cases(options.folders);
  if (!found) return report_error(found.error(), options.json);
  std::set<std::string> only;
  if (!options.only.empty()) {
    auto names = read_names(options.only);
    if (!names) return report_error(names.error(), options.json);
    only = std::move(*names);
  }
  std::vector<TestCase> cases;
  for (TestCase& test : *found) {
    if (!options.only.empty() && !only.contains(test.name)) continue;
    if (!options.filter.empty() && test.name.find(options.filter) == std::string::npos) continue;
    if (options.limit > 0 && cases.size() == static_cast<size_t>(options.limit)) break;
    cases.push_back(std::move(test));
  }
  if (cases.empty())
    return report_error({{}, cat("no case's name contains \"", options.filter, "\""), {}},
                        options.json);
  if (options.list) {
    print_cases(cases, options.json);
    return 0;
  }
  Tally tally;
  for (const std::string& target : options.targets) {
    options.target = target;
    if (options.targets.size() > 1 && !options.json) std::printf("%s:\n", target.c_str());
    if (auto result = run_cases(options, cases, tally); !result)
      return report_error(result.error(), options.json);
  }
  if (options.json)
    std::printf("{\"passed\":%d,\"failed\":%d}\n", tally.passed, tally.failed);
  else
    std::printf("%d passed, %d failed\n", tally.passed, tally.failed);
  return tally.failed > 0 ? 1 : 0;
}

}  // namespace

void add_test(CommandLine& app, Chosen& chosen) {
  auto options = std::make_shared<TestOptions>();
  const Command command = app.add_command("test", "Run the test cases below folders on a target");
  command
      .add_option(
          "folders", options->folders,
          "Folders; a case is a model.onnx with test_data_set_N/ or gold_ort/ beside it, or one "
          "of an operator file (.jsonc)")
      .required();
  command
      .add_option("--target,-t", options->targets,
                  "Where the cases run, one target after the other")
      .delimiter(',')
      .one_of(target_names({"interp", "c"}));
  command.add_flag(
      "--open", options->judge.open,
      "A model that needs shapes or values of inputs when compiling is an error; else they are "
      "taken from the case, and the verdict says so");
  command.add_option("--filter", options->filter, "Only cases whose name contains this");
  command.add_option("--cases", options->only, "Only the cases that this file names, one a line");
  command.add_flag("--list", options->list, "Only list the cases; with --json, their operators");
  command.add_option("--limit", options->limit, "At most so many cases").not_negative();
  command.add_option("--jobs,-j", options->jobs, "Cases at a time").within(1, 256);
  command.add_option("--timeout", options->timeout, "Seconds a case may take; 0: no limit")
      .not_negative();
  command.add_option("--threads", options->runner.threads, "Threads of a run; 0: one a core")
      .within(0, 1024);
  command.add_option("--cpu", options->runner.cpu,
                     "cpu, opencl, opengl: LLVM's name of the processor");
  add_browser_options(command, options->browser);
  command
      .add_option("--limits", options->browser.limits,
                  "mobile: compile for the limits of mobile devices, and hold the browser to them; "
                  "es31, opengl alone: for those of OpenGL ES 3.1")
      .one_of({"mobile", "es31"});
  command
      .add_option("--adapters", options->adapters,
                  "webgpu: with the kernels for GPUs in hardware, or for software, whatever is "
                  "there")
      .one_of({"any", "hardware", "software"});
  command.add_flag("--relaxed-simd,!--no-relaxed-simd", options->relaxed_simd,
                   "wasm: with the browser's relaxed SIMD (the default), or without");
  add_records_option(command, options->records,
                     "Points of search spaces to take, a JSON object a line (inspect --space)");
  add_device_class_option(command, options->records.device_class);
  command.add_flag("--f16", options->f16,
                   "webgpu: store f16 tensors as such; the device needs shader-f16");
  command
      .add_option("--classes", options->judge.classes,
                  "Judge quantized models by the order of so many best classes instead of values")
      .within(1, 1000);
  command.add_flag("--json", options->json, "One JSON object a case, and a last one that counts");
  command.chosen([options, &chosen] { chosen.run = [options] { return run_test(*options); }; });
}

}  // namespace gossamer::command
