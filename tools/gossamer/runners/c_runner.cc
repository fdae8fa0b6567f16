// `--emit c` as a runner: the file is compiled by this machine's C compiler into a library, which
// is loaded and called as a program calls it.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "api/files.h"
#include "gossamer/runners/runner.h"
#include "library/library.h"

extern char** environ;

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

// A named dimension is the caller's, and -1 here.
std::vector<Port> ports_of(const std::vector<package::Port>& ports) {
  std::vector<Port> all;
  for (const package::Port& port : ports) {
    Port made{port.name, port.dtype, {}};
    for (size_t axis = 0; axis < port.shape.size(); ++axis) {
      const bool named = axis < port.symbols.size() && !port.symbols[axis].empty();
      made.shape.push_back(named || port.shape[axis].planned ? -1 : port.shape[axis].value);
    }
    all.push_back(std::move(made));
  }
  return all;
}

// NAME_values as the header declares it, in memory.
class Values {
 public:
  void number(int64_t value) { add(&value, sizeof value); }
  size_t port(const void* data, size_t bytes) {
    const size_t at = memory_.size();
    add(&data, sizeof data);
    add(&bytes, sizeof bytes);
    return at;
  }
  size_t extents(size_t rank) {
    memory_.resize((memory_.size() + 7) / 8 * 8);
    const size_t at = memory_.size();
    memory_.resize(at + 8 * std::max<size_t>(1, rank));
    return at;
  }
  void* data() { return memory_.data(); }
  size_t bytes_of(size_t port) const {
    size_t bytes = 0;
    std::memcpy(&bytes, &memory_[port + sizeof(void*)], sizeof bytes);
    return bytes;
  }
  void set_data(size_t port, const void* data) { std::memcpy(&memory_[port], &data, sizeof data); }
  int64_t extent(size_t at, size_t axis) const {
    int64_t value = 0;
    std::memcpy(&value, &memory_[at + 8 * axis], sizeof value);
    return value;
  }

 private:
  void add(const void* from, size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(from);
    memory_.insert(memory_.end(), begin, begin + bytes);
  }
  std::vector<std::byte> memory_;
};

class CRunner : public Runner {
 public:
  CRunner(library::Interface interface, void* library)
      : interface_(std::move(interface)),
        library_(library),
        inputs_(ports_of(interface_.module.inputs)),
        outputs_(ports_of(interface_.module.outputs)) {
    for (const package::Group& group : interface_.module.groups) {
      const auto [first, count] = *(group.outputs ? group.outputs : group.inputs);
      groups_.push_back(
          {group.name, group.kind == "sequence", group.outputs.has_value(), first, count});
    }
  }
  ~CRunner() override {
    if (model_) function<void(void*)>("test_free")(model_);
    dlclose(library_);
  }
  CRunner(const CRunner&) = delete;
  CRunner& operator=(const CRunner&) = delete;

  Result<> init() {
    const int code = function<int(void**, int)>("test_init")(&model_, 1);
    return code == 0 ? Result<>() : fail(message(code));
  }
  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }
  const std::vector<stages::PortGroup>& groups() const override { return groups_; }
  Result<std::vector<ops::TensorData>> run(const std::vector<ops::TensorData>& feeds) override;

 private:
  template <class F>
  F* function(const char* name) const {
    return reinterpret_cast<F*>(dlsym(library_, name));
  }
  std::string message(int code) const { return function<const char*(int)>("test_message")(code); }
  int64_t dim_of(const std::string& name, const std::vector<ops::TensorData>& feeds) const;

  library::Interface interface_;
  void* library_;
  void* model_ = nullptr;
  std::vector<Port> inputs_, outputs_;
  std::vector<stages::PortGroup> groups_;
};

int64_t CRunner::dim_of(const std::string& name, const std::vector<ops::TensorData>& feeds) const {
  for (size_t at = 0; at < feeds.size(); ++at) {
    const std::vector<std::string>& symbols = interface_.module.inputs[at].symbols;
    for (size_t axis = 0; axis < symbols.size(); ++axis)
      if (symbols[axis] == name) return feeds[at].shape[axis];
  }
  for (const package::Dim& dim : interface_.module.dims)
    if (dim.input >= 0 && dim.name == name)
      return feeds[static_cast<size_t>(dim.input)].shape[static_cast<size_t>(dim.axis)];
  return 0;
}

