/* Wrong use of two libraries, on purpose and at random: codes, and no memory touched but what was given. Built with sanitizers,
   whose red zones lie around every block. misuse SEED TURNS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"
#include "tokens.h"

static unsigned state;
static unsigned draw(unsigned below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

#define WANT(what, code) \
  if ((what) != (code)) return printf("line %d: %s is not %s\n", __LINE__, #what, #code), 1

static int on_purpose(void) {
  digits* model = NULL;
  digits_values values;
  memset(&values, 0, sizeof values);
  WANT(digits_run(NULL, &values), DIGITS_NOT_READY);
  WANT(digits_init(NULL, 1), DIGITS_NULL);
  WANT(digits_init_in(&model, NULL, DIGITS_MEMORY_BYTES), DIGITS_NULL);
  WANT(digits_init_in(&model, &values, sizeof values), DIGITS_MEMORY);
  WANT(model == NULL, 1);
  digits_free(NULL);
  WANT(strlen(digits_error(NULL)) > 0 && strlen(digits_message(-1)) > 0 && strlen(digits_message(99)) > 0, 1);
  char zeros[512];
  memset(zeros, 0, sizeof zeros); /* memory in which no model was made */
  WANT(digits_run((digits*)(void*)zeros, &values), DIGITS_NOT_READY);
  WANT(digits_init(&model, 1), DIGITS_OK);
  WANT(digits_run(model, NULL), DIGITS_NULL);
  WANT(digits_run(model, &values), DIGITS_SIZE);
  values.image_bytes = 4 * DIGITS_IMAGE_ELEMENTS;
  WANT(digits_run(model, &values), DIGITS_NULL);
  float image[DIGITS_IMAGE_ELEMENTS] = {0}, probabilities[DIGITS_PROBABILITIES_ELEMENTS];
  values.image = image;
  WANT(digits_run(model, &values), DIGITS_ROOM);
  WANT(values.probabilities_bytes, sizeof probabilities);
  WANT(digits_run(model, &values), DIGITS_NULL);
  values.probabilities = probabilities;
  WANT(digits_run(model, &values), DIGITS_OK);
  digits_free(model);
  return 0;
}

static size_t some_bytes(size_t right) {
  const size_t any[] = {right, right, right, right, 0, 1, right + 1, right - 1, right * 2, (size_t)-1, (size_t)-8};
  return any[draw(sizeof any / sizeof *any)];
}

static int at_random(unsigned turns) {
  static const int64_t sizes[] = {1, 1, 2, 3, 5, 0, -1, 2147483647, 2147483648, INT64_MAX, INT64_MIN};
  tokens* model;
  int done = 0;
  WANT(tokens_init(&model, 2), TOKENS_OK);
  for (unsigned turn = 0; turn < turns; ++turn) {
    tokens_values v;
    memset(&v, 0, sizeof v);
    v.batch = sizes[draw(11)];
    v.length = sizes[draw(11)];
    const int small = v.batch >= 0 && v.batch < 9 && v.length >= 0 && v.length < 9;
    const size_t count = small ? (size_t)(v.batch * v.length) : 4;
    int64_t* given[3];
    for (int at = 0; at < 3; ++at) given[at] = calloc(count + 1, 8);
    v.input_ids = draw(16) ? given[0] : NULL, v.input_ids_bytes = some_bytes(count * 8);
    v.token_type_ids = draw(16) ? given[1] : NULL, v.token_type_ids_bytes = some_bytes(count * 8);
    v.input_mask = draw(16) ? given[2] : NULL, v.input_mask_bytes = some_bytes(count * 8);
    v.scores_MatMul_bytes = draw(4) ? count * 99 * 4 : draw(100);
    v.relation_MatMul_bytes = draw(4) && small ? (size_t)v.batch * 8 : draw(10);
    float* const scores = malloc(v.scores_MatMul_bytes + 1);
    float* const relation = malloc(v.relation_MatMul_bytes + 1);
    v.scores_MatMul = scores, v.relation_MatMul = relation;
    const int code = tokens_run(model, &v);
    if (code != TOKENS_OK && strlen(tokens_error(model)) == 0) return printf("turn %u: code %d without a message\n", turn, code), 1;
    if (code == TOKENS_OK && v.scores_MatMul_bytes != count * 99 * 4) return printf("turn %u: it cannot be right\n", turn), 1;
    done += code == TOKENS_OK;
    for (int at = 0; at < 3; ++at) free(given[at]);
    free(scores);
    free(relation);
  }
  tokens_free(model);
  WANT(done > 0, 1);
  return 0;
}

int main(int argc, char** argv) {
  state = (unsigned)atoi(argv[1]);
  return argc != 3 || on_purpose() || at_random((unsigned)atoi(argv[2]));
}
