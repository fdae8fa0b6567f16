import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';

import {unzipSync} from 'fflate';

import {BAD_MODELS, perceptron, picked, sum} from '../compiler/tests/onnx.ts';
import {writeNpy} from '../runtime/page/npy.ts';
import {load, tensor} from '../runtime/src/index.ts';
import {type BrowserName, type Page, startBrowser} from './src/browser.ts';
import {folder, startServer} from './src/server.ts';

const root = join(import.meta.dirname, '../../..');
const wasm = process.env['GOSSAMER_COMPILER_WASM'] ?? join(root, '../build-wasm/compiler.wasm');
const skip = existsSync(wasm) ? false : 'compiler.wasm is not built (make wasm)';

/** Gives the page a model as its user would. */
const choose = (page: Page, bytes: Uint8Array): Promise<void> =>
  page.choose('#file', [{name: 'small.onnx', bytes}]);

/** The page with a model that cannot be compiled says why, and works on with a good one. */
async function refuses(page: Page): Promise<void> {
  const state = 'document.documentElement.dataset.state';
  for (const [what, bytes, message] of BAD_MODELS) {
    await choose(page, bytes);
    await page.waitFor(`${state} === 'failed'`);
    const trouble = String(await page.evaluate("document.querySelector('#trouble').innerText"));
    assert.match(trouble, message, what);
    assert.doesNotMatch(trouble, /the compiler stopped|\n/, what);
    await page.evaluate(`${state} = 'idle'`);
  }
  await choose(page, perceptron('n'));
  await page.waitFor(`${state} === 'ready'`);
  assert.equal(await page.evaluate("document.querySelector('#trouble').hidden"), true);
}

async function inPage(name: BrowserName, targets: readonly string[]): Promise<void> {
  const out = mkdtempSync(join(tmpdir(), 'compile-'));
  const server = await startServer();
  const browser = await startBrowser({name});
  try {
    execFileSync(process.execPath, [join(root, 'examples/build.mjs'), out, 'compile'], {env: {...process.env, GOSSAMER_COMPILER_WASM: wasm}});
    server.put('/', folder(out));
    const page = await browser.newPage();
    const state = 'document.documentElement.dataset.state';
    for (const target of targets) {
      await page.goto(`${server.origin}/compile.html?target=${target}`);
      await choose(page, perceptron('n'));
      await page.waitFor(`${state} === 'ready'`);
      await page.evaluate("document.querySelector('#run').click()");
      await page.waitFor(`${state} === 'done'`);
      const shown = String(await page.evaluate('document.body.innerText'));
      assert.match(shown, /compiled in \d+ ms/);
      assert.match(shown, new RegExp(`ms on ${target}`));
      assert.match(shown, /f32 \[1, 2\]/);
      assert.match(shown, /kernels\.(wasm|json)/);
      await choose(page, perceptron('n', 'Frobnicate'));
      await page.waitFor(`${state} === 'failed'`);
      const trouble = await page.evaluate("document.querySelector('#trouble').innerText");
      assert.match(String(trouble), /Frobnicate/);
    }
    await refuses(page);
    await page.close();
  } finally {
    await browser.close();
    server.close();
    rmSync(out, {recursive: true});
  }
}

const STATE = 'document.documentElement.dataset.state';
const floats = (...values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);

/** A user of the page, with what is looked at most. */
class User {
  readonly page: Page;
  constructor(page: Page) {
    this.page = page;
  }
  async give(...files: Parameters<Page['choose']>[1]): Promise<string> {
    await this.page.evaluate(`${STATE} = 'waiting'`);
    await this.page.choose('#file', files);
    return this.built();
  }
  async built(): Promise<string> {
    await this.page.waitFor(`['ready', 'failed'].includes(${STATE})`);
    return String(await this.page.evaluate(STATE));
  }
  async compile(): Promise<string> {
    await this.page.evaluate(`${STATE} = 'waiting'; document.querySelector('#compile').click()`);
    return this.built();
  }
  /** The control of a name in the settings, or in the form of an input. */
  set(place: string, field: string, selector: string, act: string): Promise<unknown> {
    return this.page.evaluate(`{
      const fields = [...document.querySelectorAll('${place} fieldset')];
      const field = fields.find((each) => each.querySelector('legend').textContent === '${field}');
      const control = field.querySelector('${selector}');
      ${act};
    }`);
  }
  text(selector: string): Promise<string> {
    return this.page.evaluate(`document.querySelector('${selector}').innerText`).then(String);
  }
  async run(): Promise<string> {
    await this.page.evaluate("document.querySelector('#run').click()");
    await this.page.waitFor(`['done', 'refused'].includes(${STATE})`);
    return this.text('#outputs');
  }
}

async function withPage(use: (user: User) => Promise<void>): Promise<void> {
  const out = mkdtempSync(join(tmpdir(), 'compile-'));
  const server = await startServer();
  const browser = await startBrowser();
  try {
    execFileSync(process.execPath, [join(root, 'examples/build.mjs'), out, 'compile'], {env: {...process.env, GOSSAMER_COMPILER_WASM: wasm}});
    server.put('/', folder(out));
    const page = await browser.newPage();
    await page.goto(`${server.origin}/compile.html?target=wasm`);
    await use(new User(page));
  } finally {
    await browser.close();
    server.close();
    rmSync(out, {recursive: true});
  }
}

