// The pipeline in a worker, which Vite 6 and 7 build as one classic script.
const worker = new Worker(new URL('./worker.js', import.meta.url), {type: 'module'});

globalThis.use = (given) =>
  new Promise((resolve) => {
    worker.onmessage = ({data}) => resolve(data);
    worker.onerror = ({message}) => resolve({error: `the worker: ${message}`});
    worker.postMessage(given);
  });
