// Reads and lowers every model of the test data, where it is present: a graph or a diagnostic,
// never a crash. Set GOSSAMER_CORPUS_REPORT to a file name for one line a model.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "graph/stage_graph.h"
#include "onnx/reader.h"

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
    std::string path = cat("../shared/testdata/", folder);
    if (!fs::exists(path)) return {};
    Tally found = walk(path.c_str(), extension);
    std::printf("%s: %d models, %d read, %d lowered\n", folder, found.models, found.read,
                found.lowered);
    return found;
  }
  void SetUp() override {
    if (!fs::exists("../shared/testdata")) GTEST_SKIP() << "../shared/testdata is not here";
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
