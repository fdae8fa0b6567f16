// A headless Chromium on pages from a local server, and the CPU time its processes use.
import {createReadStream, existsSync, readdirSync, readFileSync, statSync} from 'node:fs';
import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import {extname, join, normalize} from 'node:path';

const root = join(import.meta.dirname, '../..');
const {chromium} = createRequire(join(root, 'web/package.json'))('playwright-core');
const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm'};

/** Serves folders by their first path segment, cross-origin isolated: clocks are finer there. */
function serve(folders) {
  const server = createServer((request, response) => {
    const [, first, ...rest] = normalize(new URL(request.url, 'http://x').pathname).split('/');
    const file = folders[first] && join(folders[first], ...rest);
    const found = file && statSync(file, {throwIfNoEntry: false})?.isFile();
    response.writeHead(found ? 200 : 404, {
      'Content-Type': TYPES[extname(file ?? '')] ?? 'application/octet-stream',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Embedder-Policy': 'require-corp',
    });
    if (found) createReadStream(file).pipe(response);
    else response.end();
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** The processes that this one started, and theirs. */
function descendants() {
  const parents = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      parents.set(pid, stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    } catch {
      // It ended meanwhile.
    }
  }
  const below = (pid) => pid !== undefined && (pid === String(process.pid) || below(parents.get(pid)));
  return [...parents.keys()].filter((pid) => pid !== String(process.pid) && below(pid));
}

/** CPU time in ms of all their threads so far. */
function threadsCpu(pids) {
  let nanoseconds = 0;
  for (const pid of pids) {
    try {
      for (const thread of readdirSync(`/proc/${pid}/task`)) {
        nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
      }
    } catch {
      // It ended meanwhile.
    }
  }
  return nanoseconds / 1e6;
}

/** The same with the threads that have ended, in steps of 10 ms. */
export function processesCpu(pids) {
  let ticks = 0;
  for (const pid of pids) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 13);
      ticks += Number(user) + Number(system);
    } catch {
      // It ended meanwhile.
    }
  }
  return 10 * ticks;
}

/** folders: served at /NAME/. Gives {version, page(), close()}. */
export async function startChromium(folders) {
  const server = await serve(folders);
  const found = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((path) => existsSync(path));
  const browser = await chromium.launch({
    executablePath: process.env.GOSSAMER_CHROMIUM ?? found,
    args: ['--no-sandbox', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--enable-unsafe-webgpu', '--disable-gpu-watchdog'],
    ignoreDefaultArgs: ['--disable-gpu', '--disable-software-rasterizer'],
  });
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    version: `Chromium ${browser.version()}`,
    /** A fresh page of page/index.html: {open(options), run(at, turns): {wall, cpu}, close()}. */
    async page() {
      const page = await browser.newPage();
      page.setDefaultTimeout(600_000);
      await page.goto(`${origin}/bench/page/index.html`);
      await page.waitForFunction('globalThis.ready');
      let pids;
      return {
        open(options) {
          pids = undefined;
          return page.evaluate((given) => globalThis.openParty(given), options);
        },
        async run(at, turns = 1, cpuOf = threadsCpu) {
          pids ??= descendants();
          const before = cpuOf(pids);
          const wall = await page.evaluate(([which, count]) => globalThis.runParty(which, count), [at, turns]);
          return {wall, cpu: cpuOf(pids) - before};
        },
        close: () => page.close(),
      };
    },
    async close() {
      await browser.close();
      server.closeAllConnections();
      server.close();
    },
  };
}
