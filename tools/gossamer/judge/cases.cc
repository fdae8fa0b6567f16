#include "gossamer/judge/cases.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

#include "gossamer/judge/operator_file.h"
#include "gossamer/judge/sample_file.h"
#include "onnx/proto.h"

namespace gossamer::command {

namespace fs = std::filesystem;

namespace {

// "test_data_set_12" sorts after "test_data_set_2".
bool natural_less(const std::string& a, const std::string& b) {
  const auto number_at = [](const std::string& text, size_t at) {
    size_t end = at;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    return end;
  };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const size_t i_end = number_at(a, i), j_end = number_at(b, j);
    if (i_end > i && j_end > j) {
      if (i_end - i != j_end - j) return i_end - i < j_end - j;
      if (const int order = a.compare(i, i_end - i, b, j, j_end - j)) return order < 0;
      i = i_end, j = j_end;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

void add_cases_of(const fs::path& folder, const fs::path& root, const std::string& shown,
                  std::vector<TestCase>& cases) {
  std::error_code error;
  const fs::path model = folder / "model.onnx";
  if (!fs::is_regular_file(model, error)) return;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_directory(error) || !is_data_folder(entry.path())) continue;
    // Without an expected output there is nothing to judge.
    if (!fs::exists(entry.path() / "output_0.pb", error) &&
        !fs::exists(entry.path() / "output_0.sample.json", error))
      continue;
    std::string name = entry.path().lexically_relative(root).generic_string();
    cases.push_back({shown.empty() ? name : cat(shown, "/", name), model, entry.path()});
  }
}

// A file that cannot be read is one case, which says why.
void add_cases_in(const fs::path& file, const fs::path& root, const std::string& shown,
                  std::vector<TestCase>& cases) {
  const std::string path = file.lexically_relative(root).replace_extension().generic_string();
  const std::string name = shown.empty() ? path : cat(shown, "/", path);
  const auto names = list_operator_cases(file);
  if (!names) cases.push_back({name, file, {}, 0});
  for (size_t at = 0; names && at < names->size(); ++at)
    cases.push_back({cat(name, "/", (*names)[at]), file, {}, at});
}

bool is_operator_file(const fs::path& file) { return file.extension() == ".jsonc"; }

// The files PREFIX_K.ENDING of a folder by number.
std::vector<std::pair<int, fs::path>> numbered(const fs::path& folder, const std::string& prefix,
                                               std::string_view ending) {
  std::vector<std::pair<int, fs::path>> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix + "_") || !name.ends_with(ending)) continue;
    const char* begin = name.data() + prefix.size() + 1;
    const char* end = name.data() + name.size() - ending.size();
    int number = -1;
    const auto [stop, failure] = std::from_chars(begin, end, number);
    if (failure == std::errc() && stop == end && number >= 0 && number < 100000)
      files.emplace_back(number, entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A gap in the numbers is an absent optional one.
NamedTensor absent() { return {"", {ir::DType::f32, {-1}, {}, {}}}; }

}  // namespace

bool is_data_folder(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with("test_data_set_") || name == "gold_ort";
}

Result<std::vector<TestCase>> find_cases(const std::vector<std::string>& folders) {
  std::vector<TestCase> cases;
  for (const std::string& given : folders) {
    std::error_code error;
    fs::path root = fs::path(given);
    if (!root.has_filename()) root = root.parent_path();
    if (!fs::exists(root, error)) return fail_at(given, "no such folder");
    if (is_operator_file(root)) {
      add_cases_in(root, root.parent_path(), "", cases);
      continue;
    }
    if (!fs::is_directory(root, error)) return fail_at(given, "is not a folder");
    const std::string shown = fs::weakly_canonical(root, error).filename().string();
    const size_t before = cases.size();
    add_cases_of(root, root, shown, cases);
    for (const auto& entry : fs::recursive_directory_iterator(
             root, fs::directory_options::skip_permission_denied, error))
      if (entry.is_directory(error))
        add_cases_of(entry.path(), root, shown, cases);
      else if (is_operator_file(entry.path()))
        add_cases_in(entry.path(), root, shown, cases);
    if (cases.size() == before)
      return fail_at(given, "holds no test case",
                     "a case is a model.onnx with test_data_set_N/ or gold_ort/ beside it, or one "
                     "of an operator file (.jsonc)");
  }
  std::sort(cases.begin(), cases.end(),
            [](const TestCase& a, const TestCase& b) { return natural_less(a.name, b.name); });
  return cases;
}

namespace {

Result<> load_expected(const TestCase& test, const Signature& signature, CaseContent& content) {
  struct Output {
    std::vector<Expected> tensors;
    bool is_sequence = false;
  };
  std::vector<Output> outputs;
  for (std::string_view ending : {".pb", ".sample.json"})
    for (const auto& [number, path] : numbered(test.data, "output", ending)) {
      const auto at = static_cast<size_t>(number);
      while (outputs.size() <= at) outputs.push_back({{{absent(), std::nullopt}}});
      Output output;
      if (ending == ".pb") {
        GS_ASSIGN(NamedItem item,
                  read_item_file(
                      path, at < signature.outputs.size() ? signature.outputs[at] : Declared()));
        output.is_sequence = item.is_sequence;
        for (ops::TensorData& tensor : item.tensors)
          output.tensors.push_back({{item.name, std::move(tensor)}, std::nullopt});
      } else {
        output.tensors.resize(1);
        GS_ASSIGN(output.tensors[0], read_sample_file(path));
      }
      outputs[at] = std::move(output);
    }
  for (Output& output : outputs) {
    if (output.is_sequence || output.tensors.empty())
      content.groups.push_back({"", output.is_sequence, true,
                                static_cast<int>(content.expected.size()),
                                static_cast<int>(output.tensors.size())});
    std::move(output.tensors.begin(), output.tensors.end(), std::back_inserter(content.expected));
  }
  return {};
}

}  // namespace

Result<CaseContent> load_case(const TestCase& test) {
  if (test.data.empty()) return load_operator_case(test.model, test.index);
  CaseContent content;
  GS_ASSIGN(Bytes model, read_file(test.model));
  GS_ASSIGN(const Signature signature, signature_of(model));
  const auto files = numbered(test.data, "input", ".pb");
  // Inputs with a default are counted only where there are more files than other inputs.
  const auto& inputs =
      files.size() > signature.inputs.size() ? signature.all_inputs : signature.inputs;
  onnx::Known given;
  size_t left_out = 0;
  for (const auto& [number, path] : files) {
    const auto at = static_cast<size_t>(number);
    const Declared input = at < inputs.size() ? inputs[at] : Declared();
    GS_ASSIGN(NamedItem item, read_item_file(path, input));
    const std::string& name = signature.has_default(item.name) ? item.name : input.name;
    if (signature.has_default(name)) {
      // A model whose weights are inputs is tested as it is used: with weights as constants.
      if (item.tensors.size() == 1 && is_default(model, name, item.tensors[0])) {
        ++left_out;
        continue;
      }
      given.kept.insert(name);
    }
    content.inputs.resize(std::max(content.inputs.size(), at - left_out), absent());
    if (!input.name.empty()) tell(input, item, given);
    for (size_t i = 0; i < item.tensors.size(); ++i)
      content.inputs.push_back({item.is_sequence ? graph::element_name(item.name, i) : item.name,
                                std::move(item.tensors[i])});
  }
  GS_ASSIGN(content.model, read_model(std::move(model), test.model,
                                      external_files(test.model.parent_path()), std::move(given)));
  GS_TRY(load_expected(test, signature, content));
  return content;
}

std::vector<std::string> operators_of(const TestCase& test) {
  std::set<std::string> names;
  if (test.data.empty()) {
    if (auto name = operator_of_case(test.model, test.index)) names.insert(*name);
  } else if (const auto bytes = read_file(test.model)) {
    const auto model = onnx::parse_model(*bytes);
    if (model && model->graph)
      for (const onnx::ProtoNode& node : model->graph->nodes) names.emplace(node.op);
  }
  return {names.begin(), names.end()};
}

}  // namespace gossamer::command