test('the page fixes what the command line fixes, and keeps the package', {skip}, (context) =>
  withPage(async (user) => {
    await context.test('the package as a .zip loads again', async () => {
      assert.equal(await user.give({name: 'net.onnx', bytes: perceptron('n')}), 'ready');
      const {name, bytes} = await user.page.save('#download');
      assert.equal(name, 'net-wasm.zip');
      const model = await load(unzipSync(bytes));
      const out = await model.run({x: tensor([1, 2, 3], [1, 3])});
      assert.deepEqual([...(await out['y']?.data()) as Float32Array], [22.5, 0]);
      model.dispose();
    });
    await context.test('dimensions and shapes', async () => {
      const dim = '#settings .named input';
      await user.page.evaluate(`document.querySelector('${dim}').value = '5'`);
      assert.equal(await user.compile(), 'ready');
      assert.match(await user.text('#inputs'), /f32 \[5, 3\]/);
      await user.page.evaluate(`document.querySelector('${dim}').value = ''`);
      await user.set('#settings', 'x', 'input[type=text]', "control.value = '7x3'");
      assert.equal(await user.compile(), 'ready');
      assert.match(await user.text('#inputs'), /f32 \[7, 3\]/);
      for (const [text, words] of [
        ['7', /1 dimensions, the input has 2: \[n, 3\]/],
        ['7, three', /"three" is no dimension/],
        ['x, 3', /"x" is no dimension/],
      ] as const) {
        await user.set('#settings', 'x', 'input[type=text]', `control.value = '${text}'`);
        assert.equal(await user.compile(), 'failed');
        assert.match(await user.text('#settings .problem:not([hidden])'), words);
        assert.equal(await user.page.evaluate('document.activeElement.type'), 'text');
      }
      await user.set('#settings', 'x', 'input[type=text]', "control.value = '7, 8'");
      assert.equal(await user.compile(), 'failed');
      assert.match(await user.text('#trouble'), /8/);
    });
    await context.test('sequences and optionals', async () => {
      assert.equal(await user.give({name: 'picked.onnx', bytes: picked()}), 'ready');
      await user.set('#settings', 'xs', 'input[type=number]', "control.value = '3'");
      await user.set('#settings', 'mask', 'input[type=checkbox]', 'control.checked = false');
      assert.equal(await user.compile(), 'ready');
      assert.match(await user.text('#inputs'), /sequence of 3/);
      const ones = "control.value = 'ones'; control.dispatchEvent(new Event('change', {bubbles: true}))";
      await user.set('#inputs', 'xs.0', 'select', ones);
      assert.match(await user.run(), /least 1, greatest 1/);
      await user.set('#settings', 'mask', 'input[type=checkbox]', 'control.checked = true');
      assert.equal(await user.compile(), 'ready');
      await user.set('#inputs', 'xs.0', 'select', ones);
      assert.match(await user.run(), /least 2, greatest 2/);
    });
    await context.test('weights in another file, given later or in a folder', async () => {
      const model = {name: 'outside.onnx', bytes: sum({location: 'data/w.bin'})};
      assert.equal(await user.give(model), 'failed');
      assert.match(await user.text('#weights'), /data\/w\.bin missing/);
      assert.equal(await user.give({name: 'w.bin', bytes: floats(1, 2, 3, 4)}), 'ready');
      const zeros = "control.value = 'zeros'; control.dispatchEvent(new Event('change', {bubbles: true}))";
      await user.set('#inputs', 'a', 'select', zeros);
      assert.match(await user.run(), /1, 2, 3, 4/);
      await user.give(model, {name: 'w.bin', bytes: floats(5, 6)});
      assert.match(await user.text('#trouble'), /data\/w\.bin" has 8 bytes, 16 are needed/);
    });
    await context.test('a constant', async () => {
      assert.equal(await user.give({name: 'sum.onnx', bytes: sum()}), 'ready');
      await user.page.evaluate(`{
        document.querySelector('#fix').open = true;
        document.querySelectorAll('#settings fieldset')[1].setAttribute('data-b', '');
      }`);
      const pick = (bytes: Uint8Array): Promise<void> =>
        user.page.choose('[data-b] input[type=file]', [{name: 'b.npy', bytes}]);
      await pick(writeNpy(tensor([1, 2, 3], [3])));
      await user.page.waitFor("!document.querySelector('[data-b] .problem').hidden");
      assert.match(await user.text('[data-b] .problem'), /b\.npy has shape \[3\], the input takes \[4\]/);
      await pick(writeNpy(tensor([10, 20, 30, 40], [4])));
      await user.page.waitFor("document.querySelector('[data-b]').innerText.includes('f32 [4]')");
      assert.equal(await user.compile(), 'ready');
      assert.doesNotMatch(await user.text('#inputs'), /^b$/m);
      const zeros = "control.value = 'zeros'; control.dispatchEvent(new Event('change', {bubbles: true}))";
      await user.set('#inputs', 'a', 'select', zeros);
      assert.match(await user.run(), /10, 20, 30, 40/);
    });
    await context.test('class names', async () => {
      assert.equal(await user.give({name: 'net.onnx', bytes: perceptron(1)}, {name: 'names.txt', bytes: Buffer.from('cat\ndog\n')}), 'ready');
      assert.match(await user.run(), /cat|dog/);
    });
    assert.deepEqual(user.page.takeLog(), []);
  }),
);

test('Chromium compiles a model in the page and runs it', {skip}, () =>
  inPage('chromium', ['wasm', 'webgl', 'webgpu']),
);

const firefox = ['/usr/bin/firefox-esr', '/usr/bin/firefox'].some((path) => existsSync(path));
test(
  'Firefox compiles a model in the page and runs it',
  {skip: skip || (firefox ? false : 'Firefox is not installed')},
  () => inPage('firefox', ['wasm', 'webgpu']),
);
