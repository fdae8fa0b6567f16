/* The program that `--emit wasi` writes: arrays in, arrays out, as .npy files or raw elements, over
   wasi_snapshot_preview1 (https://github.com/WebAssembly/WASI, legacy/preview1) and nothing else.

     engine model.wasm --input x.npy --output y.npy
     engine model.wasm < x.npy > y.npy */
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(name)))

struct bytes {
  const void* data;
  size_t size;
};
WASI("args_sizes_get") extern int wasi_args_sizes(size_t* count, size_t* bytes);
WASI("args_get") extern int wasi_args(char** arguments, char* texts);
WASI("fd_read") extern int wasi_read(int file, const struct bytes* to, size_t count, size_t* got);
WASI("fd_write")
extern int wasi_write(int file, const struct bytes* from, size_t count, size_t* put);
WASI("fd_close") extern int wasi_close(int file);
WASI("fd_prestat_get") extern int wasi_prestat(int file, void* prestat);
WASI("fd_prestat_dir_name") extern int wasi_dir_name(int file, char* name, size_t room);
WASI("path_open")
extern int wasi_open(int folder, int lookup, const char* path, size_t length, int how,
                     uint64_t rights, uint64_t inherited, int flags, int* file);
WASI("proc_exit") extern _Noreturn void wasi_exit(int code);

/* Memory grows and is given back with the program. */
extern unsigned char __heap_base;

void* malloc(size_t bytes) {
  static uintptr_t next;
  if (!next) next = (uintptr_t)&__heap_base;
  const uintptr_t at = (next + 63) / 64 * 64;
  if (bytes > SIZE_MAX - 65536 - at) return NULL;
  const uintptr_t end = at + bytes, pages = (end + 65535) / 65536;
  const uintptr_t have = __builtin_wasm_memory_size(0);
  if (pages > have && __builtin_wasm_memory_grow(0, pages - have) == (size_t)-1) return NULL;
  next = end;
  return (void*)at;
}

void free(void* memory) { (void)memory; }

/* Texts */

static size_t length_of(const char* text) {
  size_t length = 0;
  while (text[length]) ++length;
  return length;
}

static int is_prefix(const char* prefix, const char* text) {
  while (*prefix)
    if (*prefix++ != *text++) return 0;
  return 1;
}

static int same(const char* a, const char* b) { return is_prefix(a, b) && is_prefix(b, a); }

static int write_all(int file, const void* data, size_t size) {
  const char* from = data;
  while (size > 0) {
    const struct bytes part = {from, size};
    size_t put = 0;
    if (wasi_write(file, &part, 1, &put) != 0 || put == 0) return 0;
    from += put;
    size -= put;
  }
  return 1;
}

static void say(const char* text) { write_all(2, text, length_of(text)); }

static size_t digits_of(int64_t number, char* to) {
  char digits[24];
  size_t count = 0, length = 0;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do digits[count++] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (number < 0) to[length++] = '-';
  while (count) to[length++] = digits[--count];
  to[length] = 0;
  return length;
}

static _Noreturn void stop(int code, const char* where, const char* what) {
  say("gossamer: ");
  if (*where) {
    say(where);
    say(": ");
  }
  say(what);
  say("\n");
  wasi_exit(code);
}

static void* take(size_t bytes) {
  void* const memory = malloc(bytes);
  if (!memory) stop(1, "", "out of memory");
  return memory;
}

/* Ports */

static const int64_t* port(int output, int64_t at) {
  return gossamer_program + gossamer_program[output ? GS_OUTPUTS_AT : GS_INPUTS_AT] +
         at * GS_PORT_WORDS;
}

static int64_t ports(int output) { return gossamer_program[output ? GS_OUTPUTS : GS_INPUTS]; }

static const char* name_of(const int64_t* row) { return gossamer_texts + row[4]; }

static void say_ports(int output) {
  char digits[24];
  for (int64_t at = 0; at < ports(output); ++at) {
    const int64_t* row = port(output, at);
    say(output ? "  output " : "  input ");
    say(name_of(row));
    say(": ");
    say(gossamer_texts + row[6]);
    say(" [");
    for (int64_t axis = 0; axis < row[2]; ++axis) {
      const int64_t* extent = gossamer_program + row[3] + 2 * axis;
      const int open = output ? extent[0] != 0 : extent[0] >= 0;
      digits_of(extent[1], digits);
      if (axis) say(", ");
      say(open ? "?" : digits);
    }
    say("]\n");
  }
}

