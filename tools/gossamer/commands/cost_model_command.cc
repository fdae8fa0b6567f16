// gossamer cost-model: how good a search's model of costs is at kernels that it never saw.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <span>

#include "api/open_model.h"
#include "autoschedule/default_schedule.h"
#include "gossamer/commands/commands.h"
#include "gossamer/commands/fixed_inputs.h"
#include "gossamer/commands/progress.h"
#include "gossamer/commands/records_file.h"
#include "tune/model_quality.h"
#include "tune/replay.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

struct CostModelOptions {
  std::vector<std::string> models, records;
  std::string target, costs, output;
  FixedInputs fixed;
  size_t least = tune::JudgeOptions().least;
  bool measured = false, json = false;
  tune::ReplayOptions replay{.searches = 0};
};

// Kernels of the models by their key, and what the classes of machines can do.
struct Known {
  std::map<std::string, compiler::KernelReport> kernels;
  std::map<std::string, target::Capabilities> classes;
};

Result<> add_kernels(const CostModelOptions& options, const std::string& file, Known& known) {
  GS_ASSIGN(const OpenedModel opened, gossamer::open_model(file));
  const Bytes& model = opened.bytes;
  compiler::Options compile;
  compile.target = options.target;
  compile.external = opened.external.get();
  compile.groups = true;
  GS_TRY(apply(options.fixed, compile.known));
  compiler::Report report;
  GS_TRY(compiler::compile(model, compile, &report));
  for (compiler::KernelReport& kernel : report.kernels) {
    if (!kernel.group) continue;
    known.classes.emplace(kernel.machine, kernel.capabilities);
    known.kernels.emplace(kernel.key, std::move(kernel));
  }
  return {};
}

// What was measured on one adapter.
struct Machine {
  std::string adapter, machine;  // the class of the kernels
  std::vector<tune::MeasuredKernel> kernels;
};

// Points of kernels that no model here has are counted in `strange`.
std::vector<Machine> machines_of(const std::vector<tune::Trial>& trials, const Known& known,
                                 size_t& strange) {
  using Times = std::map<std::string, std::vector<const tune::Trial*>>;  // by point
  // By adapter and class, then key.
  std::map<std::pair<std::string, std::string>, std::map<std::string, Times>> all;
  for (const tune::Trial& trial : trials) {
    if (!trial.failure.empty()) continue;
    if (known.kernels.contains(trial.key) && known.classes.contains(trial.machine)) {
      all[{trial.adapter, trial.machine}][trial.key][to_string(trial.point)].push_back(&trial);
    } else {
      ++strange;
    }
  }
  std::vector<Machine> machines;
  for (const auto& [of, kernels] : all) {
    Machine& machine = machines.emplace_back(Machine{of.first, of.second, {}});
    for (const auto& [key, times] : kernels) {
      const compiler::KernelReport& report = known.kernels.at(key);
      tune::MeasuredKernel kernel{key, report.name, *report.group, known.classes.at(of.second), {},
                                  0};
      const schedule::Point start = autoschedule::default_point(kernel.group, kernel.capabilities);
      if (!times.contains(to_string(start))) kernel.points.push_back({start, 1.0});
      for (const auto& [text, same] : times) {
        double sum = 0;
        for (const tune::Trial* trial : same) {
          sum += trial->ratio;
          kernel.ms = trial->ms / trial->ratio;
        }
        kernel.points.push_back({same[0]->point, sum / static_cast<double>(same.size())});
      }
      machine.kernels.push_back(std::move(kernel));
    }
    std::ranges::sort(machine.kernels, std::greater(),
                      [](const auto& one) { return one.points.size(); });
  }
  return machines;
}

size_t count_within(const std::vector<tune::Judgement>& all, tune::Rank tune::Judgement::* rank) {
  return static_cast<size_t>(std::ranges::count_if(
      all, [&](const auto& one) { return (one.*rank).is_within(tune::first_share); }));
}

// Of what the best measured points gain in the time of all kernels, what the first so many have.
double share_of(const std::vector<tune::Judgement>& all, size_t first,
                std::array<double, 4> tune::Judgement::* left) {
  double gained = 0, best = 0;
  for (const tune::Judgement& one : all) {
    gained += one.kernel->ms * (1 - (one.*left)[first]);
    best += one.kernel->ms * (1 - std::min(one.best, 1.0));
  }
  return best > 0 ? gained / best : 0;
}

std::string text_of(const tune::Rank& rank) { return cat(rank.place, " of ", rank.of); }

