// What a page asks of WebGPU, counted by wrapping the interfaces: bytes of buffers that are alive, calls, and, where wanted, the time of
// every launch by the GPU's clock. Load this before anything that uses WebGPU.

const counts = {dispatches: 0, submits: 0, buffers: 0, groups: 0, writes: 0, write_ms: 0, maps: 0};
/** Bytes by buffer. What is collected without destroy() counts until then. */
let alive = 0;
let most = 0;

function wrap(type, method, before, after) {
  const original = type?.prototype[method];
  if (!original) return;
  type.prototype[method] = function (...given) {
    before?.call(this, ...given);
    const result = original.apply(this, given);
    after?.call(this, result, ...given);
    return result;
  };
}

const sizes = new Map();
const forgotten = new FinalizationRegistry((id) => free(id));
let ids = 0;
const idOf = new WeakMap();
function free(id) {
  alive -= sizes.get(id) ?? 0;
  sizes.delete(id);
}

let device;
wrap(globalThis.GPUDevice, 'createBuffer', undefined, function (buffer, {size}) {
  ++counts.buffers;
  const id = ++ids;
  sizes.set(id, size);
  idOf.set(buffer, id);
  forgotten.register(buffer, id);
  alive += size;
  most = Math.max(most, alive);
  device = this;
});
wrap(globalThis.GPUBuffer, 'destroy', function () {
  free(idOf.get(this));
});
wrap(globalThis.GPUBuffer, 'mapAsync', () => void ++counts.maps);
wrap(globalThis.GPUDevice, 'createBindGroup', () => void ++counts.groups);
wrap(globalThis.GPUQueue, 'submit', () => void ++counts.submits);
let begun = 0;
wrap(globalThis.GPUQueue, 'writeBuffer', () => void (++counts.writes, (begun = performance.now())), () => void (counts.write_ms += performance.now() - begun));
for (const name of ['dispatchWorkgroups', 'dispatchWorkgroupsIndirect']) wrap(globalThis.GPUComputePassEncoder, name, () => void ++counts.dispatches);

/** Bytes of buffers alive now, and the most there ever were. */
export const memory = () => ({alive, most});

/** All calls so far. */
export const calls = () => ({...counts});

/** What `work` asked for. */
export async function counted(work) {
  const before = {...counts};
  await work();
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count - before[name]]));
}

/** Adapters have no feature any more whose name begins so. */
export function hideFeatures(beginnings) {
  const {get} = Object.getOwnPropertyDescriptor(GPUAdapter.prototype, 'features');
  Object.defineProperty(GPUAdapter.prototype, 'features', {
    get() {
      return new Set([...get.call(this)].filter((name) => !beginnings.some((beginning) => name.startsWith(beginning))));
    },
  });
}

/** Launches that one set of timestamps holds. */
const MOST = 2048;

/** The GPU's time of each launch during `work`, in order: [{name: the pipeline's label, ms}]. Each launch gets a pass of its own. */
export async function launchesOf(work) {
  const pass = globalThis.GPUComputePassEncoder.prototype;
  const encoder = globalThis.GPUCommandEncoder.prototype;
  const pipeline = globalThis.GPUDevice.prototype;
  const kept = {begin: encoder.beginComputePass};
  const names = [];
  const set = device.createQuerySet({type: 'timestamp', count: 2 * MOST});
  encoder.beginComputePass = function (given = {}) {
    if (given.timestampWrites) return kept.begin.call(this, given);
    // Stands in for a pass: begins one anew for each launch.
    const state = {groups: new Map(), pipeline: undefined};
    const one = (launch) => {
      const at = names.length;
      const writes = at < MOST ? {timestampWrites: {querySet: set, beginningOfPassWriteIndex: 2 * at, endOfPassWriteIndex: 2 * at + 1}} : {};
      const real = kept.begin.call(this, {...given, ...writes});
      real.setPipeline(state.pipeline);
      for (const [index, rest] of state.groups) real.setBindGroup(index, ...rest);
      names.push(state.groups.get(0)?.[0]?.label || state.pipeline.label);
      launch(real);
      real.end();
    };
    return {
      label: '',
      setPipeline: (next) => void (state.pipeline = next),
      setBindGroup: (index, ...rest) => void state.groups.set(index, rest),
      dispatchWorkgroups: (...size) => one((real) => pass.dispatchWorkgroups.apply(real, size)),
      dispatchWorkgroupsIndirect: (...from) => one((real) => pass.dispatchWorkgroupsIndirect.apply(real, from)),
      pushDebugGroup: () => undefined,
      popDebugGroup: () => undefined,
      insertDebugMarker: () => undefined,
      end: () => undefined,
    };
  };
  try {
    await work();
  } finally {
    encoder.beginComputePass = kept.begin;
  }
  const count = Math.min(names.length, MOST);
  const size = 16 * Math.max(1, count);
  const results = pipeline.createBuffer.call(device, {size, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC});
  const staging = pipeline.createBuffer.call(device, {size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST});
  const commands = device.createCommandEncoder();
  commands.resolveQuerySet(set, 0, 2 * count, results, 0);
  commands.copyBufferToBuffer(results, 0, staging, 0, size);
  device.queue.submit([commands.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const stamps = new BigInt64Array(staging.getMappedRange().slice(0));
  [results, staging, set].forEach((each) => each.destroy());
  return names.slice(0, count).map((name, at) => ({name, ms: Number(stamps[2 * at + 1] - stamps[2 * at]) / 1e6, begin: Number(stamps[2 * at] - stamps[0]) / 1e6}));
}
