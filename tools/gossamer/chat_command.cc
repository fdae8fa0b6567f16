// gossamer chat: hands over to gossamer-chat of the Python package, which has tokenizers and chat
// templates (docs/decisions/2026-11-28-chat-in-python.md).
#include <unistd.h>

#include "gossamer/commands.h"

namespace gossamer::command {
namespace {

// Does not come back where the program is found.
int run_chat(std::vector<std::string> words) {
  words.insert(words.begin(), "gossamer-chat");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return report_error(
      {.where = "chat",
       .message = "needs gossamer-chat of the Python package, which is not installed",
       .hint = "pip install '.[llm]' in a checkout"},
      false);
}

}  // namespace

void add_chat(CommandLine& app, Chosen& chosen) {
  const Command command =
      app.add_command("chat", "Talk to a language model (gossamer-chat of the Python package)");
  command.pass_on();
  command.chosen(
      [&chosen, command] { chosen.run = [words = command.words()] { return run_chat(words); }; });
}

}  // namespace gossamer::command
