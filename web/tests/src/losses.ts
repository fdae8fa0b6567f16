/** Models that lose their devices: from within the page (browser/loss_page.ts), and by ended GPU processes. */
import {readdirSync, readFileSync} from 'node:fs';

import type {Figures} from '../browser/loss_page.ts';
import {type Page, startBrowser} from './browser.ts';
import {startServer, text} from './server.ts';

export interface LossOptions {
  /** Rounds a device, each with a loss; and GPU processes to end a device and way. */
  readonly rounds: number;
  readonly kills: number;
  readonly seed?: number;
  /** The page's script. */
  readonly script: string;
  readonly say?: (line: string) => void;
}

const KINDS = ['webgpu', 'webgl'] as const;
const HTML = '<!doctype html><meta charset="utf-8"><title>losses</title><script src="/page.js"></script>';
// Chromium gives up on GPUs after a few crashes, and on pages that were there; here that is the subject.
const ARGS = ['--disable-gpu-process-crash-limit', '--disable-domain-blocking-for-3d-apis'];
const ROUNDS_A_CALL = 10;

/** Parents by process. */
function parents(): Map<number, number> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return new Map(
    pids.flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        return [[Number(pid), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])] as const];
      } catch {
        return []; // It ended meanwhile.
      }
    }),
  );
}

/** GPU processes of browsers that this process started. */
function gpuProcesses(): number[] {
  const parentOf = parents();
  const mine = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (pid === process.pid || mine(parentOf.get(pid)));
  return [...parentOf.keys()].filter((pid) => {
    try {
      return mine(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=gpu-process');
    } catch {
      return false;
    }
  });
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Now {
  readonly device: string;
  readonly right: number;
  readonly lost: number;
}

/** The page's state when runs on `kind` are right again; undefined after a minute without. */
async function onceRight(page: Page, kind: string): Promise<Now | undefined> {
  const begin = (await page.call('runsNow', undefined)) as Now;
  for (let wait = 0; wait < 600; ++wait) {
    const now = (await page.call('runsNow', undefined)) as Now;
    if (now.device === kind && now.right > begin.right + 4) return now;
    await sleep(100);
  }
  return undefined;
}

/** Ends the GPU process `kills` times in the middle of runs. */
async function endProcesses(page: Page, kind: string, recover: boolean, kills: number): Promise<number> {
  await page.call('beginRuns', {kind, recover});
  let done = 0;
  for (; done < kills; ++done) {
    if (!(await onceRight(page, kind))) break;
    await sleep(Math.random() * 200);
    for (const pid of gpuProcesses()) process.kill(pid, 'SIGKILL');
  }
  await onceRight(page, kind);
  return done;
}

export interface Outcome extends Figures {
  /** GPU processes ended. */
  killed: number;
}

/** Everything; each number is a sum over devices and ways. Throws when no browser starts. */
export async function loseDevices(options: LossOptions): Promise<Outcome> {
  const {rounds, kills, seed = 1, script, say = () => undefined} = options;
  const sum: Outcome = {
    rounds: 0, injected: 0, losses: 0, recoveries: 0, right: 0, lost: 0, wrong: 0, hangs: 0, killed: 0,
    problems: [],
  };
  const add = (what: string, figures: Figures, killed = 0): void => {
    for (const name of Object.keys(figures) as (keyof Figures)[]) {
      if (name === 'problems') sum.problems.push(...figures.problems);
      else sum[name] += figures[name];
    }
    sum.killed += killed;
    say(`${what}: ${JSON.stringify({...figures, killed, problems: figures.problems.slice(0, 3)})}`);
  };
  const server = await startServer();
  server.put('/page.js', text(script, 'text/javascript'));
  server.put('/page.html', text(HTML, 'text/html'));
  const browser = await startBrowser({args: ARGS});
  try {
    const inPage = async (body: (page: Page) => Promise<void>): Promise<void> => {
      const page = await browser.newPage();
      await page.goto(`${server.origin}/page.html`);
      await body(page);
      await page.close();
    };
    for (const kind of KINDS) {
      await inPage(async (page) => {
        await page.call('watchCalls', kind);
        let figures: Figures | undefined;
        for (let at = 0; at < rounds; at += ROUNDS_A_CALL) {
          const count = Math.min(ROUNDS_A_CALL, rounds - at);
          figures = (await page.call('loseSome', {kind, first: seed + at, count})) as Figures;
        }
        if (figures) add(`${kind}, taken away`, figures);
      });
      for (const recover of kills > 0 ? [true, false] : []) {
        await inPage(async (page) => {
          const killed = await endProcesses(page, kind, recover, kills);
          const figures = (await page.call('endRuns', undefined)) as Figures;
          if (killed < kills) figures.problems.push(`after ${killed} ended processes ${kind} did not come back`);
          add(`${kind}, GPU process ended${recover ? ', recover' : ''}`, figures, killed);
        });
      }
    }
  } finally {
    await browser.close();
    server.close();
  }
  return sum;
}
