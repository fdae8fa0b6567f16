// What pages and Node do with a run time, a package with states that grow and the same without: each gives what tests compare.

/** Greedy tokens of a decoder, and the caches behind them. `count`: told of each token. */
export async function decode({load}, from, {device, state, tokens, rows, count = () => undefined}) {
  const model = await load(from, {device, state, stateRows: rows, threads: 1});
  try {
    const said = [];
    let next = 5n;
    for (let at = 0; at < tokens; ++at) {
      const out = await model.run({ids: {dtype: 'i64', shape: [1, 1], data: BigInt64Array.of(next)}});
      const scores = await Object.values(out)[0].data();
      next = BigInt(scores.indexOf(Math.max(...scores)));
      said.push(Number(next));
      count(at);
    }
    const caches = {};
    for (const name of Object.keys(state)) {
      const cache = model.state.get(name);
      caches[name] = {shape: cache.shape, data: Array.from(await cache.data())};
    }
    return {said, caches};
  } finally {
    model.dispose();
  }
}

/** Greedy tokens of a language model with a mask, after a prompt, and the caches behind them. `count`: told of each token. */
export async function talk({load}, from, {device, state, tokens, rows, count = () => undefined}) {
  const model = await load(from, {device, state, stateRows: rows, threads: 1});
  const ids = (numbers) => ({dtype: 'i64', shape: [1, numbers.length], data: BigInt64Array.from(numbers, BigInt)});
  try {
    const said = [];
    const scores = [];
    let next = [5, 77, 130];
    for (let at = 0, length = 3; at < tokens; ++at, ++length) {
      const {logits} = await model.run({input_ids: ids(next), attention_mask: ids(Array(length).fill(1))});
      const last = Array.from(await logits.data()).slice(-logits.shape[2]);
      next = [last.indexOf(Math.max(...last))];
      said.push(next[0]);
      scores.push(last.slice(0, 8));
      count(at);
    }
    const caches = {};
    for (const name of Object.keys(state)) {
      const cache = model.state.get(name);
      caches[name] = {shape: cache.shape, data: Array.from(await cache.data())};
    }
    return {said, scores, caches};
  } finally {
    model.dispose();
  }
}

/** Sequences that grow by several rows at once, along an inner and along the first axis: from run to run, and with all fed and read. */
export async function grow({load, tensor}, from, {device, steps, width = 3, kept}) {
  const state = {past: 'present', list: 'longer'};
  const model = await load(from, {device, threads: 1, ...(kept && {state})});
  try {
    const all = [];
    let before = {past: tensor(new Float32Array(0), [1, 2, 0, width]), list: tensor(new Float32Array(0), [0, 2])};
    for (const {rows, items} of steps) {
      const feeds = {rows: tensor(Float32Array.from(rows), [1, 2, rows.length / (2 * width), width]), items: tensor(Float32Array.from(items), [items.length / 2, 2])};
      const out = await model.run(kept ? feeds : {...feeds, ...before});
      const result = {squares: Array.from(await out.squares.data()), sums: Array.from(await out.sums.data())};
      for (const [name, next] of Object.entries(state)) {
        const has = kept ? model.state.get(name) : out[next];
        const data = await has.data();
        result[name] = {shape: has.shape, data: Array.from(data)};
        if (!kept) before = {...before, [name]: tensor(data, has.shape)};
      }
      all.push(result);
    }
    return all;
  } finally {
    model.dispose();
  }
}

/**
 * Runs that fail on states that have grown: a feed that does not fit, and more rows than the device has memory for while `full(true)`. After
 * each the state is what it was, and the next run is right. Gives what is wrong.
 */
export async function fail({load, tensor}, from, {device, steps, wanted, full}) {
  const model = await load(from, {device, threads: 1, state: {past: 'present', list: 'longer'}});
  const problems = [];
  const f32 = (values, shape) => tensor(Float32Array.from(values), shape);
  const feedsOf = ({rows, items}) => ({rows: f32(rows, [1, 2, rows.length / 6, 3]), items: f32(items, [items.length / 2, 2])});
  const stateOf = async (name) => {
    const has = model.state.get(name);
    return has && {shape: [...has.shape], data: Array.from(await has.data())};
  };
  const check = async (what, before) => {
    for (const name of ['past', 'list']) {
      const [has, should] = [await stateOf(name), before?.[name]].map((each) => JSON.stringify(each));
      if (has !== should) problems.push(`${what}: ${name} is ${has?.slice(0, 80)}, was ${should?.slice(0, 80)}`);
    }
  };
  const fails = async (what, feeds, before) => {
    const out = await model.run(feeds).then(() => 'it ran', () => undefined);
    if (out) problems.push(`${what}: ${out}`);
    await check(what, before);
  };
  try {
    for (const [at, step] of steps.entries()) {
      const before = wanted[at - 1];
      const feeds = feedsOf(step);
      await fails(`step ${at}, a type`, {...feeds, rows: tensor(new Int32Array(6), [1, 2, 1, 3])}, before);
      await fails(`step ${at}, a shape`, {...feeds, rows: f32([1, 2, 3, 4], [1, 2, 1, 2])}, before);
      full?.(true);
      const many = 50_000 << at;
      if (full) await fails(`step ${at}, no memory`, {...feeds, rows: f32(new Float32Array(6 * many), [1, 2, many, 3])}, before);
      full?.(false);
      const {squares} = await model.run(feeds);
      const made = Array.from(await squares.data());
      if (!made.every((each, column) => Math.abs(each - wanted[at].squares[column]) < 1e-4)) problems.push(`step ${at}: ${made}`);
      const state = await stateOf('past');
      if (JSON.stringify(state.shape) !== JSON.stringify(wanted[at].past.shape)) problems.push(`step ${at}: ${state.shape}`);
      wanted[at] = {...wanted[at], past: state, list: await stateOf('list')};
    }
  } finally {
    model.dispose();
  }
  return problems;
}

