// CPU time of processes, as Linux tells it.
import {readdirSync, readFileSync} from 'node:fs';

const read = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // it has ended
  }
};

/** Seconds that these processes and all below them have computed, in threads that are there. */
export function cpuOf(roots) {
  const below = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = Number(read(`/proc/${pid}/stat`).split(') ')[1]?.split(' ')[1]);
    below.set(parent, [...(below.get(parent) ?? []), Number(pid)]);
  }
  let nanoseconds = 0;
  for (const rest = [...roots]; rest.length > 0; ) {
    const pid = rest.pop();
    rest.push(...(below.get(pid) ?? []));
    let threads = [];
    try {
      threads = readdirSync(`/proc/${pid}/task`);
    } catch {}
    for (const thread of threads) nanoseconds += Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]);
  }
  return nanoseconds / 1e9;
}
