// examples/generate/generate.py as its reader runs it: a decoder as onnxruntime-genai's builder writes it says tokens.
import {spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {llama} from '../state/llama.mjs';

const script = path.resolve(import.meta.dirname, '../../examples/generate/generate.py');

export function generate(tally, python) {
  const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-generate-'));
  const model = path.join(work, 'model.onnx');
  writeFileSync(model, llama({}).file);
  const {stdout, stderr} = spawnSync(python, ['-P', script, model, '5', '77', '130'], {cwd: work, encoding: 'utf8', timeout: 120_000});
  rmSync(work, {recursive: true});
  tally.record('examples/generate/generate.py', /^(\d+\n){16}$/.test(stdout) ? undefined : (stdout + stderr).slice(-400));
}
