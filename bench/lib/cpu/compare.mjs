// Comparisons of the cpu, in this process and others.
import {join} from 'node:path';
import {compare} from '../compare.mjs';
import {withoutTheSlow} from '../job.mjs';

/** As lib/drive.mjs; editions: {now: {checkout, build}, ...}; packages: of lib/packages.mjs. */
export async function compareOnCpu(comparisons, {settings, save, say = () => {}, editions, packages, untilMs = Infinity}) {
  const openers = async (module) => {
    const {open} = await import(`./${module}.mjs`);
    return (given) => open({...given, ...editions[given.edition]});
  };
  const prepare = (wanted) => {
    const {name, ms} = packages.make(wanted);
    return {folder: join(packages.folder, name), ms};
  };
  let left = [...comparisons];
  while (left.length && performance.now() < untilMs) {
    const row = await compare(left[0], {...settings, prepare}, openers, ({text}) => say(text));
    save(row);
    left = withoutTheSlow(left.slice(1), row, settings.growthMs);
    packages.clear();
  }
  return {left};
}
