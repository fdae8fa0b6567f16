// Reads and lowers every model of the test data, where it is present: a graph or a diagnostic,
// never a crash. Set GOSSAMER_CORPUS_REPORT to a file name for one line a model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "graph/stage_graph.h"
#include "onnx/reader.h"
#include "onnx/testdata.h"
#include "onnx/write_model.h"

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
  GS_ASSIGN(const graph::StageGraph stages, graph::lower(graph, ops::builtin_catalog()));
  return without_places(graph::print(stages));
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

Tally walk(const char* folder, const char* extension) {
  Tally tally;
  const char* report_name = std::getenv("GOSSAMER_CORPUS_REPORT");
  FILE* report = report_name ? std::fopen(report_name, "a") : nullptr;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == extension)
      paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    ++tally.models;
    std::vector<std::byte> bytes = contents(path);
    auto graph = read_model(bytes);
    std::string outcome = graph ? "" : "READ " + graph.error().to_string();
    if (graph) {
      ++tally.read;
      auto stages = graph::lower(*graph, ops::builtin_catalog());
      tally.lowered += stages.has_value();
      if (stages) {
        expect_written_the_same(*graph, bytes, graph::print(*stages), path);
        graph::merge_duplicates(*stages);
        graph::drop_dead(*stages);
        EXPECT_FALSE(graph::print(*stages).empty());
        outcome = cat("ok ", graph->nodes.size(), " nodes, ", stages->program.size(), " stages");
      } else {
        outcome = "LOWER " + stages.error().to_string();
        EXPECT_FALSE(stages.error().where.empty()) << path << ": " << outcome;
      }
    }
    if (report) std::fprintf(report, "%s\t%s\n", path.c_str(), outcome.c_str());
  }
  if (report) std::fclose(report);
  return tally;
}

class Corpus : public testing::Test {
 protected:
  Tally tally(const char* folder, const char* extension = ".onnx") {
    const std::string path = testdata(folder);
    if (!fs::exists(path)) return {};
    Tally found = walk(path.c_str(), extension);
    std::printf("%s: %d models, %d read, %d lowered\n", folder, found.models, found.read,
                found.lowered);
    return found;
  }
  void SetUp() override {
    if (!fs::exists(testdata())) GTEST_SKIP() << "the shared test data is not here";
  }
};

TEST_F(Corpus, Models) { EXPECT_GE(tally("models").lowered, 49); }
TEST_F(Corpus, OperatorCases) { EXPECT_GE(tally("onnx_node").lowered, 1140); }
TEST_F(Corpus, OtherCases) {
  tally("onnx_simple");
  tally("onnx_pytorch-converted");
  tally("onnx_pytorch-operator");
  tally("onnx_light");
}
TEST_F(Corpus, HostileFiles) {
  tally("hostile");
  tally("hostile", ".zip");
  tally("models_must_fail_or_stretch");
}
TEST_F(Corpus, InvalidModels) { tally("migraphx_invalid"); }

}  // namespace
}  // namespace gossamer::onnx
