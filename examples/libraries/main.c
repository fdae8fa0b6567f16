/* The digit that a file of 784 raw floats shows:
     gossamer compile model.onnx --name digits --target cpu --emit static-lib --output lib
     cc -Ilib main.c lib/libdigits.a -pthread */
#include <digits.h>
#include <stdio.h>

int main(int argc, char** argv) {
  float image[DIGITS_IMAGE_ELEMENTS], probabilities[DIGITS_PROBABILITIES_ELEMENTS];
  FILE* file = argc > 1 ? fopen(argv[1], "rb") : stdin;
  if (!file || fread(image, sizeof *image, DIGITS_IMAGE_ELEMENTS, file) != DIGITS_IMAGE_ELEMENTS) return 2;
  digits* model;
  int code = digits_init(&model, 1);
  if (code) return fprintf(stderr, "%s\n", digits_message(code)), 1;
  digits_values values = {.image = image,
                          .image_bytes = sizeof image,
                          .probabilities = probabilities,
                          .probabilities_bytes = sizeof probabilities};
  if (digits_run(model, &values)) return fprintf(stderr, "%s\n", digits_error(model)), 1;
  int best = 0;
  for (int digit = 1; digit < DIGITS_PROBABILITIES_ELEMENTS; ++digit)
    if (probabilities[digit] > probabilities[best]) best = digit;
  printf("%d\n", best);
  digits_free(model);
  return 0;
}
