/** A session's start: memory that is known when loading, the weights, and the launches that pack them. */
import {discard} from './discard.ts';
import type {Launcher} from './launcher.ts';
import {isStatic, type WeightEntry} from './manifest.ts';
import {extentOf} from './memory.ts';
import type {Pieces} from './pieces.ts';
import {readSafetensors, type StoredTensor, storedType} from './safetensors.ts';
import {decode, toStorage} from './storage.ts';
import {bytesOf, GossamerError, product, shapeText} from './types.ts';

/** A weight's place in the file. Throws 'damaged' where it is not as the manifest says. */
function findWeight(stored: ReadonlyMap<string, StoredTensor>, {name, dtype, shape}: WeightEntry): StoredTensor {
  const found = stored.get(name);
  if (
    found?.dtype === storedType(dtype) &&
    shapeText(found.shape) === shapeText(shape) &&
    found.end - found.begin === product(shape) * bytesOf(dtype)
  ) {
    return found;
  }
  const has = found ? `${found.dtype} ${shapeText(found.shape)}` : 'nothing';
  throw new GossamerError(
    'damaged',
    `weights.safetensors: "${name}" is ${has}, the manifest wants ${storedType(dtype)} ${shapeText(shape)}`,
  );
}

/**
 * Places the memory, uploads the weights and runs the init launches. `shared`: the device is not the session's own, so
 * that ends are perhaps other memory in each run, and get theirs with the first.
 */
export async function initialize(
  launcher: Launcher,
  file: Pieces | undefined,
  shared: boolean,
  progress: (done: number) => void,
): Promise<void> {
  const {manifest, memory, sites} = launcher;
  const {slots, weights, init} = manifest;
  const last = memory.lastUses();
  const provide = (wanted: (slot: number) => boolean): Promise<void> =>
    memory.provide(
      slots.map((slot, at) =>
        isStatic(slot) && wanted(at) ? extentOf(manifest, at, undefined) : undefined,
      ),
      false,
    );
  const {inputs, outputs} = sites;
  const ends = new Set(shared ? [...inputs, ...outputs.filter(({free}) => free)].map(({slot}) => slot) : []);
  await provide((slot) => !last.has(slot) && !ends.has(slot));
  const stored = file ? readSafetensors(file, 'weights.safetensors') : new Map<string, StoredTensor>();
  const left = new Map(weights.map((weight) => [weight.tensor, weight]));
  const upload = async (tensor: number): Promise<void> => {
    const weight = left.get(tensor);
    if (!weight) return;
    left.delete(tensor);
    const {begin, end} = findWeight(stored, weight);
    const {storage} = memory.tensor(tensor);
    let bytes: Uint8Array = (file as Pieces).take(begin, end);
    if (weight.dtype !== storage) {
      const values = decode(bytes, weight.dtype);
      bytes = toStorage(values, weight.dtype, storage, `weight "${weight.name}"`);
    }
    await memory.write(tensor, bytes, true);
    discard(bytes);
    progress(weights.length - left.size);
  };
  // Each weight that is packed has gone before the next comes.
  const fences: Promise<unknown>[] = [];
  for (const [at, launch] of init.entries()) {
    const mine = launch.tensors.map((tensor) => memory.tensor(tensor).slot);
    await provide((slot) => mine.includes(slot) && last.has(slot));
    for (const tensor of launch.tensors) await upload(tensor);
    const recording = await launcher.record([launch], undefined);
    const {done} = launcher.unit([launch]).device.queue.submit([recording], []);
    done.catch(() => undefined);
    fences.push(done);
    recording.dispose();
    for (const slot of mine) if (last.get(slot) === at) memory.spend(slot);
  }
  for (const tensor of left.keys()) await upload(tensor);
  await Promise.all(fences);
}
