// Loads a shared library into a program for WASI, as the convention of dynamic linking has it
// (https://github.com/WebAssembly/tool-conventions/blob/main/DynamicLinking.md): load_wasm.mjs PROGRAM LIBRARY ARGUMENT...
import {readFileSync} from 'node:fs';
import {WASI} from 'node:wasi';

const [program, library, ...args] = process.argv.slice(2);
const wasi = new WASI({version: 'preview1', args: [program, ...args], preopens: {'.': '.', '/': '/'}, returnOnExit: true});
const module = await WebAssembly.compile(readFileSync(library));

/** Bytes and alignment of memory, elements of the table, from the section dylink.0. */
function needs_of(bytes) {
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  if (number() !== 1) throw new Error('dylink.0 begins with something else than what memory is needed');
  number();
  return {bytes: number(), alignment: 2 ** number(), elements: number()};
}
const needs = needs_of(new Uint8Array(WebAssembly.Module.customSections(module, 'dylink.0')[0]));

let loaded;
const functions = WebAssembly.Module.exports(module).filter(({kind, name}) => kind === 'function' && !name.startsWith('__'));
const late = Object.fromEntries(functions.map(({name}) => [name, (...given) => loaded.exports[name](...given)]));
const host = (await WebAssembly.instantiate(readFileSync(program), {...wasi.getImportObject(), env: late})).instance;
wasi.initialize(host);
const {memory, malloc, free, __indirect_function_table: table, __stack_pointer} = host.exports;
const place = Math.ceil(malloc(needs.bytes + needs.alignment) / needs.alignment) * needs.alignment;
const constant = (value) => new WebAssembly.Global({value: 'i32', mutable: false}, value);
loaded = await WebAssembly.instantiate(module, {
  env: {
    memory,
    malloc,
    free,
    __stack_pointer,
    __indirect_function_table: table,
    __memory_base: constant(place),
    __table_base: constant(table.grow(needs.elements)),
  },
});
loaded.exports.__wasm_apply_data_relocs?.();
loaded.exports.__wasm_call_ctors?.();
process.exitCode = host.exports.__main_void();
