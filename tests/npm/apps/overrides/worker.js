import './pipeline.js';

addEventListener('message', ({data}) =>
  globalThis.use(data).then(postMessage, (problem) => postMessage({error: String(problem?.stack ?? problem)})));
