/** Loads the package of fixtures/large.ts, runs it once and says whether it is right. */
import {load} from '../../runtime/src/index.ts';

export async function loadLarge(url: string): Promise<string> {
  using model = await load(url);
  const out = await model.run({});
  for (const [at, {name}] of model.outputs.entries()) {
    const found = Array.from((await out[name]?.data<Float32Array>()) ?? []).join();
    const wanted = [0, 1, 2, 3].map((i) => 4 * (at + i)).join();
    if (found !== wanted) return `${name} is ${found}, not ${wanted}`;
  }
  return '';
}

Object.assign(globalThis, {loadLarge});