static _Noreturn void usage(int code) {
  say("usage: [--input [NAME=]FILE]... [--output [NAME=]FILE]...\n"
      "Files are .npy, inputs also raw elements; - is stdin or stdout, which are the default.\n"
      "With stdin, a run is made for every set of inputs that it holds.\n");
  say_ports(0);
  say_ports(1);
  wasi_exit(code);
}

/* Files */

static int open_file(const char* path, int writing) {
  int best = -1, file = -1;
  size_t skipped = 0, longest = 0;
  for (int folder = 3;; ++folder) {
    uint32_t prestat[2];
    if (wasi_prestat(folder, prestat) != 0) break;
    char* name = take(prestat[1] + 1);
    if (wasi_dir_name(folder, name, prestat[1]) != 0) break;
    name[prestat[1]] = 0;
    size_t length = length_of(name);
    while (length > 0 && name[length - 1] == '/') name[--length] = 0;
    size_t skip = 0;
    if (is_prefix("./", name)) name += 2, length -= 2;
    const char* given = is_prefix("./", path) ? path + 2 : path;
    if (length == 0 || same(name, ".")) {
      skip = (size_t)(given - path);
      while (path[skip] == '/') ++skip;
      length = (length == 0) == (*path == '/'); /* "/" where the path is absolute, else "." */
    } else if (is_prefix(name, given) && given[length] == '/') {
      skip = (size_t)(given - path) + length + 1;
    } else {
      continue;
    }
    if (best >= 0 && length < longest) continue;
    best = folder;
    longest = length;
    skipped = skip;
  }
  if (best < 0) stop(1, path, "lies in no folder that the engine gives (such as --dir .)");
  const uint64_t rights = writing ? 1u << 6 : 1u << 1 | 1u << 2; /* fd_write; fd_read, fd_seek */
  path += skipped;
  const int how = writing ? 1 | 8 : 0; /* create, truncate */
  if (wasi_open(best, 1, path, length_of(path), how, rights, 0, 0, &file) != 0)
    stop(1, path, writing ? "cannot be written" : "cannot be read");
  return file;
}

/* Reads until `bytes` are there or nothing more comes. */
static size_t read_some(int file, unsigned char* to, size_t bytes) {
  size_t have = 0;
  while (have < bytes) {
    const struct bytes part = {to + have, bytes - have};
    size_t got = 0;
    if (wasi_read(file, &part, 1, &got) != 0) stop(1, "", "an input cannot be read");
    if (got == 0) break;
    have += got;
  }
  return have;
}

/* A file's header of numpy.lib.format: its type, shape and where its elements begin. */
struct array {
  char type[8];
  int64_t rank, shape[32];
};

static const char* after(const char* text, const char* end, const char* word) {
  const size_t length = length_of(word);
  for (; text + length <= end; ++text)
    if (is_prefix(word, text)) return text + length;
  return NULL;
}

static void parse_header(const char* text, size_t length, struct array* array, const char* where) {
  const char* const end = text + length;
  const char* at = after(text, end, "'descr':");
  while (at && at < end && *at == ' ') ++at;
  if (!at || *at++ != '\'') stop(1, where, "has a header without a type");
  size_t letters = 0;
  while (at < end && *at != '\'' && letters < sizeof array->type - 1)
    array->type[letters++] = *at++;
  array->type[letters] = 0;
  at = after(text, end, "'fortran_order':");
  while (at && at < end && *at == ' ') ++at;
  if (!at || *at != 'F') stop(1, where, "is in Fortran's order; numpy.ascontiguousarray helps");
  at = after(text, end, "'shape':");
  while (at && at < end && *at != '(') ++at;
  if (!at || at >= end) stop(1, where, "has a header without a shape");
  array->rank = 0;
  for (++at; at < end && *at != ')'; ++at) {
    if (*at < '0' || *at > '9') continue;
    int64_t extent = 0;
    for (; at < end && *at >= '0' && *at <= '9'; ++at)
      if (extent < INT64_MAX / 16) extent = 10 * extent + (*at - '0');
    if (array->rank == 32) stop(1, where, "has too many axes");
    array->shape[array->rank++] = extent;
    --at;
  }
}

