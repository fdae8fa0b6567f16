// Writes all cases as JSON to the file named, for shaders.test.mjs.
#include <cstdio>

#include "gpu/cases.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: gpu_cases FILE\n"), 2;
  gossamer::tests::gpu::Cases cases;
  gossamer::tests::gpu::add_elementwise(cases);
  gossamer::tests::gpu::add_programs(cases);
  const std::string text = cases.json();
  std::FILE* file = std::fopen(argv[1], "wb");
  if (!file) return std::perror(argv[1]), 1;
  std::fwrite(text.data(), 1, text.size(), file);
  return std::fclose(file) == 0 ? 0 : 1;
}
