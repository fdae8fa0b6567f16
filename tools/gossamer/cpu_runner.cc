// The cpu target as a runner.
#include "compiler/compile.h"
#include "gossamer/files.h"
#include "gossamer/runner.h"

namespace gossamer::command {

Result<std::unique_ptr<Runner>> make_cpu_runner(const std::filesystem::path&,
                                                const RunnerOptions&) {
  return fail("target cpu is not there yet");
}

}  // namespace gossamer::command
