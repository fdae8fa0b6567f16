/* The model's tables for `--emit component`, whose service is another object. */
#include "component.h"

const char* gossamer_component_signature(void) { return gossamer_signature; }

const int64_t* gossamer_component_program(void) { return gossamer_program; }

const char* gossamer_component_text(int64_t at) { return gossamer_texts + at; }
