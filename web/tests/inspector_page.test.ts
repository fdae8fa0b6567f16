// The inspector among the examples, and as a file: the same views, links that reproduce them, the keyboard, axe and 390 px.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {type Field, message} from '../compiler/tests/onnx.ts';
import {type Page, startBrowser} from './src/browser.ts';
import {compilerWasm, Example, skip} from './src/example.ts';
import {folder, startServer} from './src/server.ts';

const root = join(import.meta.dirname, '../../..');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const FLOAT = 1;
const DOUBLE = 11;
type NodeLine = readonly [op: string, name: string, inputs: readonly string[], output: string];

const port = (name: string, shape: readonly (number | string)[], type: number): number[] => {
  const dims = shape.map((extent): Field => [1, typeof extent === 'number' ? message([1, extent]) : message([2, extent])]);
  return message([1, name], [2, message([1, message([1, type], [2, message(...dims)])])]);
};

/** y = f(x) for x [batch, 16] with a weight w [16, 16]. */
function model(nodes: readonly NodeLine[], type = FLOAT): Uint8Array {
  const numbers = Array.from({length: 256}, (_, at) => Math.sin(at) / 4);
  const data = new Uint8Array((type === FLOAT ? Float32Array : Float64Array).from(numbers).buffer);
  const graph = message(
    ...nodes.map(([op, name, inputs, output]): Field => [1, message(...inputs.map((input): Field => [1, input]), [2, output], [3, name], [4, op])]),
    [2, 'layers'], [5, message([1, 16], [1, 16], [2, type], [8, 'w'], [9, data])],
    [11, port('x', ['batch', 16], type)], [12, port('y', ['batch', 16], type)],
  );
  return Uint8Array.from(message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]));
}

/** Layers of four nodes. */
const deep = (layers: number): Uint8Array => model([...Array(layers).keys()].flatMap((layer): NodeLine[] => {
  const name = (word: string): string => `/net/layers.${layer}/${word}`;
  const last = layer === layers - 1 ? 'y' : `l${layer + 1}`;
  const from = layer === 0 ? 'x' : `l${layer}`;
  return [['MatMul', name('MatMul'), [from, 'w'], `a${layer}`], ['Tanh', name('Tanh'), [`a${layer}`], `b${layer}`], ['Softmax', name('Softmax'), [`b${layer}`], `c${layer}`], ['Add', name('Add'), [`c${layer}`, from], last]];
}));
const DEEP = deep(40);
const SHALLOW = deep(4);
const UNKNOWN = model([['Frobnicate', 'first', ['x'], 'a'], ['MatMul', 'between', ['x', 'w'], 'b'], ['Twist', 'second', ['a'], 'c'], ['Add', 'sum', ['b', 'c'], 'y']]);
const DOUBLES = model([['MatMul', 'product', ['x', 'w'], 'a'], ['Tanh', 'tanh', ['a'], 'y']], DOUBLE);

/** What a user sees of the inspector, without what depends on the page around it. */
const shown = (page: Page): Promise<unknown> => page.evaluate("document.querySelector('.panel').innerText + document.querySelector('.details').innerText");
const press = (page: Page, selector: string): Promise<unknown> => page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
const pressText = (page: Page, text: string): Promise<unknown> =>
  page.evaluate(`[...document.querySelectorAll('#inspector button')].find((button) => button.textContent === ${JSON.stringify(text)}).click()`);
const key = (page: Page, name: string): Promise<unknown> =>
  page.evaluate(`document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: ${JSON.stringify(name)}, bubbles: true, cancelable: true}))`);
/** The graph draws in frames. */
const drawn = (page: Page): Promise<unknown> => page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))');

async function violations(page: Page): Promise<string[][]> {
  await page.evaluate(`${axe}; 0`);
  return (await page.evaluate(
    'axe.run().then(({violations}) => violations.map(({id, nodes}) => [id, ...nodes.slice(0, 3).map(({html, failureSummary}) => `${html} ${failureSummary}`)]))',
  )) as string[][];
}

async function withInspector(use: (open: (file?: Uint8Array, fragment?: string) => Promise<Example>, address: string, files: string) => Promise<void>): Promise<void> {
  const out = mkdtempSync(join(tmpdir(), 'inspector-'));
  const server = await startServer();
  const browser = await startBrowser();
  try {
    execFileSync(process.execPath, [join(root, 'examples/build.mjs'), out, 'inspector'], {env: {...process.env, GOSSAMER_COMPILER_WASM: compilerWasm}});
    server.put('/', folder(out));
    const address = `${server.origin}/inspector.html`;
    await use(async (file, fragment = '') => {
      const page = await browser.newPage();
      const example = new Example(page);
      await page.goto(address + fragment);
      if (file) {
        await page.choose('#file', [{name: 'layers.onnx', bytes: file}]);
        await example.reach('ready');
      }
      return example;
    }, address, out);
  } finally {
    await browser.close();
    server.close();
    rmSync(out, {recursive: true});
  }
}

