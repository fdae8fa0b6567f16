import './answer.js';
import './ort_use.js';
import * as ort from './node_modules/@gossamer/ort/dist/ort.js';

globalThis.use = (options) => globalThis.useOrt(ort, options);
