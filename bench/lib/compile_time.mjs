// How long the command line takes to compile ResNet-50 for each target; in a page, see `compile` of a comparison's row.
import {median} from './measure.mjs';

const ROUNDS = 3;

/** editions and packages: of lib/packages.mjs; in turns. */
export function measureCompile(editions, packages) {
  return ['webgpu', 'webgl', 'wasm', 'cpu'].flatMap((device) => {
    const times = Object.fromEntries(Object.keys(editions).map((edition) => [edition, []]));
    for (let round = 0; round < ROUNDS; ++round) {
      for (const edition of Object.keys(editions)) times[edition].push(packages.make({edition, model: 'resnet50', device}).ms);
    }
    return Object.entries(times).map(([edition, all]) => ({what: `ResNet-50 for ${device}`, edition, ms: median(all)}));
  });
}
