// A module service worker, which cannot import later: the package in one piece.
import './ort_use.js';
import * as ort from './node_modules/@gossamer/ort/dist/ort.single.js';

globalThis.addEventListener('message', ({data, ports: [port]}) =>
  globalThis.useOrt(ort, data).then(
    (result) => port.postMessage(result),
    (problem) => port.postMessage({error: String(problem?.stack ?? problem)}),
  ));
