// Feeds the native run time with manifests (cases.mjs): native_loader CASES FOLDER
// FOLDER/SEED holds the files of a package, FOLDER/SEED-weights those of cases that bring weights:
// this program may be killed at any time, and what it leaves is what the next one finds.
// One line a case: how reading it ended, how loading and running it did, and in what words each of
// its turns; the first line has what other callers are told, too.
#include <rapidjson/document.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "runtime/host_memory.h"
#include "runtime/kept_state.h"
#include "runtime/manifest.h"
#include "runtime/model.h"

namespace gossamer::runtime {
namespace {

constexpr size_t most_bytes = size_t{1} << 26;
constexpr int most_operations = 3000;
// Each package that loads is run so often, with other plans: one that fits, some that say anything,
// and one whose memory only a device without memory can have.
constexpr int kind_turn = 0, large_turn = 5, turns = 6;

std::string violation;

void must(bool fine, const std::string& what) {
  if (!fine && violation.empty()) violation = what;
}

// Computes nothing and believes nothing: `values` are what the plan says.
class CheckedExecutable : public Executable {
 public:
  CheckedExecutable(std::span<const KernelEntry> kernels, int segments, int turn)
      : kernels_(kernels.begin(), kernels.end()), segments_(segments), turn_(turn) {}
  std::span<const KernelEntry> kernels() const override { return kernels_; }
  Result<> plan(int segment, std::span<const int64_t> dims,
                std::span<double> values) const override {
    constexpr double anything[] = {
        0,       1,       2,          5,      17,     -1,
        -5,      -0x1p31, 0x1p31 - 1, 70000,  0x1p20, 0x1p40,
        -0x1p40, 0x1p53,  -0x1p53,    0x1p70, 0.5,    std::numeric_limits<double>::quiet_NaN()};
    must(segment >= 0 && segment < segments_, cat("segment ", segment));
    uint64_t given = static_cast<uint64_t>(turn_) * 16 + static_cast<uint64_t>(segment);
    for (int64_t dim : dims) given = given * 31 + static_cast<uint64_t>(dim);
    for (size_t at = 0; at < values.size(); ++at) {
      const bool bytes = at == 1 || at == 4 || at == 6;  // in the plans of the fixtures
      if (turn_ == kind_turn)
        values[at] = bytes ? 32 : 4;
      else if (turn_ == large_turn)
        values[at] = bytes ? 0x1p46 : 0x1p43;
      else
        values[at] = anything[((given * 16 + at) * 0x9e3779b97f4a7c15 >> 40) % std::size(anything)];
    }
    return {};
  }

 private:
  std::vector<KernelEntry> kernels_;
  int segments_, turn_;
};

// Holds nothing, so that all goes through the queue.
class CheckedBuffer : public Buffer {
 public:
  explicit CheckedBuffer(size_t size) : size_(size) {}
  size_t size() const override { return size_; }

