/* global importScripts, gossamer, gossamerCompiler */
// A worker and a service worker alike.
const libraries = 'node_modules/@gossamer';
importScripts(`${libraries}/runtime/dist/runtime.iife.js`, `${libraries}/compiler/dist/compiler.iife.js`);
importScripts('answer.js', 'answers.js');
// Beside the script that imported it, as a worker does not say where an imported one lies.
const wasm = new URL(`${libraries}/compiler/dist/compiler.wasm`, location.href);
globalThis.answers({...gossamer, compile: (onnx, options) => gossamerCompiler.compile(onnx, {...options, wasm})});
