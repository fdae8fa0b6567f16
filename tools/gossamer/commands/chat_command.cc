// gossamer chat, and gossamer serve for a language model's folder: programs of the Python package,
// which has tokenizers and chat templates (docs/decisions/2026-11-28-chat-in-python.md).
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "gossamer/commands/commands.h"

namespace gossamer::command {
namespace {

// Does not come back where the program is found.
int hand_over(const std::string& command, const std::string& extra,
              std::vector<std::string> words) {
  const std::string program = cat("gossamer-", command);
  words.insert(words.begin(), program);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return report_error(
      {.where = command,
       .message = cat("needs ", program, " of the Python package, which is not installed"),
       .hint = cat("pip install '.[", extra, "]' in a checkout")},
      false);
}

}  // namespace

void add_chat(CommandLine& app, Chosen& chosen) {
  const Command command =
      app.add_command("chat", "Talk to a language model (gossamer-chat of the Python package)");
  command.pass_on();
  command.chosen([&chosen, command] {
    chosen.run = [words = command.words()] { return hand_over("chat", "llm", words); };
  });
}

std::optional<int> serve_language_model(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0] != "serve") return std::nullopt;
  const auto is_model = [](const std::string& word) {
    std::error_code error;
    return word.ends_with(".gguf") ||
           std::filesystem::exists(std::filesystem::path(word) / "tokenizer.json", error);
  };
  if (std::ranges::none_of(words, is_model)) return std::nullopt;
  return hand_over("serve", "serve", {words.begin() + 1, words.end()});
}

}  // namespace gossamer::command
