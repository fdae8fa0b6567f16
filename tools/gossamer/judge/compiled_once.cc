#include "gossamer/judge/compiled_once.h"

#include <unistd.h>

#include "package/write.h"

namespace gossamer::command {

namespace fs = std::filesystem;

Result<CompiledOnce> CompiledOnce::create(const std::vector<TestCase>& cases) {
  GS_ASSIGN(TemporaryFolder folder, TemporaryFolder::create());
  CompiledOnce made(std::move(folder));
  std::set<fs::path> seen;
  for (const TestCase& test : cases)
    if (!test.data.empty() && !seen.insert(test.model).second) made.shared_.insert(test.model);
  return made;
}

Result<package::Files> CompiledOnce::files(
    const TestCase& test, const std::vector<Port>& inputs, std::string_view form,
    const std::function<Result<package::Files>()>& compile) const {
  if (!shared_.contains(test.model)) return compile();
  std::string name = cat(test.model.string(), "\n", form);
  for (const Port& input : inputs) name += cat("\n", input.name);
  const fs::path folder = folder_.path() / package::content_hash(std::as_bytes(std::span(name)));
  if (fs::exists(folder)) return read_package(folder);
  GS_ASSIGN(package::Files files, compile());
  // Others may be here at the same time: the first one's files stay, as they may be read already.
  const fs::path own = cat(folder.string(), ".", getpid());
  GS_TRY(write_package(own, files));
  std::error_code there;
  fs::rename(own, folder, there);
  return files;
}

}  // namespace gossamer::command
