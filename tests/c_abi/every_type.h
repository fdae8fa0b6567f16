/* The part of the test that is C, as a program of a user's would be. */
#ifndef TESTS_C_ABI_EVERY_TYPE_H
#define TESTS_C_ABI_EVERY_TYPE_H

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each gives NULL, or what went wrong; the text lasts until the next call.

   check_type: `folder` holds a model of x, [2, 3] of the type, whose outputs are x twice over, x as
   f32 and that as the type again. */
const char* check_type(const char* folder, gossamer_type type);
/* `folder` holds such a model of f32, `texts` one of strings. */
const char* check_bad_input(const char* folder, const char* texts);

#ifdef __cplusplus
}
#endif
#endif
