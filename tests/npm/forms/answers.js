// The worker's side of workers.js.
globalThis.answers = (libraries) => {
  globalThis.addEventListener('message', ({data, ports: [port]}) => {
    const answered = globalThis.answer(libraries, data).then(
      (result) => port.postMessage(result),
      (problem) => port.postMessage({error: String(problem?.stack ?? problem)}),
    );
    return answered;
  });
};
