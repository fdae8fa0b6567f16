/** A session's start: memory that is known when loading, the weights, and the launches that pack them. */
import {discard} from '../values/discard.ts';
import type {Launcher} from './launcher.ts';
import {isStatic, type WeightEntry} from '../package/manifest.ts';
import {extentOf} from './memory.ts';
import {type StoredTensor, storedType} from '../package/safetensors.ts';
import {decode} from '../values/encoding.ts';
import {toStorage} from '../values/storage.ts';
import {bytesOf, GossamerError, product, shapeText} from '../values/types.ts';
import type {WeightFiles} from '../package/weights.ts';

/** What launches at load may have under way, in bytes of weights that they read. */
const UNDER_WAY = 2 ** 26;

/** A weight's place in the file. Throws 'damaged' where it is not as the manifest says. */
function findWeight(stored: ReadonlyMap<string, StoredTensor>, {name, dtype, shape, file}: WeightEntry): StoredTensor {
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
    `${file}: "${name}" is ${has}, the manifest wants ${storedType(dtype)} ${shapeText(shape)}`,
  );
}

/**
 * Places the memory, uploads the weights and runs the init launches. `shared`: the device is not the session's own, so
 * that ends are perhaps other memory in each run, and get theirs with the first. `progress` is told bytes.
 */
export async function initialize(
  launcher: Launcher,
  files: WeightFiles,
  shared: boolean,
  progress: (done: number, total: number) => void,
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
  const left = new Map(weights.map((weight) => [weight.tensor, weight]));
  const bytesIn = ({shape, dtype}: WeightEntry): number => product(shape) * bytesOf(dtype);
  const total = [...left.values()].reduce((sum, weight) => sum + bytesIn(weight), 0);
  /** By file: how many are to come, and those that are to lie as they are. */
  const counts = new Map<string, number>();
  const direct = new Map<string, WeightEntry[]>();
  for (const weight of left.values()) {
    counts.set(weight.file, (counts.get(weight.file) ?? 0) + 1);
    if (last.has(memory.tensor(weight.tensor).slot)) continue;
    const mates = direct.get(weight.file);
    if (mates) mates.push(weight);
    else direct.set(weight.file, [weight]);
  }
  let done = 0;
  const upload = async (weight: WeightEntry): Promise<void> => {
    if (!left.delete(weight.tensor)) return;
    const {name, tensor, dtype, file: where} = weight;
    const {storage} = memory.tensor(tensor);
    const given = await files.given?.(name);
    const write = async (bytes: Uint8Array): Promise<void> => {
      const stored = dtype === storage ? bytes : toStorage(decode(bytes, dtype), dtype, storage, `weight "${name}"`);
      await memory.write(tensor, stored, true);
      discard(stored);
    };
    if (given) {
      await write(given);
    } else {
      const {file, stored} = await files.open(where);
      const {begin, end} = findWeight(stored, weight);
      if (dtype === storage) await memory.writeFrom(tensor, file, begin, end);
      else {
        await file.here(end);
        await write(file.take(begin, end));
      }
    }
    const others = (counts.get(where) ?? 0) - 1;
    counts.set(where, others);
    if (others === 0) await files.close(where);
    progress((done += bytesIn(weight)), total);
  };
  /** Once something of a file is wanted, what is to lie as it is goes where it lies, so that the file may go. */
  const arrive = async (weight: WeightEntry): Promise<void> => {
    const mates = direct.get(weight.file) ?? [];
    direct.delete(weight.file);
    await upload(weight);
    for (const mate of mates) await upload(mate);
  };
  // Each weight that is packed has gone before the next comes, but for a few that a GPU is still busy with.
  let fences: Promise<unknown>[] = [];
  let before = 0;
  for (const [at, launch] of init.entries()) {
    const mine = launch.tensors.map((tensor) => memory.tensor(tensor).slot);
    await provide((slot) => mine.includes(slot) && last.has(slot));
    for (const tensor of launch.tensors) {
      const weight = left.get(tensor);
      if (weight) await arrive(weight);
    }
    const recording = await launcher.record([launch], undefined);
    const fence = launcher.unit([launch]).device.queue.submit([recording], []);
    fence.done.catch(() => undefined);
    fences.push(fence.done);
    recording.dispose();
    for (const slot of mine) if (last.get(slot) === at) memory.spend(slot);
    if (done - before < UNDER_WAY) continue;
    await Promise.all(fences);
    fences = [];
    before = done;
  }
  for (const weight of left.values()) await arrive(weight);
  await Promise.all(fences);
}
