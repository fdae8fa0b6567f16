// CPU time and memory of the processes that this one started, from /proc; undefined where there is none.
import {existsSync, readdirSync, readFileSync} from 'node:fs';

export const hasProc = existsSync('/proc/self/task');

const read = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // It ended meanwhile.
  }
};

/** The processes below `ancestor`, itself included. */
export function below(ancestor) {
  const parents = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = read(`/proc/${pid}/stat`);
    if (stat) parents.set(pid, stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  }
  const inside = (pid) => pid !== undefined && (pid === String(ancestor) || inside(parents.get(pid)));
  return [...parents.keys()].filter(inside);
}

/** CPU time in ms of all their threads so far. */
export function cpuTime(pids) {
  let nanoseconds = 0;
  for (const pid of pids) {
    let threads = [];
    try {
      threads = readdirSync(`/proc/${pid}/task`);
    } catch {
      // It ended meanwhile.
    }
    for (const thread of threads) nanoseconds += Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]);
  }
  return nanoseconds / 1e6;
}

/** The most memory that each has had in RAM so far, in bytes, all together; memory they share counts for each. */
export function peakMemory(pids) {
  const peak = (pid) => 1024 * Number(/^VmHWM:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
  return pids.reduce((sum, pid) => sum + peak(pid), 0);
}
