/** Chromium and Firefox behind one face: a page, calls into it, and word of its death. */
import {existsSync, readFileSync} from 'node:fs';

export type BrowserName = 'chromium' | 'firefox';

export interface Page {
  goto(url: string): Promise<void>;
  /** Calls the global function `name` of the page with JSON and returns its JSON. */
  call(name: string, argument: unknown): Promise<unknown>;
  /** The value of a JavaScript expression, as JSON. */
  evaluate(expression: string): Promise<unknown>;
  /** Waits until the expression is true, 30 s at most. */
  waitFor(expression: string): Promise<void>;
  screenshot(file: string): Promise<void>;
  /** The size of the window, and whether its user prefers dark colours. Chromium only. */
  appear(as: {readonly width: number; readonly height: number; readonly isDark?: boolean}): Promise<void>;
  /** Gives the file control that the selector finds these files, as its user would. */
  choose(selector: string, files: readonly GivenFile[]): Promise<void>;
  /** What the browser saves when the element that the selector finds is clicked. Chromium only. */
  save(selector: string): Promise<GivenFile>;
  /** Resolves when the page can no longer answer. */
  readonly dead: Promise<string>;
  /** What the page wrote to its console since the last call. */
  takeLog(): string[];
  close(): Promise<void>;
}

export interface GivenFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The media type, where it matters. */
  readonly type?: string | undefined;
}

export interface Browser {
  readonly version: string;
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

export interface BrowserOptions {
  readonly name?: BrowserName | undefined;
  /** A program other than the system's. */
  readonly executable?: string | undefined;
  /** Further command line flags. */
  readonly args?: readonly string[] | undefined;
}

const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--enable-unsafe-webgpu',
  '--disable-gpu-watchdog', // a software GPU may take long over one submission
];

function firstThatExists(candidates: readonly string[], what: string): string {
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${what} is not installed (looked for ${candidates.join(', ')})`);
  return found;
}

const chooseScript = (selector: string, files: readonly GivenFile[]): string => {
  const list = files.map(({name, bytes, type = ''}) => [name, Buffer.from(bytes).toString('base64'), type]);
  return `{
    const list = new DataTransfer();
    for (const [name, text, type] of ${JSON.stringify(list)}) {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      list.items.add(new File([bytes], name, {type}));
    }
    const input = document.querySelector(${JSON.stringify(selector)});
    input.files = list.files;
    input.dispatchEvent(new Event('change', {bubbles: true}));
  }`;
};

/** What both drivers' pages have in common. */
function makeLog(): {add(line: string): void; take(): string[]} {
  let lines: string[] = [];
  return {
    add: (line) => lines.push(line),
    take: () => {
      const taken = lines;
      lines = [];
      return taken;
    },
  };
}

async function startChromium(options: BrowserOptions): Promise<Browser> {
  const {chromium} = await import('playwright-core');
  const browser = await chromium.launch({
    executablePath:
      options.executable ??
      process.env['GOSSAMER_CHROMIUM'] ??
      firstThatExists(['/usr/bin/chromium', '/usr/bin/google-chrome'], 'Chromium'),
    args: [...CHROMIUM_ARGS, ...(options.args ?? [])],
    ignoreDefaultArgs: ['--disable-gpu', '--disable-software-rasterizer'],
  });
  return {
    version: `Chromium ${browser.version()}`,
    async newPage() {
      const page = await browser.newPage();
      const log = makeLog();
      page.on('console', (message) => log.add(message.text()));
      page.on('pageerror', (problem) => log.add(String(problem)));
      const dead = new Promise<string>((resolve) => {
        page.on('crash', () => resolve('the page crashed'));
        page.on('close', () => resolve('the page was closed'));
        browser.on('disconnected', () => resolve('the browser ended'));
      });
      return {
        dead,
        goto: async (url) => void (await page.goto(url)),
        call: (name, argument) =>
          page.evaluate(
            ([called, given]) =>
              (globalThis as unknown as Record<string, (argument: unknown) => unknown>)[
                called as string
              ]?.(given),
            [name, argument],
          ),
        evaluate: (expression) => page.evaluate(expression),
        waitFor: async (expression) => void (await page.waitForFunction(expression)),
        screenshot: async (path) => void (await page.screenshot({path, fullPage: true})),
        async appear({width, height, isDark = false}) {
          await page.setViewportSize({width, height});
          await page.emulateMedia({colorScheme: isDark ? 'dark' : 'light'});
        },
        choose: (selector, files) => page.evaluate(chooseScript(selector, files)),
        async save(selector) {
          const [download] = await Promise.all([
            page.waitForEvent('download'),
            page.click(selector), // a person's: Chromium stops a page's own downloads after ten
          ]);
          return {name: download.suggestedFilename(), bytes: readFileSync(await download.path())};
        },
        takeLog: () => log.take(),
        close: () => page.close(),
      };
    },
    close: () => browser.close(),
  };
}

async function startFirefox(options: BrowserOptions): Promise<Browser> {
  const {default: puppeteer} = await import('puppeteer-core');
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath:
      options.executable ??
      process.env['GOSSAMER_FIREFOX'] ??
      firstThatExists(['/usr/bin/firefox-esr', '/usr/bin/firefox'], 'Firefox'),
    // WebGL needs a display there; without one Firefox runs headless.
    headless: process.env['DISPLAY'] === undefined,
    args: [...(options.args ?? [])],
    protocolTimeout: 600_000,
    extraPrefsFirefox: {
      'dom.webgpu.enabled': true,
      'gfx.webgpu.ignore-blocklist': true,
      'webgl.force-enabled': true,
      'dom.max_script_run_time': 0,
    },
  });
  return {
    version: await browser.version(),
    async newPage() {
      const page = await browser.newPage();
      const log = makeLog();
      page.on('console', (message) => log.add(message.text()));
      page.on('pageerror', (problem) => log.add(String(problem)));
      const dead = new Promise<string>((resolve) => {
        page.on('error', () => resolve('the page crashed'));
        page.on('close', () => resolve('the page was closed'));
        browser.on('disconnected', () => resolve('the browser ended'));
      });
      return {
        dead,
        goto: async (url) => void (await page.goto(url)),
        call: (name, argument) =>
          page.evaluate(
            (called, given) =>
              (globalThis as unknown as Record<string, (argument: unknown) => unknown>)[called]?.(
                given,
              ),
            name,
            argument,
          ),
        evaluate: (expression) => page.evaluate(expression),
        waitFor: async (expression) => void (await page.waitForFunction(expression)),
        screenshot: async (path) => void (await page.screenshot({path: path})),
        choose: async (selector, files) => void (await page.evaluate(chooseScript(selector, files))),
        appear: () => Promise.reject(new Error('only Chromium changes how it appears')),
        save: () => Promise.reject(new Error('Firefox saves files by itself')),
        takeLog: () => log.take(),
        close: () => page.close(),
      };
    },
    close: () => browser.close(),
  };
}

export function startBrowser(options: BrowserOptions = {}): Promise<Browser> {
  return (options.name ?? 'chromium') === 'firefox' ? startFirefox(options) : startChromium(options);
}
