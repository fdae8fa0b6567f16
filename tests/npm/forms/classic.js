/* global gossamer, gossamerCompiler */
globalThis.use = (options) => globalThis.answer({...gossamer, ...gossamerCompiler}, options);
