/** What a model says and does about a lost device. Many losses at bad moments: loss_page.ts. */
import {type DeviceKind, load, type Loss} from '../../runtime/src/index.ts';
import {getGpu} from '../../runtime/src/devices/webgpu/adapter.ts';
import {findContext} from '../../runtime/src/devices/webgl/context.ts';
import {tinyFolder, tinyPackage} from '../fixtures/tiny.ts';
import {check, k, ramp, rejects, same} from './check.ts';

type Gpu = 'webgpu' | 'webgl';

export async function loseDevice(kind: DeviceKind): Promise<void> {
  if (kind === 'webgpu') {
    const {device} = await getGpu();
    device.destroy();
    await device.lost;
  } else {
    const context = findContext();
    if (typeof context === 'string') throw new Error(context);
    context.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }
}

const wanted = [3, 8, 13, 18];
const feeds = {x: ramp(4), k};
const turn = (ms = 0): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function recovers(kind: Gpu): Promise<void> {
  const told: Loss[] = [];
  const given = new AbortController();
  const options = {recover: true, strict: true, signal: given.signal, onLost: (loss: Loss) => void told.push(loss)};
  using model = await load(await tinyPackage(kind, {n: 4}), options);
  given.abort(); // was for load()
  const before = Date.now();
  const x = ramp(4);
  const runs = [model.run({x, k}), model.run({x, k})];
  await loseDevice(kind);
  runs.push(model.run({x, k}));
  (x.data as Float32Array).fill(NaN);
  for (const run of runs) same(await (await run)['y']?.data(), wanted, 'y');
  await loseDevice(kind);
  while (told.length < 2) await turn(); // an idle model is told as well
  same(await (await model.run(feeds))['y']?.data(), wanted, 'y');
  const {losses, device, fallbacks} = model.report();
  same(device, kind, 'device');
  same(fallbacks, [], 'fallbacks');
  same(losses.map((loss) => [loss.device, loss.instead]), [[kind, kind], [kind, kind]], 'losses');
  check(/was lost/.test(losses[0]?.reason ?? ''), `reason: ${losses[0]?.reason}`);
  check((losses[0]?.at ?? 0) >= before && (losses[1]?.at ?? Infinity) <= Date.now(), 'when');
  same(told.map((loss) => [loss.device, loss.reason]), losses.map((loss) => [loss.device, loss.reason]), 'told');
}

async function withoutRecover(kind: Gpu): Promise<void> {
  const told: Loss[] = [];
  using model = await load(await tinyPackage(kind, {n: 4}), {onLost: (loss) => void told.push(loss)});
  const {y} = await model.run(feeds);
  await loseDevice(kind);
  const run = model.run(feeds);
  await rejects(run, 'lost', /was lost/);
  while (told.length === 0) await turn();
  same(told[0]?.device, kind, 'device');
  same(model.report().losses, told, 'losses');
  same(model.report().losses[0]?.instead, undefined, 'instead');
  await y?.data().then((values) => same(values, wanted, 'y'), () => undefined);
}

/** A GPU that does not come back. */
async function goesOn(): Promise<void> {
  using model = await load(await tinyFolder({n: 4}), {recover: true});
  using strict = await load(await tinyFolder({n: 4}), {recover: true, strict: true});
  same(model.report().device, 'webgpu', 'device');
  const {gpu} = navigator;
  const real = gpu.requestAdapter.bind(gpu);
  gpu.requestAdapter = () => Promise.resolve(null);
  try {
    await loseDevice('webgpu').catch(() => undefined);
    const waiting = strict.run(feeds);
    same(await (await model.run(feeds))['y']?.data(), wanted, 'y');
    const {device, fallbacks, losses} = model.report();
    same(device, 'webgl', 'device');
    same(fallbacks.map(({what}) => what), ['not webgpu'], 'fallbacks');
    check(/no adapter/.test(fallbacks[0]?.reason ?? ''), `reason: ${fallbacks[0]?.reason}`);
    same(losses.map((loss) => [loss.device, loss.instead]), [['webgpu', 'webgl']], 'losses');
    // Nothing but the same will do for a strict one; it is given up while it waits.
    same(strict.report().losses[0]?.instead, undefined, 'instead');
    strict.dispose();
    await rejects(waiting, 'disposed', /was disposed/);
    await rejects(strict.run(feeds), 'disposed', /was disposed/);
  } finally {
    gpu.requestAdapter = real;
  }
  await loseDevice('webgl');
  same(await (await model.run(feeds))['y']?.data(), wanted, 'y');
  same(model.report().device, 'webgl', 'device');
}

export function addRecovery(tests: Map<string, () => Promise<void>>): void {
  for (const kind of ['webgpu', 'webgl'] as const) {
    tests.set(`${kind}: with recover a model outlives its device, and says so`, () => recovers(kind));
    tests.set(`${kind}: without, it says what was lost`, () => withoutRecover(kind));
  }
  tests.set('auto goes on to webgl with recover where webgpu does not come back', goesOn);
}
