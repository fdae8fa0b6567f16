// Feeds the web run time with manifests (cases.mjs): node web_loader.mjs CASES WEIGHTS
// One line a case: how reading it ended, '|', and how loading and running it did.
import {createReadStream, readFileSync} from 'node:fs';
import {createInterface} from 'node:readline';
import {parseManifest} from '../../web/runtime/src/package/manifest.ts';
import {Pieces} from '../../web/runtime/src/package/pieces.ts';
import {Session} from '../../web/runtime/src/session/session.ts';
import {arrayOf} from '../../web/runtime/src/values/tensor.ts';
import {GossamerError, product} from '../../web/runtime/src/values/types.ts';
import {valuePorts} from '../../web/runtime/src/session/ports.ts';
import {WeightFiles} from '../../web/runtime/src/package/weights.ts';
import {checkedDevice} from './checked_device.mjs';

/** What is wrong with a field: "package.slots is not a list". */
const fieldError = (message) => /(?:package|header)[^\s]* is not .*/.exec(message)?.[0];

/** What an error says, in words that both loaders share; one that is not ours stands out. */
function wordFor(problem) {
  if (!(problem instanceof GossamerError)) return `CRASH ${String(problem?.stack ?? problem).split('\n').slice(0, 3).join(' ')}`;
  if (problem.code === 'version') return 'version';
  if (problem.code === 'unsupported') return 'target';
  if (/not JSON/.test(problem.message)) return 'not JSON';
  if (/not that of a gossamer package/.test(problem.message)) return 'format';
  return fieldError(problem.message) ?? (problem.code === 'damaged' ? `UNNAMED ${problem.message}` : problem.code);
}

const ours = (problem) => (problem instanceof GossamerError ? problem.code : wordFor(problem));

/** Half of the plans are kind, the others say anything. */
const ANYTHING = [
  0, 1, 2, 5, 17, -1, -5, -(2 ** 31), 2 ** 31 - 1, 70000, 2 ** 20, 2 ** 40, -(2 ** 40), 2 ** 53, 0.5, NaN,
];
const planOf = (turn) => (segment, at) => {
  if (turn === 0) return at === 1 || at === 4 || at === 6 ? 32 : 4;
  return ANYTHING[(turn * 7 + segment * 5 + at * (3 + turn)) % ANYTHING.length];
};

function feedsOf(manifest) {
  const sizes = new Map();
  return Object.fromEntries(
    valuePorts(manifest.inputs).map(({name, dtype, shape}) => {
      const extents = shape.map((extent) => {
        if (typeof extent === 'number') return Math.min(extent, 64);
        if (!sizes.has(extent)) sizes.set(extent, 4);
        return sizes.get(extent);
      });
      const count = product(extents);
      if (count > 2 ** 16) return [name, {data: new Float32Array(1), shape: [1], dtype: 'f32'}];
      if (dtype === 'string') return [name, {data: Array.from({length: count}, () => 'text'), shape: extents, dtype}];
      return [name, {data: arrayOf(dtype, count).fill(dtype === 'i64' || dtype === 'u64' ? 1n : 1), shape: extents, dtype}];
    }),
  );
}

async function use(manifest, weights, turn) {
  const violations = [];
  const kinds = manifest.side === undefined ? [manifest.target] : [manifest.target, 'wasm'];
  const devices = kinds.map((kind) => checkedDevice(kind, planOf(turn), violations));
  const {dims} = manifest;
  const units = await Promise.all(
    devices.map(async (device, at) => {
      const kernels = manifest.kernels.filter((kernel) => kernel.device === at);
      const plan = at === 0 && manifest.plan ? {dims: dims.length, ...manifest.plan} : undefined;
      return {device, executable: await device.createExecutable({kernels, plan, module: undefined}, () => undefined)};
    }),
  );
  let word = 'load';
  try {
    const home = {backend: devices[0], check: () => undefined, dispose: () => devices.forEach((device) => device.dispose())};
    const wanted = new Set(manifest.weights.map(({file}) => file));
    const entries = manifest.files.filter(({name}) => wanted.has(name) && (weights || name !== 'weights.safetensors'));
    const read = ({name}) => Promise.resolve(new Pieces(name === 'weights.safetensors' ? [weights] : [], false));
    const session = await Session.create(manifest, units, new WeightFiles(entries, read), () => undefined, home, true);
    try {
      word = 'run';
      const outputs = await session.run(feedsOf(manifest));
      await Promise.all(outputs.map(({data}) => data));
      word = 'ran';
    } finally {
      session.dispose();
    }
  } catch (problem) {
    word = `${word} ${word === 'load' ? wordFor(problem).replace(/^UNNAMED .*/, 'weights') : ours(problem)}`;
  }
  return violations.length > 0 ? `VIOLATION ${violations[0]}` : word;
}

const files = new Map();
const weightsOf = (seed) => {
  if (!files.has(seed)) {
    const all = JSON.parse(readFileSync(process.argv[3], 'utf8'));
    for (const [name, hex] of Object.entries(all)) files.set(name, hex === null ? undefined : new Uint8Array(Buffer.from(hex, 'hex')));
  }
  return files.get(seed);
};

let at = 0;
const lines = createInterface({input: createReadStream(process.argv[2])});
for await (const line of lines) {
  const {seed, manifest: text, weights} = JSON.parse(line);
  let said;
  try {
    const manifest = parseManifest(text, 'package');
    const file = weights === undefined ? weightsOf(seed) : new Uint8Array(Buffer.from(weights, 'hex'));
    said = `fine|${await use(manifest, file, at % 3)}`;
  } catch (problem) {
    said = `${wordFor(problem)}|`;
  }
  ++at;
  process.stdout.write(`${said.replace(/\s/g, ' ')}\n`);
}
