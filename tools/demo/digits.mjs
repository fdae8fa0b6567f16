// The digits: every target reads the ten drawn ones, then the page reads them too.
import {cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {waitLong} from './browser.mjs';
import {bytesOf, median, output} from './command.mjs';
import {readGreyPng} from './png.mjs';

const example = 'examples/digits';
const digits = Array.from({length: 10}, (_, digit) => digit);
const picture = (digit) => `${example}/drawn/${digit}.png`;
const best = (values) => values.indexOf(Math.max(...values));

export const webTargets = ['wasm', 'webgl', 'webgpu'];

/** How often a picture is run; its time is the fastest of them. */
export const runs = 20;

/** Compiles the model: cpu into packages/cpu, the web targets into digits/model. */
export async function compileDigits(gossamer, out) {
  const model = `${example}/model.onnx`;
  const cpu = path.join(out, 'packages/cpu');
  const web = path.join(out, 'digits/model');
  await output(gossamer, ['compile', model, '--target', 'cpu', '--output', cpu]);
  await output(gossamer, [
    'compile', model, '--target', webTargets.join(','), '--emit', 'package', '--output', web,
  ]);
  return {cpu, web};
}

/** The page with the packages beside it, in digits/. */
export async function buildDigitsPage(out) {
  const page = path.resolve(example, 'page');
  await output('npm', ['run', '--silent', '--prefix', page, 'build']);
  cpSync(path.join(page, 'dist'), path.join(out, 'digits'), {
    recursive: true,
    filter: (file) => !file.endsWith(`${path.sep}test`) && !file.endsWith(`${path.sep}model`),
  });
}

function rowOf(target, bytes, answers) {
  const right = answers.filter(({digit, read}) => digit === read).length;
  const problem = answers.find((answer) => answer.error)?.error;
  const times = answers.flatMap(({ms}) => (ms === undefined ? [] : [ms]));
  return {
    target,
    right,
    of: answers.length,
    ms: times.length > 0 ? median(times) : undefined,
    bytes,
    problem,
    where: answers.find((answer) => answer.where)?.where ?? 'natively',
  };
}

export async function runOnCpu(gossamer, folder) {
  const answers = [];
  for (const digit of digits) {
    const words = ['run', folder, '--input', `image=${picture(digit)}`, '--runs', String(runs), '--json'];
    const {ms, outputs} = JSON.parse(await output(gossamer, words));
    answers.push({digit, read: best(outputs[0].data), ms});
  }
  return rowOf('cpu', bytesOf(folder), answers);
}

function whereOf({adapter, device, threads}) {
  if (device === 'wasm') return `Chromium, ${threads} thread${threads === 1 ? '' : 's'}`;
  // SwiftShader is Chromium's GPU where the machine has none; its full name is a line long.
  return `Chromium, ${/swiftshader/i.test(adapter) ? 'SwiftShader (no GPU)' : adapter}`;
}

/** The packages of all web targets, in one Chromium (web/tests/README.md). */
export async function runInChromium(web, out) {
  const folder = path.join(out, 'cases');
  mkdirSync(folder, {recursive: true});
  for (const digit of digits) {
    const values = Float32Array.from(readGreyPng(picture(digit)).values, (value) => value / 255);
    writeFileSync(path.join(folder, `${digit}.bin`), new Uint8Array(values.buffer));
  }
  const cases = webTargets.flatMap((target) =>
    digits.map((digit) => ({
      id: `${target} ${digit}`,
      package_dir: web,
      inputs: [
        {name: 'image', file: path.join(folder, `${digit}.bin`), dtype: 'f32', shape: [1, 1, 28, 28]},
      ],
      options: {device: target, runs, timeout_s: 120},
    })),
  );
  const said = await output('node', ['web/tests/run_cases.mjs', '--out', path.join(folder, 'outputs')], {
    seconds: 900,
    input: cases.map((each) => `${JSON.stringify(each)}\n`).join(''),
  });
  const [{browser}, ...lines] = said.trim().split('\n').map((line) => JSON.parse(line));
  // Weights lie above the packages, once for all targets.
  const above = readdirSync(web).filter((name) => name.startsWith('weights.'));
  const shared = above.reduce((sum, name) => sum + statSync(path.join(web, name)).size, 0);
  const rows = webTargets.map((target) => {
    const answers = digits.map((digit) => {
      const {ok, error, outputs, ms, report} = lines.find(({id}) => id === `${target} ${digit}`) ?? {
        error: 'the browser gave no answer',
      };
      if (!ok) return {digit, error};
      const bytes = readFileSync(outputs[0].file);
      const values = Array.from({length: bytes.length / 4}, (_, at) => bytes.readFloatLE(4 * at));
      return {digit, read: best(values), ms, where: whereOf(report)};
    });
    return rowOf(target, bytesOf(path.join(web, target)) + shared, answers);
  });
  return {browser, rows};
}

/** Clicks the page's samples on a device; gives how many it reads right. */
export async function clickSamples(page, address, device) {
  await page.goto(`${address}digits/?device=${device}`);
  await waitLong(page, 'document.documentElement.dataset.state !== undefined');
  const trouble = await page.evaluate("document.querySelector('#trouble').textContent");
  if (trouble) throw new Error(String(trouble));
  const shown = "document.querySelector('#digit').textContent";
  let right = 0;
  for (const digit of digits) {
    const sample = `document.querySelector('#samples img[alt="Sample ${digit}"]')`;
    await waitLong(page, `${sample}?.complete`);
    await page.evaluate(`${sample}.closest('button').click()`);
    await waitLong(page, `${shown} !== '–'`);
    if ((await page.evaluate(shown)) === String(digit)) ++right;
  }
  return right;
}