test('a model is folded, measured, compared, and a link reproduces the view', {skip}, () =>
  withInspector(async (open) => {
    const example = await open(DEEP);
    const {page} = example;
    // The overview answers first.
    assert.match(String(await shown(page)), /Most operations on webgpu[\s\S]*MatMul \/net\/layers\.\d+\/MatMul[\s\S]*at the peak[\s\S]*Every operator is supported/);
    // Measured in this page, on WebAssembly.
    await page.evaluate("{const target = document.querySelector('#view-target'); target.value = 'wasm'; target.dispatchEvent(new Event('change'));}");
    await pressText(page, 'Measure');
    await page.waitFor("/^Measured on/.test(document.querySelector('.said').textContent)");
    assert.match(String(await shown(page)), /Slowest layers on wasm\s+Measured on WebAssembly.*a run takes [\d.]+ .?s/);
    // Groups: 160 nodes are few boxes; a group opens.
    await press(page, '#tab-graph');
    await drawn(page);
    const boxes = "[...document.querySelectorAll('.box')].map((box) => box.getAttribute('aria-label'))";
    const before = (await page.evaluate(boxes)) as string[];
    assert.ok(before.length > 5 && before.length < 90, `${before.length} boxes`);
    assert.ok(before.some((label) => /^▾ net\.layers\.0, open group$/.test(label)), before.join('\n'));
    await press(page, '[aria-label="Close groups"]');
    await drawn(page);
    assert.deepEqual(await page.evaluate(boxes), ['▸ net.layers 160 nodes · 100 %, closed group', 'x [batch, 16]', 'y [batch, 16]']);
    // The search opens what is around a node.
    await page.evaluate("{const find = document.querySelector('.find input'); find.value = 'layers.17/Tanh'; find.dispatchEvent(new Event('input'));}");
    await pressText(page, 'Tanh /net/layers.17/Tanh');
    await drawn(page);
    const tanh = String(await shown(page));
    assert.match(tanh, /f32 \[batch, 16\]/);
    assert.match(tanh, /from MatMul \/net\/layers\.17\/MatMul/);
    assert.match(tanh, /wasm\s+[\w.]+, launch \d+\s+[\d.]+ .?s, /);
    // Shapes for batch 8.
    await page.evaluate("{const [field] = document.querySelectorAll('.controls input'); field.value = '8'; field.dispatchEvent(new Event('change'));}");
    assert.match(String(await shown(page)), /f32 \[8, 16\] \[batch, 16\]/);
    // The address is the view; another visitor of it has no times.
    const fragment = new URL(String(await page.evaluate('location.href'))).hash;
    const other = await open(DEEP, fragment);
    await drawn(other.page);
    const withoutTimes = (text: unknown): string => String(text).replaceAll(/[\d.]+ [mµ]s, |( · )?[\d.]+ %/g, '').replaceAll(/\n+/g, '\n').replace('of the time', 'of the operations');
    assert.equal(withoutTimes(await shown(other.page)), withoutTimes(await shown(page)));
    // Back in the history is back in the views.
    await page.evaluate('history.back()');
    await page.waitFor("!location.hash.includes('item=')");
    // Kernels: what, how, and which other ways there are.
    await page.evaluate("location.hash = 'tab=kernels&target=webgpu&kernel=0'");
    await page.waitFor("document.querySelector('.kernel') !== null");
    const kernel = String(await shown(page));
    assert.match(kernel, /Schedule[\s\S]*bind\(/);
    assert.match(kernel, /\d+ points of its space of schedules/);
    assert.match(kernel, /@compute/);
    // The focus stays on what was pressed, though the view is drawn again.
    const focused = 'document.activeElement.textContent';
    for (const text of ['Bytes', 'Kernel']) {
      await page.evaluate(`{const [button] = [...document.querySelectorAll('th button')].filter(({textContent}) => textContent === '${text}'); button.focus(); button.click();}`);
      assert.equal(await page.evaluate(focused), text);
    }
    await page.evaluate("{const target = document.querySelector('#view-target'); target.focus(); target.value = 'webgl'; target.dispatchEvent(new Event('change'));}");
    assert.equal(await page.evaluate('document.activeElement.id'), 'view-target');
    await page.evaluate("{const target = document.querySelector('#view-target'); target.value = 'webgpu'; target.dispatchEvent(new Event('change'));}");
    // Memory: the slider and the chart are one.
    await press(page, '#tab-memory');
    const peak = /([\d.]+ \wB) at the peak/.exec(String(await shown(page)))?.[1];
    assert.ok(peak);
    await page.evaluate("{const range = document.querySelector('.chart input'); range.focus(); range.value = '3'; range.dispatchEvent(new Event('input'));}");
    assert.equal(await page.evaluate('document.activeElement.type'), 'range');
    assert.match(String(await shown(page)), /Launch 3 of \d+: /);
    await press(page, '#tab-compare');
    assert.match(String(await shown(page)), /Time of a run, measured\s+–\s+–\s+[\d.]+ .?s[\s\S]*Layer by layer: webgpu and/);
    assert.deepEqual(page.takeLog(), []);
  }));

test('all problems are listed at once, and why something is not on the GPU', {skip}, () =>
  withInspector(async (open) => {
    const example = await open(UNKNOWN);
    await press(example.page, '#tab-problems');
    const text = String(await shown(example.page));
    assert.match(text, /2 operators cannot be compiled[\s\S]*Frobnicate[\s\S]*is an unknown operator[\s\S]*Twist[\s\S]*is an unknown operator[\s\S]*1 node could not be checked/);
    await pressText(example.page, 'Twist second');
    await drawn(example.page);
    assert.match(String(await shown(example.page)), /Twist\s+second[\s\S]*is an unknown operator/);
    // Another model takes its place.
    await example.page.choose('#file', [{name: 'doubles.onnx', bytes: DOUBLES}]);
    await example.page.waitFor("/doubles/.test(document.querySelector('#status').textContent) && document.documentElement.dataset.state === 'ready'");
    await press(example.page, '#tab-problems');
    assert.match(String(await shown(example.page)), /Every operator is supported[\s\S]*webgpu: \d launch(es)? on the CPU\s+.*64[\s\S]*MatMul product/);
    // What is not a model is said, and the next one is shown.
    await example.page.choose('#file', [{name: 'text.onnx', bytes: new TextEncoder().encode('a text')}]);
    await example.page.waitFor("document.documentElement.dataset.state === 'failed'");
    assert.notEqual(await example.text('#trouble'), '');
    await example.forget();
    await example.page.choose('#file', [{name: 'layers.onnx', bytes: SHALLOW}]);
    await example.reach('ready');
    // With a fixed shape nothing is open.
    const fields = "document.querySelectorAll('.controls input').length";
    assert.equal(await example.page.evaluate(fields), 1);
    await example.page.evaluate("{document.querySelector('#fix').open = true; const shape = document.querySelector('#settings input[type=text]'); shape.value = '8, 16'; shape.dispatchEvent(new Event('input'));}");
    await example.forget();
    await press(example.page, '#again');
    await example.reach('ready');
    assert.equal(await example.page.evaluate(fields), 0);
    await press(example.page, '#tab-graph');
    await drawn(example.page);
    assert.match(String(await shown(example.page)), /Softmax\s+\[8, 16\]/);
    for (const width of [1280, 390]) {
      await example.page.appear({width, height: 844});
      await drawn(example.page);
      assert.deepEqual(await violations(example.page), [], `${width} px`);
      assert.equal(await example.page.evaluate('document.documentElement.scrollWidth'), width);
    }
  }));

test('a saved page opens from a file and shows the same, by keyboard, without violations of axe, at 390 px, light and dark', {skip}, () =>
  withInspector(async (open, _, out) => {
    const example = await open(DEEP, '#tab=graph');
    await pressText(example.page, 'Measure');
    await example.page.waitFor("/^Measured on/.test(document.querySelector('.said').textContent)");
    await drawn(example.page);
    const saved = await example.page.save('.controls button:last-child');
    assert.equal(saved.name, 'layers.html');
    const file = join(out, 'layers.html');
    writeFileSync(file, saved.bytes);
    const visit = async (fragment: string): Promise<Page> => {
      await example.page.goto('about:blank');
      await example.page.goto(`${pathToFileURL(file).href}${fragment}`);
      await example.page.waitFor("document.querySelector('.tabs') !== null");
      await drawn(example.page);
      return example.page;
    };
    const fragment = '#tab=graph&target=webgpu&item=70&dim.batch=8';
    await example.page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
    await example.page.waitFor("/Softmax/.test(document.querySelector('.details').innerText)");
    const inPage = await shown(example.page);
    const page = await visit(fragment);
    assert.equal(await shown(page), inPage);
    // From node to node by arrows, details by Enter, groups by Space.
    await page.evaluate("document.querySelector('.box[tabindex=\"0\"]').focus()");
    const focus = (): Promise<unknown> => page.evaluate("document.activeElement.getAttribute('aria-label')");
    assert.match(String(await focus()), /Softmax \[8, 16\]/);
    await key(page, 'ArrowDown');
    await drawn(page);
    assert.match(String(await focus()), /Add \[/);
    await key(page, 'Enter');
    await drawn(page);
    assert.match(String(await shown(page)), /Add\s+\/net\/layers\.17\/Add/);
    await page.evaluate("document.querySelector('#tab-graph').focus()");
    await key(page, 'ArrowRight');
    assert.equal(await page.evaluate("document.activeElement.id"), 'tab-kernels');
    for (const [width, height] of [[1280, 800], [390, 844]] as const) {
      for (const isDark of [false, true]) {
        for (const tab of ['tab=overview', fragment.slice(1), 'tab=kernels&kernel=0', 'tab=memory', 'tab=compare', 'tab=problems']) {
          await visit(`#${tab}`);
          await page.appear({width, height, isDark});
          await drawn(page);
          const what = `${tab}, ${width} px, ${isDark ? 'dark' : 'light'}`;
          assert.deepEqual(await violations(page), [], what);
          assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width, what);
        }
      }
    }
    assert.deepEqual(page.takeLog(), []);
  }));

/** Each act but looking is a step. */
interface User {
  readonly drop: (file: Uint8Array) => Promise<void>;
  readonly press: (text: string) => Promise<void>;
  readonly enter: (text: string) => Promise<void>;
  readonly see: (what: RegExp) => Promise<void>;
}

test('five tasks take as many steps as docs/inspector.md counts', {skip}, () =>
  withInspector(async (open) => {
    const documented = new Map(Array.from(readFileSync(join(root, '../docs/inspector.md'), 'utf8').matchAll(/^\| ([^|]+?) \| (\d+): /gm), ([, task = '', steps]) => [task, Number(steps)]));
    const taken = new Map<string, number>();
    const task = async (name: string, work: (user: User) => Promise<void>): Promise<void> => {
      const example = await open();
      const {page} = example;
      let steps = 0;
      await work({
        drop: async (file) => {
          steps += 1;
          await page.choose('#file', [{name: 'layers.onnx', bytes: file}]);
          await example.reach('ready');
        },
        press: async (text) => {
          steps += 1;
          await pressText(page, text);
          await page.waitFor("!/^Measuring/.test(document.querySelector('.said').textContent)");
          await drawn(page);
        },
        enter: async (text) => {
          steps += 1;
          await page.evaluate(`{const [field] = document.querySelectorAll('.controls input'); field.value = ${JSON.stringify(text)}; field.dispatchEvent(new Event('change'));}`);
        },
        see: async (what) => {
          assert.match(String(await shown(page)), what, name);
        },
      });
      taken.set(name, steps);
      await page.close();
    };
    await task('find the slowest layer', async ({drop, press: click, see}) => {
      await drop(SHALLOW);
      await click('Measure');
      await see(/Slowest layers on \w+\s+Measured on .*: a run takes [\d.]+ .?s\.\s+\w+ \/net\/layers\.\d+\/\w+ [\d.]+ .?s, [\d.]+ %/);
    });
    await task('why is this operator not on the GPU?', async ({drop, press: click, see}) => {
      await drop(DOUBLES);
      await click('Problems');
      await see(/webgpu: \d launch(es)? on the CPU\s+.*64[\s\S]*MatMul product/);
    });
    await task('where is the peak of memory?', async ({drop, see}) => {
      await drop(SHALLOW);
      await see(/[\d.]+ .?B at the peak, in launch \d+, \w+ \/net\/layers\.\d+\/\w+\./);
    });
    await task("what is this tensor's shape for batch 8?", async ({drop, enter, press: click, see}) => {
      await drop(SHALLOW);
      await enter('8');
      await click('Graph');
      await see(/Softmax\s+\[8, 16\]/);
    });
    await task('compare two targets', async ({drop, press: click, see}) => {
      await drop(SHALLOW);
      await click('Measure all');
      await click('Compare');
      await see(/Time of a run, measured(\s+[\d.]+ .?s){3}[\s\S]*Layer by layer[\s\S]*webgpu: time[\s\S]*webgl: time/);
    });
    assert.deepEqual(Object.fromEntries(taken), Object.fromEntries(documented));
  }));
