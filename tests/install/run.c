/* run.c PACKAGE IMAGE: the run time alone, from C; prints the most probable digit. */
#include <gossamer/gossamer.h>
#include <stdio.h>

int main(int argc, char** argv) {
  static float pixels[784];
  const int64_t shape[] = {1, 1, 28, 28};
  const gossamer_tensor image = {GOSSAMER_F32, 4, shape, pixels, sizeof pixels};
  gossamer_tensor probabilities;
  FILE* file = argc == 3 ? fopen(argv[2], "rb") : NULL;
  if (!file || fread(pixels, sizeof(float), 784, file) != 784) return 2;
  fclose(file);
  gossamer_model* model = gossamer_load(argv[1], 1);
  if (!model || gossamer_run(model, &image, 1, &probabilities, 1)) return puts(gossamer_error()), 1;
  const float* scores = probabilities.data;
  int best = 0;
  for (int digit = 1; digit < 10; ++digit)
    if (scores[digit] > scores[best]) best = digit;
  printf("%d\n", best);
  gossamer_free(model);
  return 0;
}
