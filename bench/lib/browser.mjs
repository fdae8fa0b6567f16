// A Chromium without a window on one address. Nothing drives it: the page works by itself and tells the server.
import {execFileSync, spawn} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {below} from './processes.mjs';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-component-update',
  '--disable-extensions',
  '--disable-gpu-watchdog',
  '--disable-renderer-backgrounding',
  '--disable-sync',
  '--enable-unsafe-webgpu',
  '--hide-scrollbars',
  '--remote-debugging-port=0', // The headless shell ends at once without it.
];

/** Of this program, for parseArgs: it would take the value of --browser-args, which begins with a dash itself, for another option. */
export const commandWords = () => process.argv.slice(2).join('\n').replaceAll('--browser-args\n', '--browser-args=').split('\n').filter(Boolean);

export function findBrowser() {
  const known = ['/usr/bin/chromium', '/usr/bin/google-chrome'];
  const found = process.env.GOSSAMER_CHROMIUM ?? known.find((path) => existsSync(path));
  if (!found) throw new Error('no Chromium found: name one with --browser PATH');
  return found;
}

export function versionOf(path) {
  return execFileSync(path, ['--version', '--no-sandbox'], {stdio: ['ignore', 'pipe', 'ignore']}).toString().trim();
}

/** {processes(): pids, ended: promise, close()}; with an empty profile, which is deleted afterwards. */
export function openBrowser(path, url, more = []) {
  const profile = mkdtempSync(join(tmpdir(), 'gossamer-bench-'));
  const child = spawn(path, [...FLAGS, `--user-data-dir=${profile}`, ...more, url], {stdio: 'ignore', detached: true});
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
    child.once('error', resolve);
  });
  const kill = () => {
    try {
      process.kill(-child.pid, 'SIGKILL'); // its group: the browser's other processes too
    } catch {
      // It has ended.
    }
    rmSync(profile, {recursive: true, force: true, maxRetries: 10, retryDelay: 100});
  };
  // A group of its own outlives this process.
  const stop = () => process.exit(1);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  process.once('exit', kill);
  for (const signal of signals) process.once(signal, stop);
  return {
    ended,
    processes: () => below(child.pid),
    async close() {
      process.off('exit', kill);
      for (const signal of signals) process.off(signal, stop);
      kill();
      await ended;
      rmSync(profile, {recursive: true, force: true, maxRetries: 10, retryDelay: 100});
    },
  };
}
