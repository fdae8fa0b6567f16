// The tokens that follow a prompt, one a line, each as soon as it is known:
//   gossamer compile model.onnx --target cpu --state --generate --output decoder
//   c++ -std=c++23 generate.cc $(pkg-config --cflags --libs gossamer_runtime) -o generate
//   ./generate decoder 128000 9906 1917
// Turning text into tokens and back is a tokenizer's job, such as that of the `tokenizers` library.
#include <gossamer/gossamer.hpp>

#include <cstdlib>
#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: generate PACKAGE TOKEN...\n";
    return 2;
  }
  auto model = gossamer::load(argv[1], {.state = {.by_name = true, .rows = 1024}});
  if (!model) {
    std::cerr << model.error().to_string() << '\n';
    return 1;
  }
  std::vector<int64_t> prompt;
  for (int at = 2; at < argc; ++at) prompt.push_back(std::atoll(argv[at]));
  auto generation =
      model->generate(prompt, {.max_tokens = 16, .temperature = 0.7, .top_p = 0.9, .seed = 1});
  if (!generation) {
    std::cerr << generation.error().to_string() << '\n';
    return 1;
  }
  for (const auto& token : *generation) {
    if (!token) {
      std::cerr << token.error().to_string() << '\n';
      return 1;
    }
    std::cout << token->id << std::endl;
  }
}
