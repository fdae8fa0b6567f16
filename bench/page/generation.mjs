// Generates text with a language model on one party, by the job that the server gives, and posts the times (bench/generation.mjs).
import {calls, counted, hideFeatures, launchesOf, memory} from './gpu_watch.mjs';

const post = (path, body) => fetch(path, {method: 'POST', body: JSON.stringify(body)}).then((answer) => answer.json());
const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];
const promptOf = (length) => BigInt64Array.from({length}, (_, at) => BigInt((at * 37 + 5) % 500));
const ones = (length) => new BigInt64Array(length).fill(1n);

/** step(ids, length): the last row of the logits after `length` tokens in all, of which `ids` are new. */
async function openGossamer({packages, rows, cache}) {
  const {load, tensor} = await import('/now/runtime/runtime.js');
  const begin = performance.now();
  const phases = {};
  const model = await load(new URL(`/${packages}/`, location.href), {
    device: 'webgpu', strict: false, state: true, stateRows: rows, cache,
    // When each stage began and ended.
    onProgress: ({stage}) => void ((phases[stage] ??= [Math.round(performance.now() - begin)])[1] = Math.round(performance.now() - begin)),
  });
  const load_ms = performance.now() - begin;
  const [ids, mask] = ['input_ids', 'attention_mask'];
  const logits = model.outputs[0].name;
  const {adapter} = model.report();
  const toDevice = {location: {[logits]: 'device'}};
  return {
    load_ms, adapter, phases,
    reset: () => model.state.reset(),
    generate: model.outputs.some(({name}) => name === 'next_ids') ? (prompt, options) => model.generate(prompt, options) : undefined,
    async step(new_ids, length) {
      const feeds = {[ids]: tensor(new_ids, [1, new_ids.length]), [mask]: tensor(ones(length), [1, length])};
      if (new_ids.length === 1) return (await model.run(feeds))[logits].data();
      const out = await model.run(feeds, toDevice);
      const row = await out[logits].data({at: [0, -1]});
      out[logits].dispose();
      return row;
    },
  };
}

async function openOnnxRuntime({model, external}) {
  const dist = new URL('/peers/onnxruntime-web/dist/', location.href).href;
  const imported = await import(`${dist}ort.webgpu.bundle.min.mjs`);
  const ort = imported.InferenceSession ? imported : imported.default;
  ort.env.wasm.wasmPaths = dist;
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
  const begin = performance.now();
  const address = new URL(`/${model}/model.onnx`, location.href).href;
  const externalData = external ? [{path: 'model.onnx_data', data: `${address}_data`}] : undefined;
  const session = await ort.InferenceSession.create(address, {executionProviders: ['webgpu'], preferredOutputLocation: 'gpu-buffer', externalData});
  const load_ms = performance.now() - begin;
  const pasts = session.inputMetadata.filter(({name}) => name.startsWith('past'));
  const [{type, shape: [, heads, , width]}] = pasts;
  const none = () => new ort.Tensor(type, new (type === 'float16' ? (globalThis.Float16Array ?? Uint16Array) : Float32Array)(0), [1, heads, 0, width]);
  let past = {};
  const size = type === 'float16' ? 2 : 4;
  const logits = session.outputNames[0];
  let staging;
  return {
    load_ms,
    reset() {
      for (const each of Object.values(past)) each.dispose();
      past = Object.fromEntries(pasts.map(({name}) => [name, none()]));
    },
    async step(new_ids, length) {
      const feeds = {input_ids: new ort.Tensor('int64', new_ids, [1, new_ids.length]), attention_mask: new ort.Tensor('int64', ones(length), [1, length])};
      const out = await session.run({...feeds, ...past});
      for (const {name} of pasts) {
        past[name].dispose();
        past[name] = out[name.replace('past_key_values', 'present')];
      }
      const columns = out[logits].dims.at(-1);
      const bytes = size * columns;
      const device = await ort.env.webgpu.device;
      staging ??= device.createBuffer({size: Math.ceil(bytes / 16) * 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST});
      const commands = device.createCommandEncoder();
      commands.copyBufferToBuffer(out[logits].gpuBuffer, (new_ids.length - 1) * bytes, staging, 0, Math.ceil(bytes / 4) * 4);
      device.queue.submit([commands.finish()]);
      await staging.mapAsync(GPUMapMode.READ);
      const copy = staging.getMappedRange(0, Math.ceil(bytes / 4) * 4).slice(0, bytes);
      staging.unmap();
      out[logits].dispose();
      const half = globalThis.Float16Array;
      return size === 4 ? new Float32Array(copy) : half ? new half(copy) : new Uint16Array(copy);
    },
  };
}

