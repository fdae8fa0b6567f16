/* global ort */
globalThis.use = (options) => globalThis.useOrt(ort, options);