 private:
  size_t size_;
};

class CheckedDevice : public Device, public Queue {
 public:
  explicit CheckedDevice(int turn) : turn_(turn) {}
  std::string_view name() const override { return "checked"; }
  std::string description() const override { return "checked"; }
  bool computes() const override { return false; }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
    if (bytes > (turn_ == large_turn ? size_t{1} << 50 : most_bytes))
      return fail(cat("no room for ", bytes, " bytes"));
    GS_TRY(spend());
    return std::make_unique<CheckedBuffer>(bytes);
  }
  Result<std::unique_ptr<Buffer>> allocate_texture(const Extent& extent) override {
    must(extent.width > 0 && extent.height >= 0 && extent.layers > 0, "a texture without a size");
    return allocate(static_cast<size_t>(extent.width) * static_cast<size_t>(extent.height) *
                    static_cast<size_t>(extent.layers) * 16);
  }
  Result<std::unique_ptr<Executable>> load(std::span<const std::byte>,
                                           std::span<const KernelEntry> kernels,
                                           int plan_segments) override {
    return std::make_unique<CheckedExecutable>(kernels, plan_segments, turn_);
  }
  Queue& queue() override { return *this; }
  Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                 ir::DType /*storage*/) override {
    GS_TRY(spend());
    GS_TRY(check_range(to, offset, bytes.size()));
    must(offset + bytes.size() <= to.size(), "a write outside");
    return {};
  }
  Result<> read(std::span<const ReadArguments> reads) override {
    for (const auto& [from, offset, bytes, storage] : reads) {
      GS_TRY(spend());
      GS_TRY(check_range(*from, offset, bytes.size()));
      must(offset + bytes.size() <= from->size(), "a read outside");
      for (std::byte& byte : bytes) byte = std::byte{1};
    }
    return {};
  }
  Result<> launch(const Executable& code, const LaunchArguments& arguments) override {
    GS_TRY(spend());
    GS_TRY(check_launch(code, arguments));
    const auto kernels = code.kernels();
    const bool known =
        arguments.kernel >= 0 && static_cast<size_t>(arguments.kernel) < kernels.size();
    must(known, "no kernel");
    if (!known) return {};
    const KernelEntry& kernel = kernels[static_cast<size_t>(arguments.kernel)];
    must(arguments.buffers.size() == static_cast<size_t>(kernel.buffers), "other buffers");
    must(arguments.scalars.size() == static_cast<size_t>(kernel.scalars), "other scalars");
    const auto exact = [](int64_t number) {
      return std::abs(static_cast<double>(number)) < 0x1p53;
    };
    must(arguments.range >= 0, "a negative range");
    must(exact(arguments.range) && std::ranges::all_of(arguments.scalars, exact), "a large number");
    for (size_t at = 0; at < arguments.buffers.size(); ++at) {
      must(arguments.buffers[at], "no memory");
      must(at + 1 == arguments.buffers.size() || arguments.buffers[at] != arguments.buffers.back(),
           "a launch that reads what it writes");
    }
    return {};
  }
  Result<std::unique_ptr<Fence>> submit() override { return std::make_unique<PassedFence>(); }

 private:
  Result<> spend() {
    if (++operations_ > most_operations) return fail("the test has seen enough");
    return {};
  }
  int turn_;
  int operations_ = 0;
};

// The words that the web loader has for it.
std::string word_for(const Diagnostic& problem) {
  const std::string& message = problem.message;
  if (message.find("not JSON") != std::string::npos) return "not JSON";
  if (message.find("not a package") != std::string::npos) return "format";
  if (message.find("format version") != std::string::npos) return "version";
  if (message.find("compiled for") != std::string::npos) return "target";
  size_t begin = message.find("package");
  if (begin == std::string::npos) begin = message.find("header");
  const size_t end = message.find(" is not ");
  if (begin == std::string::npos || end == std::string::npos) return "UNNAMED " + message;
  return message.substr(begin);
}

