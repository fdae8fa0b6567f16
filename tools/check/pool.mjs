// Runs jobs at the same time, one slot for each core, the longest first.
import {spawn} from 'node:child_process';

/** Longest first. Jobs without a known time come first, in their own order: one of them may be the longest. */
export function longestFirst(jobs, times) {
  const timeOf = ({name}) => times[name] ?? Infinity;
  return jobs
    .map((job, at) => ({job, at}))
    .sort((a, b) => (timeOf(a.job) === timeOf(b.job) ? a.at - b.at : timeOf(b.job) - timeOf(a.job)))
    .map(({job}) => job);
}

/** Runs a program in a process group of its own. Resolves to {code, output, timedOut}. */
export function run({program, args, cwd, env = {}, timeout = 1800}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {cwd, env: {...process.env, ...env}, stdio: ['ignore', 'pipe', 'pipe'], detached: true});
    let output = '';
    let timedOut = false;
    const stop = (signal) => {
      try {
        process.kill(-child.pid, signal);
      } catch {
        // It has ended.
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      stop('SIGKILL');
    }, timeout * 1000);
    const interrupted = () => {
      stop('SIGKILL');
      process.exit(130);
    };
    process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
    const end = (result) => {
      clearTimeout(timer);
      process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
      resolve(result);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk) => (output += chunk));
    child.on('error', (error) => end({code: 1, output: `${program}: ${error.message}`, timedOut}));
    child.on('close', (code) => end({code: code ?? 1, output, timedOut}));
  });
}

/**
 * Runs jobs {name, alone, ...} by `start(job)`, `slots` at a time, in their order; those that are `alone` follow one
 * by one when all others have ended. `done(job, result, seconds)` is called as each ends. `later`: a promise of jobs
 * that come before what is left when it resolves.
 */
export async function runAll(jobs, {slots, start, done, later = Promise.resolve([])}) {
  async function work(queue, more) {
    for (;;) {
      if (queue.length === 0) await more;
      const job = queue.shift();
      if (!job) return;
      const started = performance.now();
      const result = await start(job);
      await done(job, result, (performance.now() - started) / 1000);
    }
  }
  const waiting = jobs.filter(({alone}) => !alone);
  const more = later.then((found) => waiting.unshift(...found));
  await Promise.all(Array.from({length: slots}, () => work(waiting, more)));
  await work(jobs.filter(({alone}) => alone));
}
