/** A page of web/examples in Chromium, as its user has it. */
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {exampleData} from '../../../tests/models/example_data.mjs';
import {testdata as sharedTestdata} from '../../../tests/shared.mjs';
import {type Browser, type Page, startBrowser} from './browser.ts';
import {folder, type Server, startServer} from './server.ts';

const root = join(import.meta.dirname, '../../..');
export const compilerWasm = join(root, 'compiler/dist/compiler.wasm');
const shared = sharedTestdata(join(root, '..'));
/** Whether the pages have the small models and the data of this repository, because a clone has no others. */
export const own = !existsSync(join(shared, 'models')) || !existsSync(join(shared, 'data'));
/** What pages find below data/. */
export const testdata = own ? exampleData(join(root, '..')) : shared;
export const skip = existsSync(compilerWasm) ? false : 'compiler.wasm is not built (make web)';

const STATE = 'document.documentElement.dataset.state';

/** A page that was opened. */
export class Example {
  readonly page: Page;
  constructor(page: Page) {
    this.page = page;
  }

  /** Waits until the page is in this state; throws what it says went wrong. */
  async reach(state: string, seconds = 120): Promise<void> {
    const over = `${STATE} === '${state}' || ${STATE} === 'failed'`;
    const end = performance.now() + 1000 * seconds;
    // A page waits 30 s at most for one expression.
    for (;;) {
      if (await this.page.evaluate(over)) break;
      if (performance.now() > end) {
        throw new Error(`the page is ${String(await this.page.evaluate(STATE))}, not ${state}: ${await this.text('body')} ${this.page.takeLog().join('\n')}`);
      }
      await this.page.waitFor(over).catch(() => undefined);
    }
    if (state !== 'failed' && (await this.page.evaluate(STATE)) === 'failed') throw new Error(await this.text('#trouble'));
  }

  async text(selector: string): Promise<string> {
    return String(await this.page.evaluate(`document.querySelector(${JSON.stringify(selector)}).innerText`));
  }

  async press(selector: string): Promise<void> {
    await this.page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
  }

  /** Gives a control a value, as its user would. */
  async enter(selector: string, value: string | number): Promise<void> {
    await this.page.evaluate(`{
      const control = document.querySelector(${JSON.stringify(selector)});
      control.value = ${JSON.stringify(String(value))};
      control.dispatchEvent(new Event('input', {bubbles: true}));
      control.dispatchEvent(new Event('change', {bubbles: true}));
    }`);
  }

  /** The page is in no state, until it says so again. */
  async forget(): Promise<void> {
    await this.page.evaluate(`${STATE} = ''`);
  }

  /** Where GOSSAMER_SCREENSHOT names a folder. */
  async screenshot(name: string): Promise<void> {
    const out = process.env['GOSSAMER_SCREENSHOT'];
    if (out) await this.page.screenshot(join(out, `${name}.png`));
  }

  /**
   * From here on the page's camera shows the picture that `window.showPicture(ADDRESS)` was called with last, of which the longer side
   * is cut to a square; resolves when it is seen.
   */
  async giveCamera(): Promise<void> {
    await this.page.evaluate(`{
      const canvas = document.createElement('canvas');
      canvas.width = canvas.height = 480;
      const context = canvas.getContext('2d');
      let image = new Image();
      const draw = () => {
        const side = Math.min(image.naturalWidth, image.naturalHeight);
        if (side > 0) context.drawImage(image, (image.naturalWidth - side) / 2, (image.naturalHeight - side) / 2, side, side, 0, 0, 480, 480);
        setTimeout(draw, 50);
      };
      draw();
      window.showPicture = async (address) => {
        const next = new Image();
        next.src = address;
        await next.decode();
        image = next;
        // Frames of the picture before are on their way for a while.
        await new Promise((resolve) => setTimeout(resolve, 400));
      };
      navigator.mediaDevices.getUserMedia = async () => canvas.captureStream(20);
    }`);
  }

  async showPicture(address: string): Promise<void> {
    await this.page.evaluate(`window.showPicture(${JSON.stringify(address)})`);
  }
}

export interface Examples {
  readonly server: Server;
  readonly browser: Browser;
  /** Opens the page in a tab of its own. */
  readonly open: (query?: string) => Promise<Example>;
}

/** Builds a page, serves it with the test data below data/, and opens a browser. */
export async function withExample(name: string, use: (examples: Examples) => Promise<void>): Promise<void> {
  const out = mkdtempSync(join(tmpdir(), `${name}-`));
  const server = await startServer();
  const browser = await startBrowser();
  try {
    execFileSync(process.execPath, [join(root, 'examples/build.mjs'), out, name], {env: {...process.env, GOSSAMER_COMPILER_WASM: compilerWasm}});
    server.put('/', folder(out));
    server.put('/data', folder(testdata));
    await use({
      server,
      browser,
      async open(query = '') {
        const page = await browser.newPage();
        await page.goto(`${server.origin}/${name}.html?${query}`);
        return new Example(page);
      },
    });
  } finally {
    await browser.close();
    server.close();
    rmSync(out, {recursive: true});
  }
}
