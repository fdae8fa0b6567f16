// One test case, run and judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gossamer/judge/cases.h"
#include "gossamer/runners/runner.h"

namespace gossamer::command {

class CompiledOnce;
class KeptVerdicts;

struct JudgeOptions {
  int classes = 0;    // quantized models: the order of so many best classes instead of values
  bool open = false;  // a model that needs shapes or values of inputs when compiling is an error
};

struct Verdict {
  std::string name;
  enum Status : uint8_t { pass, fail, error } status = error;
  std::string message;      // why not, in one line; with `classes`, the difference in steps
  std::string known;        // inputs that had to be constants when compiling, by name
  int elsewhere = 0;        // launches on the CPU side of another target
  double ratio = 0;         // largest error over what is allowed
  double milliseconds = 0;  // of one run, without compiling
  bool kept = false;        // of an earlier run: this one was saved
  std::string package_key;  // KeptVerdicts::package_key; "" where there is none
};
std::string_view name_of(Verdict::Status status);

// What of the model decides how an output is judged.
struct OutputTraits {
  int tolerated_steps = 0;  // 1 where the graph quantizes this output
  double step = 0;          // scale of the last quantization before it; 0: unknown
};
struct ModelTraits {
  bool quantized = false;
  std::vector<OutputTraits> outputs;
};
ModelTraits traits_of(const ModelFile& model);

// Feeds in the ports' order: by the files' names where all of them are the ports' names, else by
// number.
Result<std::vector<ops::TensorData>> order_feeds(const std::vector<Port>& ports,
                                                 std::vector<NamedTensor> tensors);

// Sets status, message and ratio.
void judge(const std::vector<ops::TensorData>& outputs, const std::vector<Port>& ports,
           const std::vector<stages::PortGroup>& groups, const CaseContent& content,
           const ModelTraits& traits, const JudgeOptions& options, Verdict& verdict);

// All of it for a target that runs here. `kept` may be nullptr.
Verdict run_case(const TestCase& test, const std::string& target, const RunnerOptions& runner,
                 const JudgeOptions& options, const CompiledOnce& once, const KeptVerdicts* kept);

std::string to_json(const Verdict& verdict);
std::optional<Verdict> verdict_from_json(const std::string& json);

// What one process of ours reports to another: all fields.
std::string to_message(const Verdict& verdict);
Verdict verdict_from_message(const std::string& message);

}  // namespace gossamer::command