/* '<f4' and '=f4' are one type here, as are '|u1' and '<u1'. */
static int same_type(const char* a, const char* b) {
  return *a != '>' && *a && *b && same(a + 1, b + 1);
}

struct input {
  int file;
  const char* where;
  unsigned char* data;
  size_t bytes, room;
};

static size_t element_bytes(const int64_t* row, const struct array* array, int64_t* dims,
                            const char* where) {
  const int64_t* extent = gossamer_program + row[3];
  uint64_t bytes = (uint64_t)row[1];
  if (array && array->rank != row[2]) stop(1, where, "has another number of axes than the input");
  for (int64_t axis = 0; axis < row[2]; ++axis, extent += 2) {
    int64_t known = extent[1];
    if (extent[0] >= 0) {
      if (!array) stop(1, where, "holds raw elements, whose shape is not known; give a .npy file");
      known = array->shape[axis];
      if (dims[extent[0]] >= 0 && dims[extent[0]] != known)
        stop(1, where, "has a dimension that is another one in an input before");
      dims[extent[0]] = known;
    } else if (array && array->shape[axis] != known) {
      stop(1, where, "has another shape than the input (see --help)");
    }
    if (known < 0 || (known > 0 && bytes > (uint64_t)PTRDIFF_MAX / (uint64_t)known))
      stop(1, where, "is too large");
    bytes *= (uint64_t)known;
  }
  return (size_t)bytes;
}

/* Whether there was one. */
static int read_input(struct input* input, const int64_t* row, int64_t* dims) {
  unsigned char start[12];
  const char* where = input->where;
  size_t have = read_some(input->file, start, 10);
  if (have == 0 && input->file == 0) return 0;
  struct array array;
  const int is_array = have == 10 && start[0] == 0x93 && is_prefix("NUMPY", (char*)start + 1);
  if (is_array) {
    size_t length = (size_t)start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
      if (read_some(input->file, start + 10, 2) != 2) stop(1, where, "ends in its header");
      length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (length > 1 << 20) stop(1, where, "has too long a header");
    char* header = take(length + 1);
    if (read_some(input->file, (unsigned char*)header, length) != length)
      stop(1, where, "ends in its header");
    header[length] = 0;
    parse_header(header, length, &array, where);
    if (!same_type(array.type, gossamer_texts + row[6]))
      stop(1, where, "has another type of elements than the input (see --help)");
    have = 0;
  }
  input->bytes = element_bytes(row, is_array ? &array : NULL, dims, where);
  if (input->bytes > input->room || !input->data) {
    input->data = take(input->bytes + 16);
    input->room = input->bytes;
  }
  if (have > input->bytes) stop(1, where, "has more bytes than the input takes");
  memcpy(input->data, start, have);
  if (read_some(input->file, input->data + have, input->bytes - have) != input->bytes - have)
    stop(1, where, "has fewer bytes than the input takes");
  return 1;
}

static void append(char* to, size_t* at, const char* text) {
  const size_t length = length_of(text);
  memcpy(to + *at, text, length);
  *at += length;
}

static void write_output(int file, const char* where, struct gossamer_model* model, int64_t which) {
  const int64_t* row = port(1, which);
  char header[1024] = "\x93NUMPY\x01";
  size_t at = 10;
  append(header, &at, "{'descr': '");
  append(header, &at, gossamer_texts + row[6]);
  append(header, &at, "', 'fortran_order': False, 'shape': (");
  int64_t extents[32], bytes = 0;
  const unsigned char* data = gossamer_model_output(model, which, extents, &bytes);
  if (!data && bytes > 0) stop(1, where, gossamer_model_error(model));
  for (int64_t axis = 0; axis < row[2]; ++axis) {
    at += digits_of(extents[axis], header + at);
    append(header, &at, axis + 1 < row[2] ? ", " : row[2] == 1 ? "," : "");
  }
  append(header, &at, "), }");
  while (at % 64 != 63) header[at++] = ' ';
  header[at++] = '\n';
  header[8] = (char)((at - 10) & 255);
  header[9] = (char)((at - 10) >> 8);
  if (!write_all(file, header, at) || !write_all(file, data, (size_t)bytes))
    stop(1, where, "cannot be written");
}

