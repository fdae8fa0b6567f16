/** JSON lines in, JSON lines out: each case runs in a page of one browser that stays open. */
import {appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {createInterface} from 'node:readline';

import {readNpyHeader} from '../../runtime/page/npy.ts';
import {type Browser, type BrowserOptions, type Page, startBrowser} from './browser.ts';
import type {Answer, Case, PageAnswer, PageCase} from './protocol.ts';
import {body, folder, type Server, startServer, text} from './server.ts';

const PAGE = `<!doctype html><meta charset="utf-8"><title>cases</title>
<script src="/page.js"></script>`;

/** A page is replaced after this many cases, so that what one leaks does not sum up. */
const CASES_PER_PAGE = 200;

export interface HarnessOptions extends BrowserOptions {
  readonly isolated?: boolean;
  /** The page holds the browser to these limits (limits.ts). */
  readonly limits?: string | undefined;
}

export class Harness {
  #browser: Browser;
  readonly #options: HarnessOptions;
  readonly #server: Server;
  readonly #out: string;
  #page: Page | undefined;
  #used = 0;
  #next = 0;

  private constructor(browser: Browser, options: HarnessOptions, server: Server, out: string) {
    this.#browser = browser;
    this.#options = options;
    this.#server = server;
    this.#out = out;
  }

  /** `script` is case_page.ts bundled; outputs are written below `out`. */
  static async start(options: HarnessOptions, script: string, out: string): Promise<Harness> {
    const server = await startServer({isolated: options.isolated ?? true});
    server.put('/page.js', text(script, 'text/javascript'));
    server.put('/page.html', text(PAGE, 'text/html'));
    server.put('/favicon.ico', text('', 'image/png'));
    mkdirSync(out, {recursive: true});
    try {
      return new Harness(await startBrowser(options), options, server, out);
    } catch (problem) {
      server.close();
      throw problem;
    }
  }

  get version(): string {
    return this.#browser.version;
  }

  async #getPage(): Promise<Page> {
    if (this.#page && this.#used++ < CASES_PER_PAGE) return this.#page;
    await this.#dropPage();
    try {
      return await this.#openPage();
    } catch {
      await this.#restart();
      return this.#openPage();
    }
  }

  async #openPage(): Promise<Page> {
    const {limits} = this.#options;
    const opening = (async (): Promise<Page> => {
      const page = await this.#browser.newPage();
      await page.goto(`${this.#server.origin}/page.html${limits ? `?limits=${limits}` : ''}`);
      return page;
    })();
    const page = await Promise.race([opening, wait(30_000)]);
    if (!page) throw new Error('the browser opens no page');
    this.#used = 1;
    return (this.#page = page);
  }

  /** Pages share the process of the GPU: what hung or crashed in one may have taken it along. */
  async #restart(): Promise<void> {
    this.#page = undefined;
    await Promise.race([this.#browser.close().catch(() => undefined), wait(10_000)]);
    this.#browser = await startBrowser(this.#options);
  }

  async #dropPage(): Promise<void> {
    const page = this.#page;
    this.#page = undefined;
    await Promise.race([page?.close().catch(() => undefined), wait(5000)]);
  }

  /** Never rejects: what goes wrong is the case's answer. */
  async run(given: Case): Promise<Answer> {
    const number = this.#next++;
    const prefix = `/case${number}`;
    const base = `${this.#server.origin}${prefix}/`;
    const out = join(this.#out, String(number));
    try {
      mkdirSync(out, {recursive: true});
      this.#server.put(`${prefix}/package`, folder(resolve(given.package_dir)));
      this.#server.put(`${prefix}/out`, async (rest, request, response) => {
        appendFileSync(join(out, `${Number(rest.slice(1))}.bin`), await body(request));
        response.end();
      });
      const inputs = given.inputs.map((input, at): PageCase['inputs'][number] => {
        const file = readFileSync(input.file);
        const {dtype, shape, offset, columnMajor} = input.file.endsWith('.npy')
          ? readNpyHeader(file, input.file)
          : {dtype: input.dtype, shape: input.shape, offset: 0, columnMajor: false};
        if (columnMajor) throw new Error(`${input.file}: not in row-major order`);
        if (dtype === undefined || shape === undefined) {
          throw new Error(`input "${input.name}": a raw file needs dtype and shape`);
        }
        const name = `${prefix}/in/${at}`;
        this.#server.put(name, text(file.subarray(offset), 'application/octet-stream'));
        return {name: input.name, url: name, dtype, shape};
      });
      return {id: given.id, ...(await this.#inPage({base, inputs, options: given.options ?? {}}, out))};
    } catch (problem) {
      return {id: given.id, ok: false, error: problem instanceof Error ? problem.message : String(problem)};
    } finally {
      this.#server.remove(`${prefix}/package`);
      this.#server.remove(`${prefix}/out`);
      given.inputs.forEach((_, at) => this.#server.remove(`${prefix}/in/${at}`));
    }
  }

  async #inPage(given: PageCase, out: string): Promise<Omit<Answer, 'id'>> {
    const page = await this.#getPage();
    const seconds = given.options.timeout_s ?? 120;
    const answer = (await Promise.race([
      page.call('runCase', given),
      page.dead.then((reason) => ({error: reason, gone: true})),
      wait(seconds * 1000).then(() => ({error: `no answer within ${seconds} s`, gone: true})),
    ])) as PageAnswer & {gone?: boolean};
    const lines = page.takeLog();
    const log = lines.length > 0 ? {log: lines} : {};
    if (answer.gone || /\blost\b/.test(answer.error ?? '')) await this.#restart();
    if (answer.error !== undefined) return {ok: false, error: answer.error, ...log};
    const {report, ms = 0, outputs = [], bench} = answer;
    return {
      ok: true,
      outputs: outputs.map((output, at) => ({...output, file: join(out, `${at}.bin`)})),
      ...(report ? {report, load_ms: report.times.loadMs} : {}),
      ms,
      ...(bench ? {bench} : {}),
      ...log,
    };
  }

  async close(): Promise<void> {
    await Promise.race([this.#browser.close().catch(() => undefined), wait(5000)]);
    this.#server.close();
  }
}

const wait = (ms: number): Promise<undefined> =>
  new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref();
  });

/** The program: options from the command line, cases from stdin, answers to stdout. */
export async function main(args: readonly string[], script: string): Promise<void> {
  const option = (name: string): string | undefined => {
    const at = args.indexOf(`--${name}`);
    return at < 0 ? undefined : args[at + 1];
  };
  const name = option('browser') ?? 'chromium';
  if (name !== 'chromium' && name !== 'firefox') {
    throw new Error(`--browser is chromium or firefox, not ${name}`);
  }
  const given = option('out');
  const out = given ?? mkdtempSync(join(tmpdir(), 'gossamer-cases-'));
  const flags = option('browser-args')?.split(' ').filter(Boolean);
  const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
  const harness = await Harness.start(
    {
      name,
      executable: option('browser-path'),
      args: flags,
      isolated: !args.includes('--not-isolated'),
      limits: option('limits'),
    },
    script,
    out,
  );
  try {
    say({ready: true, browser: harness.version});
    for await (const line of createInterface({input: process.stdin})) {
      if (line.trim() === '') continue;
      let parsed: Case;
      try {
        parsed = JSON.parse(line) as Case;
      } catch {
        say({ok: false, error: `not a JSON line: ${line.slice(0, 80)}`});
        continue;
      }
      say(await harness.run(parsed));
    }
  } finally {
    await harness.close();
    if (given === undefined) rmSync(out, {recursive: true, force: true});
  }
}
