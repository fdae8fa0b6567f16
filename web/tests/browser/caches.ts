/** A browser's HTTP cache keeps what the server has replaced since: the model is the new one all the same. */
import {load, tensor} from '../../runtime/src/index.ts';
import {k, same} from './check.ts';

const x = tensor(Float32Array.of(0, 1, 2, 3), [1, 4]);

/** y = 2 w x + 3, with w of the version that was deployed. */
async function weightNow(): Promise<number> {
  using model = await load('/cached/', {device: 'wasm'});
  const {y} = await model.run({x, k});
  const [zero = 0, one = 0] = (await y?.data()) as Float32Array;
  return (one - zero) / 2;
}

const deploy = async (version: number): Promise<void> => void (await fetch(`/deploy/${version}`));
const refresh = async (name: string): Promise<void> => {
  await (await fetch(`/cached/wasm/${name}`, {cache: 'reload'})).arrayBuffer();
};

async function redeployed(): Promise<void> {
  await deploy(2);
  same(await weightNow(), 2, 'the first');
  await deploy(4);
  same(await weightNow(), 2, 'all of it from the cache');
  await refresh('manifest.json');
  same(await weightNow(), 4, 'a new manifest and older files');
  same(await weightNow(), 4, 'the cache has what was fetched again');
  await deploy(8);
  await refresh('weights.safetensors');
  same(await weightNow(), 8, 'an older manifest and new files');
}

export function addCaches(tests: Map<string, () => Promise<void>>): void {
  tests.set('a package that was replaced while a cache holds parts of the old one', redeployed);
}
