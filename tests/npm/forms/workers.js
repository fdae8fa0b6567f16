// Asks a worker, or a service worker, which answers through a port.
const asked = (target, options) =>
  new Promise((resolve, reject) => {
    const {port1, port2} = new MessageChannel();
    port1.onmessage = ({data}) => (data.error ? reject(new Error(data.error)) : resolve(data));
    target.onerror = (event) => reject(new Error(event.message || 'the worker did not start'));
    target.postMessage(options, [port2]);
  });

globalThis.use = async ({script, type, service, ...options}) => {
  if (!service) return asked(new Worker(script, {type}), options);
  const registration = await navigator.serviceWorker.register(script, {type});
  const worker = registration.installing ?? registration.waiting ?? registration.active;
  if (worker.state !== 'activated') {
    await new Promise((resolve, reject) =>
      worker.addEventListener('statechange', () => {
        if (worker.state === 'activated') resolve();
        else if (worker.state === 'redundant') reject(new Error('the service worker did not start'));
      }));
  }
  try {
    return await asked(worker, options);
  } finally {
    await registration.unregister();
  }
};