void print_table(const Machine& machine, const std::vector<tune::Judgement>& all, bool measured) {
  std::printf("%s\n%-34s %6s %7s  %14s %14s %11s %9s %9s\n", machine.adapter.c_str(), "kernel",
              "points", "best", "in the space", "one near it", "in measured", "first 5 %",
              "at random");
  for (const tune::Judgement& one : all)
    std::printf("%-34s %6zu %7.3f  %14s %14s %11s %9.3f %9.3f\n",
                cat(one.kernel->key.substr(0, 8), " ", one.kernel->name.substr(0, 25)).c_str(),
                one.kernel->points.size(), one.best, text_of(one.in_space).c_str(),
                text_of(one.near_in_space).c_str(), text_of(one.in_measured).c_str(),
                one.best_of_first, one.best_of_random);
  if (!measured)
    std::printf(
        "the best measured point is in the model's first 5 %% of the space for %zu of %zu kernels, "
        "one as good within 3 %% for %zu; in that of the measured ones for %zu\n",
        count_within(all, &tune::Judgement::in_space), all.size(),
        count_within(all, &tune::Judgement::near_in_space),
        count_within(all, &tune::Judgement::in_measured));
  std::printf("of what the best measured points gain in the kernels' time");
  for (size_t first = 0; first < 4; ++first)
    std::printf(", the first %zu of each have %.0f %% (at random %.0f)", first + 1,
                100 * share_of(all, first, &tune::Judgement::after_first),
                100 * share_of(all, first, &tune::Judgement::after_random));
  std::printf("\n");
}

void print_json(const std::vector<std::pair<Machine, std::vector<tune::Judgement>>>& machines) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  const auto rank = [&](const char* name, const tune::Rank& given) {
    json.Key(name);
    json.StartArray();
    json.Uint64(given.place);
    json.Uint64(given.of);
    json.EndArray();
  };
  const auto number = [&](const char* name, double value) {
    json.Key(name);
    json.Double(value);
  };
  json.StartArray();
  for (const auto& [machine, all] : machines) {
    json.StartObject();
    json.Key("adapter");
    json.String(machine.adapter);
    rank("inSpace", {count_within(all, &tune::Judgement::in_space), all.size()});
    rank("inMeasured", {count_within(all, &tune::Judgement::in_measured), all.size()});
    rank("near", {count_within(all, &tune::Judgement::near_in_space), all.size()});
    for (const auto& [name, left] : {std::pair("afterFirst", &tune::Judgement::after_first),
                                     {"afterRandom", &tune::Judgement::after_random}}) {
      json.Key(name);
      json.StartArray();
      for (size_t first = 0; first < 4; ++first) json.Double(share_of(all, first, left));
      json.EndArray();
    }
    json.Key("kernels");
    json.StartArray();
    for (const tune::Judgement& one : all) {
      json.StartObject();
      json.Key("key");
      json.String(one.kernel->key);
      json.Key("name");
      json.String(one.kernel->name);
      number("best", one.best);
      rank("inSpace", one.in_space);
      rank("near", one.near_in_space);
      rank("inMeasured", one.in_measured);
      number("bestOfFirst", one.best_of_first);
      number("bestOfRandom", one.best_of_random);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  std::printf("%s\n", text.GetString());
}

Result<> replay_all(const CostModelOptions& options, const std::vector<Machine>& machines,
                    const std::vector<tune::LearnedCosts>& costs) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  json.StartArray();
  for (const Machine& machine : machines) {
    tune::ReplayOptions replay = options.replay;
    replay.costs = costs;
    GS_ASSIGN(const tune::Replayed found, tune::replay(machine.kernels, replay));
    const auto gain = [&](double quantile) {
      const auto last = static_cast<double>(found.after.size() - 1);
      return 1 - found.after[static_cast<size_t>(std::lround(quantile * last))] / found.ms;
    };
    json.StartObject();
    json.Key("adapter");
    json.String(machine.adapter);
    for (const auto& [name, value] : {std::pair("ms", found.ms),
                                      {"batches", found.batches},
                                      {"points", found.points},
                                      {"gain", gain(0.5)},
                                      {"leastGain", gain(1)},
                                      {"mostGain", gain(0)}}) {
      json.Key(name);
      json.Double(value);
    }
    json.EndObject();
    if (!options.json)
      std::printf(
          "%s: %d searches, of %.0f points in %.1f batches, gain %.2f %% of %.3f ms "
          "(%.2f to %.2f)\n",
          machine.adapter.c_str(), replay.searches, found.points, found.batches, 100 * gain(0.5),
          found.ms, 100 * gain(1), 100 * gain(0));
  }
  json.EndArray();
  if (options.json) std::printf("%s\n", text.GetString());
  return {};
}