/** Of generate(), after tokens that fill what is kept. */
const CHAINS = {'each read': {ahead: 0}, chained: {}, '32 ahead': {ahead: 32}, 'chained, drawn': {temperature: 0.8, topK: 40, topP: 0.9, seed: 1}};
const EARLY = 16;

/** Milliseconds a token of generate(), by how it is called. */
async function chained(party, prompt, tokens) {
  const result = {};
  for (const [name, options] of Object.entries(CHAINS)) {
    let [count, begin, before] = [0, 0, undefined];
    for await (const _ of party.generate(prompt, {...options, maxTokens: EARLY + tokens})) {
      if (++count !== EARLY) continue;
      begin = performance.now();
      before = calls();
    }
    const now = calls();
    const made = Object.fromEntries(Object.entries(now).map(([what, number]) => [what, (number - before[what]) / tokens]));
    result[name] = {ms: (performance.now() - begin) / tokens, made};
  }
  return result;
}

const largest = (row) => row.reduce((best, value, at) => (value > row[best] ? at : best), 0);

function byKernel(launches) {
  const found = new Map();
  for (const {name, ms} of launches) {
    const each = found.get(name) ?? found.set(name, {name, ms: 0, launches: 0}).get(name);
    each.ms += ms;
    ++each.launches;
  }
  return [...found.values()].sort((a, b) => b.ms - a.ms);
}

async function measure(job, party) {
  const result = {party: job.party, load_ms: party.load_ms, adapter: party.adapter, phases: party.phases, loaded: {...memory(), ...calls()}, memory: {}, prompts: {}, tokens: {}};
  let length = 0;
  let row;
  let next;
  const prompt = async (many) => {
    party.reset();
    length = many;
    row = await party.step(promptOf(many), length);
  };
  const token = async () => {
    row = await party.step(BigInt64Array.of(BigInt(next)), ++length);
  };
  const timed = async (work) => {
    const begin = performance.now();
    await work();
    return performance.now() - begin;
  };
  for (const many of job.prompts) {
    const first = await timed(() => prompt(many));
    next = largest(row);
    const ids = [next];
    const head = Array.from(row.slice(0, 4), Number);
    result.memory[many] = memory();
    const times = [];
    for (let turn = 0; turn < job.tokens; ++turn) {
      times.push(await timed(token));
      next = largest(row);
      if (turn < 6) ids.push(next);
    }
    result.memory[`${many} + ${job.tokens}`] = memory();
    const again = [];
    for (let turn = 0; turn < job.again; ++turn) again.push(await timed(() => prompt(many)));
    result.prompts[many] = {first, again: again.length > 0 ? median(again) : undefined, ids, head, all: again};
    result.tokens[many] = times.length > 0 ? {first: times[0], second: times[1], median: median(times), fast: Math.min(...times)} : undefined;
    if (party.generate) (result.chained ??= {})[many] = await chained(party, promptOf(many), job.chained);
    await post('/progress', {party: job.party, many, ...result.prompts[many], token: result.tokens[many], chained: result.chained?.[many]});
  }
  await prompt(job.prompts[0]);
  await token();
  await token();
  result.calls = await counted(token);
  if (job.profile) {
    const profiles = {};
    profiles.token = await launchesOf(token);
    for (const many of job.profile) profiles[many] = await launchesOf(() => prompt(many));
    result.profiles = Object.fromEntries(Object.entries(profiles).map(([name, launches]) => {
      const kernels = byKernel(launches);
      const last = launches.at(-1);
      return [name, {launches: launches.length, kernel_ms: launches.reduce((sum, {ms}) => sum + ms, 0), span_ms: (last?.begin ?? 0) + (last?.ms ?? 0), kernels}];
    }));
  }
  return result;
}

const job = await post('/job', {});
try {
  hideFeatures(job.without);
  const party = await (job.party === 'onnxruntime' ? openOnnxRuntime : openGossamer)(job);
  await post('/progress', {party: job.party, load_ms: party.load_ms, phases: party.phases});
  await post('/result', await measure(job, party));
} catch (problem) {
  await post('/result', {party: job.party, problem: String(problem?.stack ?? problem).slice(0, 1500)});
}