/**
 * A past that several runs continue, as beams do: each output has its own rows, and the past keeps its values. A chain of runs, whose tensors
 * all stay, writes into the memory of the first. Gives what is wrong.
 */
export async function fork({load, openDevice, tensor}, from, {device: kind}) {
  const device = await openDevice(kind, {threads: 1});
  const model = await load(from, {device});
  const problems = [];
  const run = ({present, longer}, value) => {
    const feeds = {rows: tensor(new Float32Array(6).fill(value), [1, 2, 1, 3]), items: tensor(Float32Array.of(value, value), [1, 2])};
    return model.run({...feeds, past: present, list: longer}, {location: {present: 'device', longer: 'device'}});
  };
  const check = async ({present, longer}, wanted) => {
    const [has, list] = [await present.data(), await longer.data()].map((data) => Array.from(data).join());
    const half = wanted.flatMap((each) => [each, each, each]);
    if (has !== [...half, ...half].join()) problems.push(`rows ${wanted} are ${has}`);
    if (list !== wanted.flatMap((each) => [each, each]).join()) problems.push(`items ${wanted} are ${list}`);
  };
  try {
    const none = {present: tensor(new Float32Array(0), [1, 2, 0, 3]), longer: tensor(new Float32Array(0), [0, 2])};
    const first = await run(none, 1);
    const [a, b] = await Promise.all([run(first, 2), run(first, 3)]);
    const c = await run(first, 4);
    const [d, e] = [await run(a, 5), await run(b, 6)];
    for (const [out, wanted] of [[d, [1, 2, 5]], [e, [1, 3, 6]], [c, [1, 4]], [b, [1, 3]], [a, [1, 2]], [first, [1]]]) await check(out, wanted);
    // What nobody has any more may be written again.
    d.present.dispose();
    d.longer.dispose();
    const {bytes} = device.memory();
    const chain = [a];
    for (let at = 0; at < 10; ++at) chain.push(await run(chain[at], 10 + at));
    if (device.memory().bytes !== bytes) problems.push(`a chain of runs takes ${device.memory().bytes - bytes} bytes`);
    for (const [at, out] of chain.entries()) await check(out, [1, 2, ...chain.slice(1, at + 1).map((_, place) => 10 + place)]);
    await check(e, [1, 3, 6]);
  } finally {
    model.dispose();
    device.dispose();
  }
  return problems;
}

/** What a page asks of WebGPU while `body` counts tokens: by token, bind groups made, bytes copied, and launches. */
export async function counted(body) {
  const counts = [];
  let groups = 0;
  let bytes = 0;
  let launches = 0;
  const make = GPUDevice.prototype.createBindGroup;
  const copy = GPUCommandEncoder.prototype.copyBufferToBuffer;
  const launch = GPUComputePassEncoder.prototype.dispatchWorkgroups;
  GPUComputePassEncoder.prototype.dispatchWorkgroups = function (...args) {
    launches += 1;
    return launch.apply(this, args);
  };
  GPUDevice.prototype.createBindGroup = function (...args) {
    groups += 1;
    return make.apply(this, args);
  };
  GPUCommandEncoder.prototype.copyBufferToBuffer = function (...args) {
    bytes += args[4];
    return copy.apply(this, args);
  };
  try {
    const result = await body(() => {
      counts.push({groups, bytes, launches});
      groups = bytes = launches = 0;
    });
    return {...result, counts};
  } finally {
    GPUDevice.prototype.createBindGroup = make;
    GPUCommandEncoder.prototype.copyBufferToBuffer = copy;
    GPUComputePassEncoder.prototype.dispatchWorkgroups = launch;
  }
}
