// Reads the header of a library and writes programs that call it, for the tests: all models with one host.

/** The ports and dimensions that a header declares: {dims: [field], inputs, outputs: [{field, type, port, dtype, elements}]}. */
export function ports_of(header, name) {
  const dims = [...header.matchAll(/^ {2}int64_t (\w+); \/\* the dimension (.*) \*\/$/gm)].map(([, field, dim]) => ({field, dim}));
  const ports = {dims, inputs: [], outputs: []};
  for (const [, type, field, kind, port, dtype, shape] of header.matchAll(
    /^ {2}(?:const )?(\w+)\* (\w+); \/\* (input|output) "(.*)": (\w+) (\[.*?\]).* \*\/$/gm)) {
    const macro = `${name}_${field}_ELEMENTS`.toUpperCase();
    const known = header.match(new RegExp(`^#define ${macro} (\\d+)$`, 'm'));
    ports[`${kind}s`].push({type, field, port, dtype, shape, elements: known ? Number(known[1]) : undefined});
  }
  return ports;
}

/** main.c: dimensions, then a file of raw elements an input, then a file to write an output; `in_place` takes no memory by malloc. */
export function host_source(header, name, {in_place = false} = {}) {
  const {dims, inputs, outputs} = ports_of(header, name);
  const read = inputs.map(({field, type}) => `
  values.${field} = (const ${type}*)read_file(argv[at++], &values.${field}_bytes);`).join('');
  const room = outputs.map(({field, type, elements}) => elements === undefined ? '' : `
  values.${field}_bytes = ${elements} * sizeof(${type});
  values.${field} = (${type}*)malloc(values.${field}_bytes);`).join('');
  const open = outputs.filter(({elements}) => elements === undefined);
  // What a run decides is told by a run without room for it.
  const told = open.map(({field, type}) => `
    if (!values.${field}) values.${field} = (${type}*)malloc(values.${field}_bytes + 1);`).join('');
  const write = outputs.map(({field}) => `
  write_file(argv[at++], values.${field}, values.${field}_bytes);`).join('');
  // Weights beside come first, and must lie at a multiple of 64 bytes.
  const beside = header.includes('weight_bytes');
  const weights = beside ? ', weights, weight_bytes' : '';
  const memory = `${name.toUpperCase()}_MEMORY_BYTES`;
  return `#include "${name}.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void* read_file(const char* path, size_t* bytes) {
  FILE* file = fopen(path, "rb");
  if (!file) exit(3);
  fseek(file, 0, SEEK_END);
  *bytes = (size_t)ftell(file);
  rewind(file);
  void* data = malloc(*bytes + 1);
  if (fread(data, 1, *bytes, file) != *bytes) exit(3);
  fclose(file);
  return data;
}
static void write_file(const char* path, const void* data, size_t bytes) {
  FILE* file = fopen(path, "wb");
  if (!file || fwrite(data, 1, bytes, file) != bytes) exit(3);
  fclose(file);
}
int main(int argc, char** argv) {
  int at = 1, code;
  ${name}* model = NULL;
  ${name}_values values;
  memset(&values, 0, sizeof values);
  (void)argc;${beside ? `
  size_t weight_bytes;
  void* read = read_file(argv[at++], &weight_bytes);
  void* weights = aligned_alloc(64, (weight_bytes + 63) / 64 * 64);
  memcpy(weights, read, weight_bytes);
  if (${name}_init(&model, 1, NULL, weight_bytes) != ${name.toUpperCase()}_NULL) return 4;
  if (${name}_init(&model, 1, weights, 8) != ${name.toUpperCase()}_WEIGHTS) return 5;
  ((char*)weights)[weight_bytes / 2] ^= 1;
  if (${name}_init(&model, 1, weights, weight_bytes) != ${name.toUpperCase()}_WEIGHTS) return 6;
  ((char*)weights)[weight_bytes / 2] ^= 1;` : ''}
  ${in_place ? `code = ${name}_init_in(&model, malloc(${memory}), ${memory}${weights});` : `code = ${name}_init(&model, 2${weights});`}
  if (code) return printf("init: %s\\n", ${name}_message(code)), 1;
${dims.map(({field}) => `  values.${field} = atoll(argv[at++]);`).join('\n')}${read}${room}
  for (int turn = 0; turn < 3; ++turn) {
    code = ${name}_run(model, &values);
    if (code != ${name.toUpperCase()}_ROOM) break;${told}
  }
  if (code) return printf("run: %d %s: %s\\n", code, ${name}_message(code), ${name}_error(model)), 1;${write}
  ${name}_free(model);
  return 0;
}
`;
}