std::vector<HostTensor> feeds_of(const Model& model) {
  std::vector<HostTensor> feeds;
  for (const Port& port : model.inputs()) {
    HostTensor feed{port.dtype, {}, {}, {}};
    size_t count = 1;
    for (int64_t extent : port.shape) {
      feed.shape.push_back(extent < 0 ? 4 : std::min<int64_t>(extent, 64));
      count = std::min<size_t>(count * static_cast<size_t>(feed.shape.back()), 1 << 16);
    }
    if (port.dtype == ir::DType::string)
      feed.strings.resize(count, "text");
    else
      feed.bytes.resize(count * static_cast<size_t>(ir::byte_size(port.dtype)), std::byte{1});
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

void put(const std::string& file, std::string_view content) {
  std::ofstream(file, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
}

// Without the folder's name, which depends on who runs this.
std::string words_of(const Diagnostic& problem, const std::string& folder) {
  std::string words = cat(problem.where, " ", problem.message);
  for (size_t at = words.find(folder); at != std::string::npos; at = words.find(folder))
    words.erase(at, folder.size());
  std::ranges::replace(words, '\n', ' ');
  return words;
}

struct Used {
  std::string done, words;
};

Used use(const std::string& folder, int turn) {
  LoadOptions options;
  options.device = std::make_unique<CheckedDevice>(turn);
  options.side = std::make_unique<CheckedDevice>(turn);
  auto model = Model::load(folder, std::move(options));
  if (!model) {
    const Diagnostic& problem = model.error();
    if (problem.where.find("weight") == std::string::npos)
      return {"load", words_of(problem, folder)};
    const std::string word = word_for(problem);
    return {cat("load ", word.starts_with("UNNAMED") ? "weights" : word),
            words_of(problem, folder)};
  }
  auto outputs = (*model)->run(feeds_of(**model));
  if (!outputs) return {"run", words_of(outputs.error(), folder)};
  return {"ran", {}};
}

// What is asked of a device and given to a model by others than packages.
std::string calls() {
  std::string said;
  const auto add = [&](const Result<>& result) {
    said += cat("|", result ? "" : result.error().message);
  };
  const KernelEntry entry{"k", 2, 1};
  const CheckedExecutable code({&entry, 1}, 0, kind_turn);
  CheckedBuffer one(16), other(16);
  Buffer* const both[] = {&one, &other};
  Buffer* const same[] = {&one, &one};
  const int64_t scalar[] = {1};
  add(check_launch(code, {0, both, scalar, 1}));
  add(check_launch(code, {-1, both, scalar, 1}));
  add(check_launch(code, {1, both, scalar, 1}));
  add(check_launch(code, {0, {both, 1}, scalar, 1}));
  add(check_launch(code, {0, both, {}, 1}));
  add(check_launch(code, {0, both, scalar, -1}));
  add(check_launch(code, {0, same, scalar, 1}));
  add(check_range(one, 8, 8));
  add(check_range(one, 8, 9));
  add(check_range(one, 17, 0));
  Port port;
  port.dtype = ir::DType::f32;
  port.shape = {-1, 2};
  const auto feed = [](std::span<const int64_t> shape, size_t bytes, ir::DType dtype) {
    static constexpr std::byte memory[64] = {};
    return TensorView{dtype, shape, {memory, bytes}};
  };
  const int64_t fits[] = {3, 2}, less[] = {2}, wide[] = {3, 3}, large[] = {int64_t{1} << 31, 2};
  const int64_t negative[] = {-1, 2};
  add(check_feed(port, feed(fits, 24, ir::DType::f32), "x"));
  add(check_feed(port, feed(fits, 24, ir::DType::i32), "x"));
  add(check_feed(port, feed(fits, 20, ir::DType::f32), "x"));
  for (const std::span<const int64_t> shape :
       {std::span<const int64_t>(less), {wide}, {large}, {negative}})
    add(check_feed(port, feed(shape, 24, ir::DType::f32), "x"));
  return said;
}

// A manifest that is not refused should end this program, not fill the machine's memory.
void limit_memory() {
#if !__has_feature(address_sanitizer) && !__has_feature(memory_sanitizer) && \
    !__has_feature(thread_sanitizer)
  const rlimit most{rlim_t{4} << 30, rlim_t{4} << 30};
  setrlimit(RLIMIT_AS, &most);
#endif
}

int run(char** arguments) {
  limit_memory();
  std::ifstream cases(arguments[1]);
  std::string line;
  for (int at = 0; std::getline(cases, line); ++at) {
    rapidjson::Document one;
    one.Parse(line.data(), line.size());
    const bool changed = one.HasMember("weights");
    const std::string folder =
        cat(arguments[2], "/", one["seed"].GetString(), changed ? "-weights" : "");
    const std::string_view text(one["manifest"].GetString(), one["manifest"].GetStringLength());
    violation.clear();
    const auto manifest = parse_manifest(text);
    std::string said = manifest ? "fine|" : word_for(manifest.error()) + "|";
    if (manifest) {
      put(folder + "/manifest.json", text);
      if (changed) {
        std::string bytes;
        const std::string hex = one["weights"].GetString();
        for (size_t digit = 0; digit < hex.size(); digit += 2)
          bytes += static_cast<char>(std::strtol(hex.substr(digit, 2).c_str(), nullptr, 16));
        put(folder + "/weights.safetensors", bytes);
      }
      for (int turn = kind_turn; turn < turns; ++turn) {
        const auto [done, words] = use(folder, turn);
        if (turn == kind_turn) said += done;
        said += cat("|", words);
        if (done.starts_with("load")) break;
      }
    }
    if (at == 0) said += calls();
    if (!violation.empty()) said = "fine|VIOLATION " + violation;
    std::printf("%s\n", said.c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace gossamer::runtime

int main(int, char** arguments) { return gossamer::runtime::run(arguments); }