Result<std::vector<ops::TensorData>> CRunner::run(const std::vector<ops::TensorData>& feeds) {
  GS_TRY(check_feeds(inputs_, feeds));
  Values values;
  for (const std::string& dim : interface_.dims) values.number(dim_of(dim, feeds));
  for (const ops::TensorData& feed : feeds) values.port(feed.bytes.data(), feed.bytes.size());
  std::vector<size_t> places, shapes;
  for (size_t at = 0; at < outputs_.size(); ++at) places.push_back(values.port(nullptr, 0));
  for (const Port& port : outputs_) {
    const bool known = std::ranges::none_of(port.shape, [](int64_t extent) { return extent < 0; });
    shapes.push_back(known ? 0 : values.extents(port.shape.size()));
  }
  std::vector<ops::TensorData> results(outputs_.size());
  // Without room, a run tells what it takes: of what the run decides, the second time.
  constexpr int no_room = 4;
  int code = no_room;
  for (int turn = 0; turn < 3 && code == no_room; ++turn) {
    code = function<int(void*, void*)>("test_run")(model_, values.data());
    for (size_t at = 0; code == no_room && at < results.size(); ++at) {
      results[at].bytes.resize(values.bytes_of(places[at]) + 1);  // never NULL
      values.set_data(places[at], results[at].bytes.data());
    }
  }
  if (code != 0)
    return fail(cat(message(code), ": ", function<const char*(void*)>("test_error")(model_)));
  for (size_t at = 0; at < results.size(); ++at) {
    ops::TensorData& result = results[at];
    result.bytes.resize(values.bytes_of(places[at]));
    result.dtype = outputs_[at].dtype;
    result.shape = outputs_[at].shape;
    for (size_t axis = 0; shapes[at] > 0 && axis < result.shape.size(); ++axis)
      result.shape[axis] = values.extent(shapes[at], axis);
  }
  return results;
}

// Errors: the compiler's first lines.
Result<> compile_c(const fs::path& folder) {
  const std::string source = (folder / "test.c").string(), made = (folder / "test.so").string();
  const std::string told = (folder / "messages").string();
  std::vector<std::string> words{"cc",      "-std=c11", "-O1",  "-Wall", "-Wextra", "-Werror",
                                 "-shared", "-fPIC",    source, "-lm",   "-o",      made};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, told.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t process = -1;
  const int failure = posix_spawnp(&process, "cc", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failure != 0 || waitpid(process, &status, 0) != process)
    return fail("there is no C compiler", "install one that is called cc");
  if (status == 0) return {};
  GS_ASSIGN(const std::string text, read_text(told));
  return fail(cat("cc: ", text.substr(0, 300)));
}

}  // namespace

Result<std::unique_ptr<Runner>> make_c_runner(const ModelFile& model,
                                              const RunnerOptions& options) {
  compiler::Options compile;
  compile.target = "cpu";
  compile.name = "test";
  compile.known = options.known;
  compile.known.add(model.known);
  compile.external = model.external.get();
  library::Interface interface;
  GS_ASSIGN(const package::Files files,
            library::make_library(model.bytes, compile, {library::Form::c}, nullptr, &interface));
  for (const auto* ports : {&interface.module.inputs, &interface.module.outputs})
    for (const package::Port& port : *ports)
      if (port.strings) return fail_at(port.name, "strings are packed by the caller of a library");
  GS_ASSIGN(const TemporaryFolder temporary, TemporaryFolder::create());
  GS_TRY(write_files(temporary.path(), files));
  GS_TRY(compile_c(temporary.path()));
  void* library = dlopen((temporary.path() / "test.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return fail(cat("the compiled file: ", dlerror()));
  auto runner = std::make_unique<CRunner>(std::move(interface), library);
  GS_TRY(runner->init());
  return runner;
}

}  // namespace gossamer::command
