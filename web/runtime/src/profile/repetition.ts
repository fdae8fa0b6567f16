/** Times by the caller's clock: a launch many times in one submission, less what an empty one takes. */
import type {Device, Executable, Recording} from '../devices/device.ts';
import type {WebGlDevice} from '../devices/webgl/device.ts';

/** So often at most in one submission. */
const MOST = 2000;

/** The GPU is done: asked for in every task, where runs leave the page more room. */
async function passed(gl: WebGL2RenderingContext): Promise<void> {
  const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
  gl.flush();
  const {port1, port2} = new MessageChannel();
  while (sync && gl.getSyncParameter(sync, gl.SYNC_STATUS) === gl.UNSIGNALED) {
    await new Promise((resolve) => {
      port1.onmessage = resolve;
      port2.postMessage(0);
    });
  }
  port1.close();
  gl.deleteSync(sync);
}

async function timeOf(device: Device, recordings: readonly Recording[]): Promise<number> {
  const begin = performance.now();
  const fence = device.queue.submit(recordings, []);
  if (device.kind === 'webgl') await passed((device as WebGlDevice).context.gl);
  else await fence.done;
  return performance.now() - begin;
}

/** The fastest of three: other work only makes it longer. */
async function fastest(device: Device, recordings: readonly Recording[]): Promise<number> {
  const times = [];
  for (let at = 0; at < 3; ++at) times.push(await timeOf(device, recordings));
  return Math.min(...times);
}

/** Milliseconds of each recording. */
export async function byRepetition(
  {device, executable}: {readonly device: Device; readonly executable: Executable},
  recordings: readonly Recording[],
  minMs: number,
): Promise<number[]> {
  const nothing = await executable.record([]);
  await fastest(device, [nothing]);
  const empty = await fastest(device, [nothing]);
  // Waiting takes a while itself, and not always the same; so does the first draw into a texture.
  const least = Math.max(minMs, 4 * empty, device.kind === 'webgl' ? 20 : 0);
  const found: number[] = [];
  for (const recording of recordings) {
    const timed = async (count: number): Promise<number> =>
      (await fastest(device, Array.from({length: count}, () => recording))) - empty;
    // The first are compiled, checked and spread over threads.
    for (let at = 0; at < 4; ++at) await timeOf(device, [recording]);
    let count = 1;
    let took = await timed(count);
    for (let turn = 0; turn < 3 && took < least && count < MOST; ++turn) {
      count = Math.min(MOST, Math.ceil((count * least) / Math.max(took, least / 20)));
      took = await timed(count);
    }
    found.push(Math.max(0, took) / count);
  }
  nothing.dispose();
  return found;
}
