// Reads and lowers every model of the test data, where it is present: a graph or a diagnostic,
// never a crash. Set GOSSAMER_CORPUS_REPORT to a file name for one line a model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <regex>

#include "lower/lower.h"
#include "onnx/reader.h"
#include "onnx/testdata.h"
#include "onnx/write_model.h"
#include "stages/stage_graph.h"

namespace gossamer::onnx {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> contents(const fs::path& path) {
  std::vector<std::byte> bytes(static_cast<size_t>(fs::file_size(path)));
  FILE* file = std::fopen(path.c_str(), "rb");
  size_t got = file ? std::fread(bytes.data(), 1, bytes.size(), file) : 0;
  if (file) std::fclose(file);
  bytes.resize(got);
  return bytes;
}

// Where weights lie in a file is what another file does not share.
std::string without_places(const std::string& stages) {
  static const std::regex place(" at [0-9]+ of the model");
  return std::regex_replace(stages, place, "");
}

// The stages of a graph after it has been written and read, and what was written.
Result<std::string> read_again(const std::string& written, graph::Graph& graph) {
  GS_ASSIGN(graph, read_model(std::as_bytes(std::span(written))));
  GS_ASSIGN(const stages::StageGraph stages, lower::lower(graph, ops::builtin_catalog()));
  return without_places(stages::print(stages));
}

// A graph that is written reads back as one of the same stages, but for names within regions that
// stand in others too; once those are told apart, for all.
void expect_written_the_same(const graph::Graph& graph, Bytes file, const std::string& stages,
                             const fs::path& path) {
  const auto written = write_model(graph, file);
  if (!written) {
    const std::string text = written.error().to_string();
    EXPECT_TRUE(text.contains("sequence") || text.contains("external")) << path << ": " << text;
    return;
  }
  graph::Graph first, second;
  const auto once = read_again(*written, first);
  ASSERT_TRUE(once) << path << ": " << once.error().to_string();
  EXPECT_EQ(std::ranges::count(*once, '\n'), std::ranges::count(stages, '\n')) << path;
  const bool regions = std::ranges::any_of(
      graph.nodes, [](const graph::Node& node) { return !node.regions.empty(); });
  if (!regions) EXPECT_EQ(*once, without_places(stages)) << path;
  const auto twice = read_again(*write_model(first, std::as_bytes(std::span(*written))), second);
  ASSERT_TRUE(twice) << path << ": " << twice.error().to_string();
  EXPECT_EQ(*twice, *once) << path;
}

struct Tally {
  int models = 0, read = 0, lowered = 0;
};

// Reads and lowers a model; what came of it, in words.
std::string try_model(const std::vector<std::byte>& bytes, const fs::path& path, Tally& tally) {
  ++tally.models;
  const auto graph = read_model(bytes);
  if (!graph) return "READ " + graph.error().to_string();
  ++tally.read;
  auto stages = lower::lower(*graph, ops::builtin_catalog());
  if (!stages) {
    EXPECT_FALSE(stages.error().where.empty()) << path << ": " << stages.error().to_string();
    return "LOWER " + stages.error().to_string();
  }
  ++tally.lowered;
  expect_written_the_same(*graph, bytes, stages::print(*stages), path);
  stages::merge_duplicates(*stages);
  stages::drop_dead(*stages);
  EXPECT_FALSE(stages::print(*stages).empty());
  return cat("ok ", graph->nodes.size(), " nodes, ", stages->program.size(), " stages");
}

std::vector<fs::path> files_below(const fs::path& folder, const char* extension) {
  std::vector<fs::path> paths;
  if (!fs::exists(folder)) return paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == extension)
      paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Tally walk(const fs::path& folder, const char* extension = ".onnx") {
  Tally tally;
  const char* report_name = std::getenv("GOSSAMER_CORPUS_REPORT");
  FILE* report = report_name ? std::fopen(report_name, "a") : nullptr;
  for (const fs::path& path : files_below(folder, extension)) {
    const std::string outcome = try_model(contents(path), path, tally);
    if (report) std::fprintf(report, "%s\t%s\n", path.c_str(), outcome.c_str());
  }
  if (report) std::fclose(report);
  std::printf("%s: %d models, %d read, %d lowered\n", folder.c_str(), tally.models, tally.read,
              tally.lowered);
  return tally;
}

#define SKIP_WITHOUT(folder) \
  if (folder.empty()) GTEST_SKIP() << "run tests/conformance/onnx_package.mjs for the cases"

TEST(Corpus, Models) {
  EXPECT_EQ(walk("examples/digits").lowered, 1);
  if (fs::exists(testdata())) EXPECT_GE(walk(testdata("models")).lowered, 49);
}
TEST(Corpus, OperatorCases) {
  const fs::path folder = cases("onnx_node", "node");
  SKIP_WITHOUT(folder);
  EXPECT_GE(walk(folder).lowered, 1300);
}
TEST(Corpus, OtherCases) {
  const fs::path simple = cases("onnx_simple", "simple");
  SKIP_WITHOUT(simple);
  EXPECT_GE(walk(simple).lowered, 15);
  EXPECT_GE(walk(cases("onnx_pytorch-converted", "pytorch-converted")).lowered, 58);
  EXPECT_GE(walk(cases("onnx_pytorch-operator", "pytorch-operator")).lowered, 28);
  walk(testdata("onnx_light"));
}

// Every fortieth operator case of the package, which is enough for each kind of damage.
std::vector<fs::path> sample() {
  std::vector<fs::path> some = {"examples/digits/model.onnx"};
  const auto all = files_below("third_party/cache/onnx_package/node", ".onnx");
  for (size_t at = 0; at < all.size(); at += 40) some.push_back(all[at]);
  return some;
}

// Bytes changed, removed, repeated or cut off.
std::vector<std::byte> damaged(std::vector<std::byte> bytes, int kind, std::minstd_rand& random) {
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  const size_t at = below(bytes.size());
  const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  const auto end = place + static_cast<std::ptrdiff_t>(std::min(below(16), bytes.size() - at));
  switch (kind) {
    case 0:
      *place ^= static_cast<std::byte>(1 << below(8));
      break;
    case 1:
      *place = static_cast<std::byte>("\x00\x7f\x80\xff"[below(4)]);
      break;
    case 2:
      bytes.insert(place, 9, std::byte{0xff});
      break;  // a length or an extent that is huge
    case 3:
      bytes.erase(place, end);
      break;
    case 4: {
      const std::vector<std::byte> again(place, end);
      bytes.insert(place, again.begin(), again.end());
      break;
    }
    default:
      bytes.resize(at);
  }
  return bytes;
}

TEST(Corpus, HostileFiles) {
  std::minstd_rand random(1);
  Tally tally;
  int unchanged = 0;
  for (const fs::path& path : sample()) {
    const auto bytes = contents(path);
    for (int kind = 0; kind < 18; ++kind) {
      const auto outcome = try_model(damaged(bytes, kind % 6, random), path, tally);
      unchanged += outcome.starts_with("ok");
    }
  }
  EXPECT_LT(unchanged, tally.models / 2);
  walk(testdata("hostile"));
  walk(testdata("hostile"), ".zip");
  walk(testdata("models_must_fail_or_stretch"));
}

// Files that are well formed, of graphs that are not.
TEST(Corpus, InvalidModels) {
  using Change = void (*)(graph::Graph&, graph::Node&);
  const Change changes[] = {
      [](graph::Graph&, graph::Node& node) { std::ranges::reverse(node.inputs); },
      [](graph::Graph&, graph::Node& node) { node.inputs.clear(); },
      [](graph::Graph&, graph::Node& node) { node.inputs.push_back(node.inputs.front()); },
      [](graph::Graph&, graph::Node& node) { node.inputs.front() = node.outputs.front(); },
      [](graph::Graph&, graph::Node& node) { node.outputs.push_back(node.outputs.front()); },
      [](graph::Graph&, graph::Node& node) { node.attributes.clear(); },
      [](graph::Graph& graph, graph::Node& node) { graph.nodes.push_back(node); },
  };
  Tally tally;
  for (const fs::path& path : sample()) {
    const auto bytes = contents(path);
    const auto valid = read_model(bytes);
    if (!valid) continue;  // an operator that this project does not have
    for (const Change change : changes) {
      graph::Graph graph = *valid;
      if (graph.nodes.empty() || graph.nodes.front().inputs.empty()) continue;
      change(graph, graph.nodes.front());
      const auto written = write_model(graph, bytes);
      if (!written) continue;
      const auto file = std::as_bytes(std::span(*written));
      try_model({file.begin(), file.end()}, path, tally);
    }
  }
  std::printf("%d models, %d read, %d lowered\n", tally.models, tally.read, tally.lowered);
  EXPECT_GT(tally.models, 0);
  EXPECT_LT(tally.lowered, tally.models * 3 / 4);
  walk(testdata("migraphx_invalid"));
}

}  // namespace
}  // namespace gossamer::onnx
