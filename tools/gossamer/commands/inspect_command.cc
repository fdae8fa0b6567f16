// gossamer inspect: what a model is, and what each target makes of it.
#include "inspect/view.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "api/files.h"
#include "gossamer/commands/commands.h"
#include "gossamer/commands/compile_options.h"
#include "gossamer/commands/fixed_inputs.h"
#include "gossamer/commands/progress.h"
#include "gossamer/commands/records_file.h"
#include "gossamer/devices/child_process.h"
#include "gossamer/runners/runner.h"
#include "inspect/document.h"
#include "inspect/page.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

struct InspectOptions {
  std::string model, dump, html;
  std::vector<std::string> profiles;
  compiler::Options compile;
  RecordOptions records;
  std::vector<std::string> targets = {"webgpu", "webgl", "wasm", "cpu"};
  FixedInputs fixed;
  inspect::Details details;
  bool json = false;
};

Result<> write_dump(const inspect::View& view, const fs::path& folder) {
  GS_ASSIGN(const package::Files files, inspect::dump(view));
  const fs::path place = folder / view.target;
  std::error_code error;
  fs::create_directories(place, error);
  if (error) return fail_at(place.string(), cat("cannot be made: ", error.message()));
  for (const package::File& file : files) GS_TRY(write_file(folder / file.name, file.bytes));
  return {};
}

Result<std::vector<inspect::View>> views_of(const inspect::Subject& subject,
                                            const InspectOptions& options,
                                            const inspect::Details& details) {
  std::vector<inspect::View> views;
  for (const std::string& target : options.targets) {
    compiler::Options compile = options.compile;
    compile.target = target;
    GS_ASSIGN(const auto records,
              records_for(options.records, compile, runs_here(target) ? Here::yes : Here::no));
    Progress progress;
    compile.progress = [&](std::string_view step, double fraction) {
      progress.show(cat(target, ": ", step), fraction);
    };
    views.push_back(inspect::view(subject, compile, records, details));
    if (!options.dump.empty() && views.back().problem.empty())
      GS_TRY(write_dump(views.back(), options.dump));
  }
  return views;
}

Diagnostic in_model(Diagnostic error, const InspectOptions& options) {
  if (error.where.empty()) error.where = options.model;
  return error;
}

// What the page shows besides is a choice of points, not all of them.
Result<> write_html(const InspectOptions& options, const OpenedModel& opened, onnx::Known known) {
  const auto template_file = find_web_file("inspector/dist/inspector.html");
  if (!template_file) return fail("the inspector is not built", "run `npm run build` in web/");
  GS_ASSIGN(const std::string page, read_text(*template_file));
  std::vector<std::string> profiles;
  for (const std::string& file : options.profiles) {
    GS_ASSIGN(profiles.emplace_back(), read_text(file));
    if (!inspect::is_profile(profiles.back()))
      return fail_at(file, "is not a profile",
                     "write it by `gossamer bench MODEL --target T --profile --json`");
  }
  auto examined = inspect::examine(opened.bytes, opened.external.get(), std::move(known));
  if (!examined) return std::unexpected(in_model(examined.error(), options));
  inspect::Details details = options.details;
  if (!details.space) details.points = 16;
  details.space = true;
  GS_ASSIGN(const auto views, views_of(examined->subject, options, details));
  GS_ASSIGN(const std::string html,
            inspect::to_page(page, inspect::to_document(*examined, views, profiles)));
  return write_file(options.html, std::as_bytes(std::span(html)));
}

// Reading ends at the first unknown operator; a person wants to know about all of them.
Diagnostic with_others(Diagnostic error, const OpenedModel& opened, const onnx::Known& known) {
  const auto examined = inspect::examine(opened.bytes, opened.external.get(), known);
  if (!examined) return error;
  std::set<std::string> names;
  for (size_t at = 0; at < examined->problems.size(); ++at)
    if (examined->problems[at]) names.insert(examined->subject.graph.nodes[at].def->name);
  if (names.size() < 2) return error;
  error.message += cat("; ", names.size(), " operators cannot be compiled:");
  for (const std::string& name : names)
    error.message += cat(name == *names.begin() ? " " : ", ", name);
  return error;
}

Result<> inspect_model(const InspectOptions& options) {
  onnx::Known known;
  GS_TRY(apply(options.fixed, known));
  GS_ASSIGN(const OpenedModel opened, gossamer::open_model(options.model));
  if (!options.html.empty()) return write_html(options, opened, std::move(known));
  auto subject = inspect::read(opened.bytes, opened.external.get(), known);
  if (!subject)
    return std::unexpected(in_model(with_others(subject.error(), opened, known), options));
  GS_ASSIGN(const auto views, views_of(*subject, options, options.details));
  if (options.json)
    std::printf("%s\n", inspect::to_json(*subject, views, options.details).c_str());
  else
    std::printf("%s", inspect::to_text(*subject, views, options.details).c_str());
  return {};
}

int run_inspect(const InspectOptions& options) {
  if (!options.profiles.empty() && options.html.empty())
    return report_usage("--profile is for --html");
  if (auto done = inspect_model(options); !done) return report_error(done.error(), options.json);
  return 0;
}

}  // namespace

void add_inspect(CommandLine& app, Chosen& chosen) {
  auto options = std::make_shared<InspectOptions>();
  const Command command =
      app.add_command("inspect", "Show a model's graph and what each target makes of it");
  command.add_option("model", options->model, "An ONNX file").required();
  command
      .add_option("--target,-t", options->targets,
                  "Only these targets; opencl and opengl are told of where they are named")
      .delimiter(',')
      .one_of(target_names());
  add_fixed_inputs(command, options->fixed);
  add_compile_options(command, options->compile);
  command.add_flag("--stages", options->details.stages, "Print the stages after fusion");
  command.add_flag("--kernels", options->details.kernels,
                   "Print each kernel's schedule and origin");
  command.add_flag("--space", options->details.space,
                   "Print points of the space that tune searches for each kernel, for "
                   "compile --records");
  command
      .add_option("--points", options->details.points,
                  "With --space: at most so many points of a kernel")
      .within(uint64_t{1}, uint64_t{1000000})
      .show_default();
  add_records_option(command, options->records,
                     "As compile --records; says which kernels take a recorded point, of whom");
  add_device_class_option(command, options->records.device_class);
  command.add_option("--dump", options->dump,
                     "Write stages, loop IR and shaders below this folder");
  command.add_option("--html", options->html,
                     "Write a page that shows the graph, kernels, costs and memory");
  command
      .add_option("--profile", options->profiles,
                  "With --html: measured times, as bench --profile --json prints them")
      .one_value();
  command.add_flag("--json", options->json, "Machine-readable output");
  command.chosen([options, &chosen] { chosen.run = [options] { return run_inspect(*options); }; });
}

}  // namespace gossamer::command
