// The digit that a file of 784 raw floats shows, with the model as a value that frees itself:
//   gossamer compile model.onnx --name digits --target cpu --emit static-lib --output lib
//   c++ -std=c++17 -Ilib main.cc lib/libdigits.a -pthread
#include <digits.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>

using Model = std::unique_ptr<digits, decltype(&digits_free)>;

static Model make_model() {
  digits* model = nullptr;
  if (const int code = digits_init(&model, 0)) throw std::runtime_error(digits_message(code));
  return {model, digits_free};
}

int main(int argc, char** argv) try {
  std::array<float, DIGITS_IMAGE_ELEMENTS> image;
  std::array<float, DIGITS_PROBABILITIES_ELEMENTS> probabilities;
  std::ifstream file(argc > 1 ? argv[1] : "/dev/stdin", std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(image.data()), sizeof image))
    throw std::runtime_error("no image");
  const Model model = make_model();
  digits_values values{image.data(), sizeof image, probabilities.data(), sizeof probabilities};
  if (digits_run(model.get(), &values)) throw std::runtime_error(digits_error(model.get()));
  std::cout << std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin()
            << '\n';
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
