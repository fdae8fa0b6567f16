// `npx gossamer` of an application that has installed @gossamer/cli: it finds the packages next to it. tests/node_command has its options.
import {execFileSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import path from 'node:path';

export function command(tally, {app, digits}) {
  const npx = (words) => execFileSync('npx', ['--no-install', 'gossamer', ...words], {cwd: app, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 120_000});
  const model = path.join(digits, 'model.onnx');
  const check = (name, body) => {
    try {
      tally.record(name, body());
    } catch (problem) {
      tally.record(name, String(problem.stderr || problem.message));
    }
  };
  check('npx gossamer compile', () => {
    npx(['compile', model, '--target', 'webgpu,wasm', '--output', 'compiled']);
    return ['index.html', 'index.json', 'wasm/manifest.json', 'webgpu/manifest.json'].filter((file) => !existsSync(path.join(app, 'compiled', file))).map((file) => `${file} is missing`);
  });
  check('npx gossamer run', () => {
    const {outputs: [{data}]} = JSON.parse(npx(['run', 'compiled', '--target', 'wasm', '--input', path.join(digits, 'drawn/7.png'), '--json']));
    return data.indexOf(Math.max(...data)) === 7 ? [] : `it reads a drawn 7 as ${data}`;
  });
  check('npx gossamer inspect', () => (/^wasm +\d+ kernels/m.test(npx(['inspect', model, '--target', 'wasm'])) ? [] : 'it does not name the target'));
  check('npx gossamer bench', () => (/ms a run, the median of 2/.test(npx(['bench', model, '--target', 'wasm', '--runs', '2'])) ? [] : 'it prints no time'));
  // The model of a language model is found by @gossamer/llm: its error is.
  try {
    npx(['chat', '.']);
    tally.record('npx gossamer chat', 'a folder without a model is taken');
  } catch (problem) {
    tally.record('npx gossamer chat', problem.stderr.includes('tokenizer.json') ? [] : problem.stderr);
  }
}
