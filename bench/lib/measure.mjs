// Interleaved measurement: every round runs each party once, so that what else the machine does
// hits all of them alike, and ratios are taken round by round.

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/**
 * parties: {name, run: async () => ({wall, cpu?})} in ms, or run: async () => anything, then timed
 * here. The first party is ours. Gives for each {name, median, best, cpu, ratio}: medians and fastest in
 * ms, cpu the median CPU time where known, ratio the median over rounds of first / this.
 */
export async function interleave(parties, {rounds = 25, warmup = 3, budgetMs = 60_000, cpuTime} = {}) {
  const times = parties.map(() => []);
  const timed = async ({run}) => {
    const cpuBefore = cpuTime?.();
    const begin = performance.now();
    const own = await run();
    const wall = performance.now() - begin;
    if (own?.wall !== undefined) return own;
    return {wall, cpu: cpuTime && cpuTime() - cpuBefore};
  };
  const begin = performance.now();
  for (let round = 0; round < warmup + rounds; ++round) {
    // Whoever comes second may profit from or suffer under the first: take turns.
    const order = parties.map((_, at) => (at + round) % parties.length);
    for (const at of order) {
      const time = await timed(parties[at]);
      if (round >= warmup) times[at].push(time);
    }
    if (round >= warmup + 4 && performance.now() - begin > budgetMs) break;
  }
  return parties.map(({name}, at) => {
    const wall = times[at].map((time) => time.wall);
    const cpu = times[at].map((time) => time.cpu).filter((time) => time !== undefined);
    const ratio = (key) => median(times[0].map((time, round) => time[key] / times[at][round][key]));
    return {
      name,
      rounds: wall.length,
      median: median(wall),
      best: Math.min(...wall),
      ...(cpu.length ? {cpu: median(cpu), bestCpu: Math.min(...cpu), cpuRatio: ratio('cpu')} : {}),
      ratio: ratio('wall'),
    };
  });
}

/** max |a - b| / max |b|. */
export function relativeError(ours, wanted) {
  if (ours.length !== wanted.length) return Infinity;
  let worst = 0;
  let size = 0;
  for (let at = 0; at < wanted.length; ++at) {
    const error = Math.abs(ours[at] - wanted[at]);
    worst = error <= worst ? worst : error;
    size = Math.max(size, Math.abs(wanted[at]));
  }
  return worst / size;
}
