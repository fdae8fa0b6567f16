// compile.cc MODEL.onnx IMAGE: compiles, runs, and prints the most probable digit.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gossamer/compile.hpp>
#include <iterator>

int main(int, char** argv) {
  auto package = gossamer::compile_file(argv[1]);
  if (!package) return std::puts(package.error().to_string().c_str()), 1;
  auto model = gossamer::load(*package, {.threads = 1});
  if (!model) return std::puts(model.error().to_string().c_str()), 1;
  std::vector<float> pixels(784);
  std::ifstream(argv[2], std::ios::binary).read(reinterpret_cast<char*>(pixels.data()), 784 * 4);
  const auto image = gossamer::Tensor::of<float>({1, 1, 28, 28}, pixels);
  const auto outputs = model->run({{"image", image}});
  if (!outputs) return std::puts(outputs.error().to_string().c_str()), 1;
  const auto scores = outputs->at("probabilities").data<float>().value();
  std::printf("%d\n", static_cast<int>(std::ranges::max_element(scores) - scores.begin()));
  // What cannot be compiled is an error here, too.
  return gossamer::compile(std::span<const std::byte>()) ? 1 : 0;
}
