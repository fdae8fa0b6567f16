// Runs a program for WASI in Node: node_wasi.mjs FILE ARGUMENT...
import {readFileSync} from 'node:fs';
import {WASI} from 'node:wasi';

const [file, ...args] = process.argv.slice(2);
const wasi = new WASI({version: 'preview1', args: [file, ...args], preopens: {'.': '.', '/': '/'}, returnOnExit: true});
const {instance} = await WebAssembly.instantiate(readFileSync(file), wasi.getImportObject());
process.exitCode = wasi.start(instance);