// Kernels that several adapters ran are several to the learner.
Result<> learn(const CostModelOptions& options, const std::vector<Machine>& machines) {
  std::map<std::string, Machine> classes;
  for (const Machine& machine : machines) {
    Machine& of_class = classes[machine.machine];
    of_class.adapter += cat(of_class.adapter.empty() ? "" : "; ", machine.adapter);
    of_class.kernels.insert(of_class.kernels.end(), machine.kernels.begin(), machine.kernels.end());
  }
  std::string lines;
  for (const auto& [name, of_class] : classes) {
    const tune::LearnedCosts costs = tune::learn_costs(of_class.kernels, name, of_class.adapter);
    lines += line_of(costs) + "\n";
    if (!options.json)
      std::printf("%s: %d points of %d kernels\n", name.c_str(), costs.points, costs.kernels);
  }
  return write_file(options.output, std::as_bytes(std::span(lines)));
}

Result<> judge_all(const CostModelOptions& options) {
  std::vector<tune::Trial> trials;
  for (const std::string& file : options.records) {
    GS_ASSIGN(tune::Recorded read, read_records(file));
    std::ranges::move(read.trials, std::back_inserter(trials));
  }
  Known known;
  for (const std::string& model : options.models) GS_TRY(add_kernels(options, model, known));
  size_t strange = 0;
  std::vector<tune::LearnedCosts> known_costs;
  if (!options.costs.empty()) {
    GS_ASSIGN(tune::Recorded read, read_records(options.costs));
    known_costs = std::move(read.costs);
  }
  std::vector<std::pair<Machine, std::vector<tune::Judgement>>> judged;
  Progress progress(options.json);
  std::vector<Machine> machines = machines_of(trials, known, strange);
  if (!machines.empty() && !options.output.empty()) return learn(options, machines);
  if (!machines.empty() && options.replay.searches > 0)
    return replay_all(options, machines, known_costs);
  for (Machine& machine : machines) {
    tune::JudgeOptions judge{options.least, nullptr, !options.measured, {}};
    for (const tune::LearnedCosts& costs : known_costs)
      if (costs.machine == machine.machine) judge.costs = &costs.trees;
    if (!options.costs.empty() && !judge.costs)
      return fail_at(options.costs, cat("has no costs of ", machine.machine));
    judge.done = [&](size_t done, size_t of) {
      progress.show(machine.adapter, double(done) / double(of));
    };
    auto all = judge_model(machine.kernels, judge);
    judged.emplace_back(std::move(machine), std::move(all));
  }
  if (judged.empty())
    return fail("the records have no points of kernels of these models for this target");
  if (strange > 0)
    std::fprintf(stderr, "gossamer: %zu points are of kernels that these models do not have\n",
                 strange);
  if (options.json) {
    print_json(judged);
  } else {
    for (const auto& [machine, all] : judged) print_table(machine, all, options.measured);
  }
  return {};
}

int run_cost_model(const CostModelOptions& options) {
  const auto done = judge_all(options);
  return done ? 0 : report_error(done.error(), options.json);
}

}  // namespace

void add_cost_model(CommandLine& app, Chosen& chosen) {
  auto options = std::make_shared<CostModelOptions>();
  const Command command =
      app.add_command("cost-model", "Judge a search's model of costs by kernels that it never saw");
  command.add_option("models", options->models, "ONNX files whose kernels were tuned").required();
  command.add_option("--records", options->records, "What `gossamer tune` wrote of them")
      .required()
      .delimiter(',');
  command.add_option("--target,-t", options->target, "Where they ran")
      .required()
      .one_of(target_names());
  add_fixed_inputs(command, options->fixed);
  command.add_option("--least", options->least, "Measured points of a kernel that is asked about")
      .within(2, 10000)
      .show_default();
  command.add_option("--costs", options->costs,
                     "Judge what --output wrote, by these kernels, none of which it should know; "
                     "else one kernel after the other is left out");
  command.add_flag(
      "--measured", options->measured,
      "Order measured points alone, not all of a kernel's space: seconds, not minutes");
  command.add_option("--output,-o", options->output,
                     "Judge nothing: learn of all these kernels, and write a line for a file of "
                     "records, with which searches on such a device begin");
  command
      .add_option("--replay", options->replay.searches,
                  "Judge nothing: make so many searches on a device that the records describe, "
                  "which begin with --costs, and say what they find")
      .within(1, 10000);
  command.add_option("--seconds", options->replay.seconds, "With --replay: what batches take")
      .show_default();
  command.add_option("--batch-seconds", options->replay.of_batch, "With --replay: of each batch")
      .show_default();
  command.add_option("--point-seconds", options->replay.of_point, "With --replay: of each point")
      .show_default();
  command.add_flag("--json", options->json, "Machine-readable output");
  command.chosen(
      [options, &chosen] { chosen.run = [options] { return run_cost_model(*options); }; });
}

}  // namespace gossamer::command
