// What every form of use does with the libraries it has: globalThis.answer, as classic scripts and modules may both be read.
// `compile` absent: the package that lies on the server is loaded.
globalThis.answer = async ({load, tensor, compile}, {device, threads, strict}) => {
  const bytes = async (name) => (await fetch(`/files/${name}`)).arrayBuffer();
  const from = compile ? await compile(await bytes('digits.onnx'), {target: device}) : new URL(`/files/${device}/`, location.href);
  const model = await load(from, {device, threads, strict});
  const {probabilities} = await model.run({image: tensor(new Float32Array(await bytes('image')), [1, 1, 28, 28])});
  const values = Array.from(await probabilities.data());
  const {adapter, fallbacks} = model.report();
  model.dispose();
  return {values, adapter, fallbacks, threads: model.report().threads};
};

// Pages: what the policy refused, and a function for the suite.
if (typeof document !== 'undefined') {
  const refused = [];
  document.addEventListener('securitypolicyviolation', ({violatedDirective, blockedURI}) => refused.push(`${violatedDirective} ${blockedURI}`));
  globalThis.ask = async (options) => {
    // The other script may be on its way.
    for (let left = 1200; left > 0 && !globalThis.use; --left) await new Promise((resolve) => setTimeout(resolve, 100));
    const result = await globalThis.use(options).catch((problem) => ({error: String(problem)}));
    return {...result, refused};
  };
}
