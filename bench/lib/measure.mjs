// Interleaved measurement: every round runs each party once, so that what else the machine does
// hits all of them alike, and ratios are taken round by round. For Node.js and pages.

const sorted = (values) => [...values].sort((a, b) => a - b);

/** The value below which this share of them lies, between neighbours by proportion. */
export function quantile(values, share) {
  const all = sorted(values);
  const at = share * (all.length - 1);
  const low = Math.floor(at);
  return all[low] + (all[Math.ceil(at)] - all[low]) * (at - low);
}

export const median = (values) => quantile(values, 0.5);

/** The result of a promise, or an error after ms; what it waits for may go on unheard. */
export function within(ms, promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error(`${what}: no answer within ${Math.round(ms)} ms`), {overMs: ms})), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/**
 * parties: {name, run: async () => ({wall, cpu?})} in ms, or run: async () => anything, then timed here. Warms up for
 * `warmup` rounds, or one where that takes a quarter of budgetMs. Stops after `rounds`, or once budgetMs have passed and
 * `leastRounds` are done, or twice as much and three are. A party whose run fails or takes longer than limitMs is out of
 * the later rounds and has no statistics. first: the name of the party that ratios are of. tell(name, counts): before each run;
 * counts is false while warming up.
 * Gives for each {name, rounds, median, best, low, high, cpu, bestCpu, cpuRatio, ratio}: medians, fastest and quartiles
 * in ms; cpu where it is known; ratio: the median over rounds of `first` / this. Or {name, problem, overMs}.
 */
export async function interleave(parties, {rounds = 25, leastRounds = 5, warmup = 3, budgetMs = 60_000, limitMs = Infinity, first = parties[0]?.name, cpuTime, tell} = {}) {
  const times = parties.map(() => []);
  const problems = parties.map(() => undefined);
  const timed = async ({name, run}) => {
    const cpuBefore = await cpuTime?.();
    const begin = performance.now();
    const own = await (limitMs < Infinity ? within(limitMs, run(), name) : run());
    const wall = performance.now() - begin;
    if (own?.wall !== undefined) return own;
    return {wall, ...(cpuTime ? {cpu: (await cpuTime()) - cpuBefore} : {})};
  };
  const begin = performance.now();
  const spent = () => performance.now() - begin;
  const turn = async (round, keep) => {
    // Whoever comes second may profit from or suffer under the first: take turns.
    const order = parties.map((_, at) => (at + round) % parties.length).filter((at) => !problems[at]);
    for (const at of order) {
      try {
        tell?.(parties[at].name, keep);
        const time = await timed(parties[at]);
        if (keep) times[at].push(time);
      } catch (problem) {
        problems[at] = problem;
      }
    }
  };
  for (let round = 0; round < warmup && (round === 0 || spent() < budgetMs / 4); ++round) await turn(round, false);
  const enough = (done) => (spent() > budgetMs && done >= leastRounds) || (spent() > 2 * budgetMs && done >= 3);
  for (let round = 0; round < rounds && !enough(round); ++round) await turn(round, true);
  const at = parties.findIndex(({name}) => name === first);
  const against = at < 0 || problems[at] ? undefined : times[at];
  return parties.map(({name}, which) => {
    const problem = problems[which];
    if (problem) return {name, problem: String(problem?.message ?? problem), overMs: problem?.overMs};
    return {name, ...summary(times[which], against)};
  });
}

/** The statistics of one party's times, against those of the first in the same rounds. */
export function summary(times, first) {
  const of = (key) => times.map((time) => time[key]).filter((time) => time !== undefined);
  const wall = of('wall');
  const cpu = of('cpu');
  const ratio = (key) => first && median(times.map((time, round) => first[round][key] / time[key]));
  return {
    rounds: wall.length,
    median: median(wall),
    best: Math.min(...wall),
    low: quantile(wall, 0.25),
    high: quantile(wall, 0.75),
    ...(cpu.length ? {cpu: median(cpu), bestCpu: Math.min(...cpu), cpuRatio: ratio('cpu')} : {}),
    ratio: ratio('wall'),
  };
}

/** max |a - b| / max |b|; of numbers and big integers. */
export function relativeError(ours, wanted) {
  if (ours.length !== wanted.length) return Infinity;
  let worst = 0;
  let size = 0;
  for (let at = 0; at < wanted.length; ++at) {
    const error = Math.abs(Number(ours[at]) - Number(wanted[at]));
    // One NaN stays, unless both have it.
    if (!(error <= worst || Number.isNaN(worst) || (Number.isNaN(ours[at]) && Number.isNaN(wanted[at])))) worst = error;
    size = Math.max(size, Math.abs(Number(wanted[at])));
  }
  return size > 0 ? worst / size : worst;
}

/** The largest error of several outputs. */
const errorOf = (ours, wanted) =>
  ours.length === wanted.length ? Math.max(0, ...ours.map((each, at) => relativeError(each, wanted[at]))) : Infinity;

/**
 * Who is right: the party with whom most others agree is believed (of several the first). Gives for each {error,
 * wrong}; where nobody agrees with anybody, all are wrong. outputs: of each party the list of its arrays, or undefined.
 */
export function judge(outputs, tolerance) {
  const present = outputs.map((each, at) => (each ? at : -1)).filter((at) => at >= 0);
  if (present.length < 2) return outputs.map(() => ({}));
  const errors = outputs.map((wanted) => wanted && outputs.map((each) => each && errorOf(each, wanted)));
  const agree = (at) => present.filter((other) => other !== at && errors[at][other] <= tolerance).length;
  const believed = present.reduce((best, at) => (agree(at) > agree(best) ? at : best), present[0]);
  return outputs.map((each, at) => {
    if (!each) return {};
    const alone = agree(believed) === 0;
    const worst = alone ? Math.max(...present.filter((other) => other !== at).map((other) => errors[other][at])) : errors[believed][at];
    return {error: worst, wrong: !(worst <= tolerance)};
  });
}
