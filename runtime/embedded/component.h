/* What the service of a component (serve/component) knows of the model that it is linked with. */
#ifndef GOSSAMER_COMPONENT_H
#define GOSSAMER_COMPONENT_H

#include "model.h"

/* {"name", "inputs": [{"name", "dtype", "shape"}], "outputs"}: as users see them, -1 for free
   extents. */
extern const char gossamer_signature[];

const char* gossamer_component_signature(void);
const int64_t* gossamer_component_program(void);
/* Of the program's texts. */
const char* gossamer_component_text(int64_t at);

#endif