/* [NAME=]FILE, where NAME is a port; else the next port. */
static int64_t port_of(int output, const char** given, int64_t* next) {
  for (int64_t at = 0; at < ports(output); ++at) {
    const char* name = name_of(port(output, at));
    const size_t length = length_of(name);
    if (!is_prefix(name, *given) || (*given)[length] != '=') continue;
    *given += length + 1;
    return at;
  }
  if (*next >= ports(output))
    stop(2, *given, output ? "there is no such output left" : "there is no such input left");
  return (*next)++;
}

void gossamer_program_start(void) {
  size_t count = 0, bytes = 0;
  if (wasi_args_sizes(&count, &bytes) != 0) stop(1, "", "there are no arguments");
  char** arguments = take((count + 1) * sizeof *arguments);
  if (wasi_args(arguments, take(bytes + 1)) != 0) stop(1, "", "there are no arguments");
  const int64_t inputs = ports(0), outputs = ports(1), dims = gossamer_program[GS_DIMS];
  struct input* given = take((size_t)inputs * sizeof *given + 1);
  const char** targets = take((size_t)outputs * sizeof *targets + 1);
  for (int64_t at = 0; at < inputs; ++at) given[at] = (struct input){0, "stdin", NULL, 0, 0};
  for (int64_t at = 0; at < outputs; ++at) targets[at] = "-";
  int64_t next[2] = {0, 0};
  for (size_t at = 1; at < count; ++at) {
    const int output = same(arguments[at], "--output") || same(arguments[at], "-o");
    if (same(arguments[at], "--help") || same(arguments[at], "-h")) usage(0);
    if (!output && !same(arguments[at], "--input") && !same(arguments[at], "-i")) usage(2);
    if (++at == count) usage(2);
    const char* file = arguments[at];
    const int64_t which = port_of(output, &file, &next[output]);
    if (output) {
      targets[which] = file;
    } else if (!same(file, "-")) {
      given[which].file = open_file(file, 0);
      given[which].where = file;
    }
  }
  struct gossamer_model* model;
  int code = gossamer_model_init_inside(&model, 0);
  if (code == GOSSAMER_DEVICE) {
    char why[512];
    gs_device_error(why, sizeof why);
    stop(1, "", why);
  }
  if (code) stop(1, "", gossamer_model_message(code));
  int from_stdin = 0, all_from_stdin = 1;
  for (int64_t at = 0; at < inputs; ++at) {
    from_stdin |= given[at].file == 0;
    all_from_stdin &= given[at].file == 0;
  }
  const size_t pair = sizeof(void*) + sizeof(size_t);
  unsigned char* values = take((size_t)(8 * dims) + pair * (size_t)(inputs + outputs));
  for (int64_t runs = 0;; ++runs) {
    int64_t* sizes = (int64_t*)values;
    /* One dimension is the same in all runs where files and stdin are mixed. */
    for (int64_t at = 0; at < dims && (runs == 0 || all_from_stdin); ++at) sizes[at] = -1;
    for (int64_t at = 0; at < inputs; ++at) {
      /* A file is read once and serves all runs. */
      if ((runs == 0 || given[at].file == 0) && !read_input(&given[at], port(0, at), sizes)) {
        if (runs > 0) return;
        stop(1, given[at].where, "ends before the input");
      }
      unsigned char* to = values + 8 * dims + pair * (size_t)at;
      memcpy(to, &given[at].data, sizeof(void*));
      memcpy(to + sizeof(void*), &given[at].bytes, sizeof(size_t));
    }
    code = gossamer_model_compute(model, values);
    if (code) stop(1, "", gossamer_model_error(model));
    for (int64_t at = 0; at < outputs; ++at) {
      const int file = same(targets[at], "-") ? 1 : open_file(targets[at], 1);
      write_output(file, targets[at], model, at);
      if (file != 1) wasi_close(file);
    }
    if (!from_stdin) return;
  }
}
