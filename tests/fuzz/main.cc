// Writes random graphs as test cases, with what the interpreter says of them.
//
//   graph_fuzz FOLDER [--seed N] [--count N] [--jobs N] [--ops A,B] [--check TARGET,TARGET]
//              [--edits A,B] [--variants]
//   graph_fuzz FOLDER --catalog [--jobs N] [--ops A,B]
//
// Graphs whose integers 32 bits do not hold come into FOLDER/wide, others into FOLDER/narrow, each
// in a folder of its number. --check: the compiler's own properties. --edits: what of shrink.h to
// do to the graph; --variants: every graph that one more edit makes, in FOLDER/EDIT. Prints a line
// of JSON a graph. --catalog: the cases of the catalog instead, in FOLDER/narrow/OPERATOR/CASE.
#include <charconv>
#include <cstdio>

#include "fuzz/catalog.h"
#include "fuzz/shrink.h"
#include "fuzz/write_case.h"
#include "gossamer/runners/isolate.h"

namespace gossamer::fuzz {
namespace {

namespace fs = std::filesystem;

struct Options {
  fs::path folder;
  uint64_t seed = 1;
  size_t count = 1;
  int jobs = 1;
  bool variants = false, catalog = false;
  std::vector<std::string> check, edits;
  GrowOptions grow;
};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    result.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return result;
}

template <class T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool read(int argc, char** argv, Options& options) {
  for (int at = 1; at < argc; ++at) {
    const std::string_view word = argv[at];
    if (word == "--variants") {
      options.variants = true;
      continue;
    }
    if (word == "--catalog") {
      options.catalog = true;
      continue;
    }
    if (!word.starts_with("--")) {
      options.folder = word;
      continue;
    }
    if (++at == argc) return false;
    const std::string_view value = argv[at];
    bool good = true;
    if (word == "--seed")
      good = read_number(value, options.seed);
    else if (word == "--count")
      good = read_number(value, options.count);
    else if (word == "--jobs")
      good = read_number(value, options.jobs);
    else if (word == "--nodes")
      good = read_number(value, options.grow.nodes);
    else if (word == "--check")
      options.check = words(value);
    else if (word == "--edits")
      options.edits = words(value);
    else if (word == "--ops")
      for (std::string& name : words(value)) options.grow.ops.insert(std::move(name));
    else
      good = false;
    if (!good) return false;
  }
  return !options.folder.empty();
}

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + '"';
}

// Writes one graph; the fields of its line.
std::string write(const Recipe& recipe, const Values& values, const fs::path& folder,
                  const Options& options) {
  std::string line = cat("\"nodes\":", recipe.steps.size(), ",\"ops\":[");
  for (size_t at = 0; at < recipe.steps.size(); ++at)
    line += cat(at > 0 ? "," : "", json_text(recipe.steps[at].def->name));
  line += cat("],\"folder\":", json_text(folder.string()));
  Result<> done = write_case(recipe, values, folder);
  if (done && !options.check.empty()) done = check_compile(to_onnx(recipe), options.check);
  if (!done) line += cat(",\"problem\":", json_text(done.error().to_string()));
  return line;
}

Result<std::string> write_graph(uint64_t seed, const Options& options) {
  Grown grown = grow(seed, options.grow);
  for (const std::string& edit : options.edits) {
    auto recipe = edited(grown.recipe, grown.values, edit);
    if (!recipe) return fail(cat("edit ", edit, " is not possible"));
    grown.recipe = *std::move(recipe);
    GS_ASSIGN(grown.values, evaluate(grown.recipe));
  }
  const std::string start = cat("{\"seed\":", seed, ",\"rejected\":", grown.rejected, ",");
  if (grown.recipe.steps.empty()) return start + "\"nodes\":0}\n";
  if (!options.variants) {
    const fs::path folder =
        options.folder / (is_wide(grown.values) ? "wide" : "narrow") / cat(seed);
    return start + write(grown.recipe, grown.values, folder, options) + "}\n";
  }
  std::string lines;
  for (const std::string& edit : edits_of(grown.recipe)) {
    const auto recipe = edited(grown.recipe, grown.values, edit);
    if (!recipe) continue;
    GS_ASSIGN(const Values values, evaluate(*recipe));
    lines += cat(start, "\"edit\":", json_text(edit), ",",
                 write(*recipe, values, options.folder / edit, options), "}\n");
  }
  return lines;
}

struct CatalogCase {
  const ops::OpDef* def;
  size_t number;
};

std::vector<CatalogCase> catalog_cases(const Options& options) {
  std::vector<CatalogCase> all;
  for (const ops::OpDef& def : ops::builtin_catalog().entries()) {
    if (!options.grow.ops.empty() && !options.grow.ops.contains(def.name)) continue;
    for (size_t number = 0; number < def.cases().size(); ++number) all.push_back({&def, number});
  }
  return all;
}

Result<std::string> write_catalog_case(const CatalogCase& one, const Options& options) {
  const ops::Case test = one.def->cases()[one.number];
  const auto failed = [&](const Diagnostic& error) {
    return fail(cat(one.def->name, ", ", test.name, ": ", error.to_string()));
  };
  const Recipe recipe = recipe_of(*one.def, test);
  const auto expected = evaluate_whole(recipe);
  if (!expected) return failed(expected.error());
  Values values;
  add_leaves(recipe, values);
  for (size_t at = 0; at < recipe.outputs.size(); ++at)
    values[recipe.outputs[at]] = {(*expected)[at], {}};
  std::string name = cat(one.number, " ", test.name);
  for (char& c : name)
    if (c == '/' || c == ' ') c = '_';
  const fs::path folder = options.folder / (is_wide(values) ? "wide" : "narrow") /
                          cat(one.def->domain, one.def->domain.empty() ? "" : ".", one.def->name) /
                          name;
  if (auto done = write_files(recipe, *expected, folder); !done) return failed(done.error());
  return cat("{\"folder\":", json_text(folder.string()), "}\n");
}

int run(const Options& options) {
  int failed = 0;
  const std::vector<CatalogCase> cases =
      options.catalog ? catalog_cases(options) : std::vector<CatalogCase>{};
  command::run_isolated(
      options.catalog ? cases.size() : options.count, options.jobs, 60,
      [&](size_t at) {
        auto lines = options.catalog ? write_catalog_case(cases[at], options)
                                     : write_graph(options.seed + at, options);
        return lines ? *lines : "!" + lines.error().to_string();
      },
      [&](size_t at, const command::JobOutcome& outcome) {
        if (outcome.finished && !outcome.text.starts_with("!")) {
          std::fputs(outcome.text.c_str(), stdout);
        } else {
          ++failed;
          std::printf("{\"seed\":%llu,\"problem\":%s}\n",
                      static_cast<unsigned long long>(options.seed + at),
                      json_text("the generator: " + outcome.text).c_str());
        }
        std::fflush(stdout);
      });
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace gossamer::fuzz

int main(int argc, char** argv) {
  gossamer::fuzz::Options options;
  if (!gossamer::fuzz::read(argc, argv, options)) {
    std::fprintf(
        stderr,
        "usage: graph_fuzz FOLDER [--seed N] [--count N] [--jobs N] [--nodes N] [--ops A,B]"
        " [--check TARGETS] [--edits A,B] [--variants] [--catalog]\n");
    return 2;
  }
  return gossamer::fuzz::run(options);
}
