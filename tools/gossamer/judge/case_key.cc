#include "gossamer/judge/case_key.h"

#include <algorithm>
#include <vector>

#include "api/files.h"
#include "package/sha256.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_files = 1000;

Result<> add_files(std::vector<fs::path> files, const fs::path& folder, KeyBuilder& key) {
  if (files.size() > most_files)
    return fail_at(folder.string(), cat("has more than ", most_files, " files"));
  std::sort(files.begin(), files.end());
  key.add(files.size());
  for (const fs::path& file : files) {
    std::error_code error;
    key.add(file.lexically_relative(folder).generic_string());
    if (fs::is_symlink(file, error)) key.add(fs::read_symlink(file, error).string());
    GS_ASSIGN(const Bytes bytes, read_file(file));
    key.add_bytes(bytes);
  }
  return {};
}

// External data may be stored anywhere below the model's folder.
Result<std::vector<fs::path>> files_of_model(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error, other;
  fs::recursive_directory_iterator at(folder, error), end;
  for (; !error && at != end && files.size() <= most_files; at.increment(error)) {
    if (at->is_directory(other) && is_data_folder(at->path()))
      at.disable_recursion_pending();
    else if (at->is_regular_file(other))
      files.push_back(at->path());
  }
  if (error) return fail_at(folder.string(), cat("cannot be read: ", error.message()));
  return files;
}

}  // namespace

void KeyBuilder::add(std::string_view text) {
  text_ += cat(text.size(), ":");
  text_ += text;
}

void KeyBuilder::add_number(int64_t number) { text_ += cat(number, ";"); }

void KeyBuilder::add_bytes(std::span<const std::byte> bytes) { add_hash(package::sha256(bytes)); }

void KeyBuilder::add(const ops::TensorData& tensor) {
  add(ir::name_of(tensor.dtype));
  add(tensor.shape.size());
  for (const int64_t extent : tensor.shape) add(extent);
  add_bytes(tensor.bytes);
  add(tensor.strings.size());
  for (const std::string& string : tensor.strings) add(string);
}

std::string KeyBuilder::key() const {
  return package::sha256(std::as_bytes(std::span(text_))).substr(0, digits);
}

Result<> add_case_files(const TestCase& test, KeyBuilder& key) {
  if (test.data.empty()) {
    key.add(test.index);
    return add_files({test.model}, test.model.parent_path(), key);
  }
  const fs::path folder = test.model.parent_path();
  GS_ASSIGN(std::vector<fs::path> files, files_of_model(folder));
  GS_TRY(add_files(std::move(files), folder, key));
  std::vector<fs::path> data;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(test.data, error))
    if (entry.is_regular_file(error)) data.push_back(entry.path());
  return add_files(std::move(data), test.data, key);
}

void add_run(const package::Files& files, std::span<const ops::TensorData> feeds,
             const CaseContent& content, const ModelTraits& traits, KeyBuilder& key) {
  key.add(files.size());
  for (const package::File& file : files) {
    key.add(file.name);
    key.add(file.above);
    key.add_hash(file.sha256.empty() ? package::sha256(file.bytes) : file.sha256);
  }
  key.add(feeds.size());
  for (const ops::TensorData& feed : feeds) key.add(feed);
  key.add(content.expected.size());
  for (const Expected& expected : content.expected) {
    key.add(expected.tensor.data);
    key.add(expected.sample.has_value());
    if (!expected.sample) continue;
    const Sample& sample = *expected.sample;
    for (const std::vector<int64_t>* list : {&sample.shape, &sample.index}) {
      key.add(list->size());
      for (const int64_t number : *list) key.add(number);
    }
    for (const double number : {sample.mean, sample.deviation, sample.least, sample.largest})
      key.add(number);
  }
  key.add(content.groups.size());
  for (const stages::PortGroup& group : content.groups) {
    key.add(group.sequence);
    key.add(group.first);
    key.add(group.count);
  }
  key.add(traits.quantized);
  key.add(traits.outputs.size());
  for (const OutputTraits& output : traits.outputs) {
    key.add(output.tolerated_steps);
    key.add(output.step);
  }
}

}  // namespace gossamer::command
