// How long the command line takes to compile ResNet-50 for webgpu.
import {execFileSync} from 'node:child_process';
import {existsSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {median} from './measure.mjs';

/** A Python with onnx: GOSSAMER_BENCH_PYTHON, the system's, or one in a virtual environment made here. */
function findPython(work, bench) {
  const works = (python) => {
    try {
      execFileSync(python, ['-c', 'import onnx, numpy'], {stdio: 'ignore'});
      return true;
    } catch {
      return false;
    }
  };
  const found = [process.env.GOSSAMER_BENCH_PYTHON, 'python3', join(work, 'venv/bin/python')].find((each) => each && works(each));
  if (found) return found;
  execFileSync('python3', ['-m', 'venv', join(work, 'venv')], {stdio: 'ignore'});
  const python = join(work, 'venv/bin/python');
  execFileSync(python, ['-m', 'pip', 'install', '-q', '-r', join(bench, 'requirements.txt')], {stdio: 'inherit'});
  return python;
}

function cpuMs(command, args) {
  // The shell's `times` counts its children only, which is what is wanted.
  const begin = performance.now();
  const text = execFileSync('sh', ['-c', '"$0" "$@" >&2; times', command, ...args], {stdio: ['ignore', 'pipe', 'ignore']}).toString();
  const wall = performance.now() - begin;
  const children = text.trim().split('\n')[1];
  const cpu = [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + 60e3 * m + 1e3 * s, 0);
  return {wall, cpu};
}

export function measureCompile(gossamer, testdata, work, bench) {
  const source = join(testdata, 'onnx_light/light_resnet50.onnx');
  if (!existsSync(source)) throw new Error('../shared/testdata is not here');
  const model = join(work, 'models/light_resnet50.onnx');
  if (!existsSync(model)) {
    execFileSync(findPython(work, bench), [join(testdata, 'light_seeded/make.py'), source, model], {stdio: ['ignore', 'ignore', 'inherit']});
  }
  const out = join(work, 'packages/light_resnet50_webgpu');
  const times = [];
  for (let round = 0; round < 3; ++round) {
    rmSync(out, {recursive: true, force: true});
    times.push(cpuMs(gossamer, ['compile', model, '--target', 'webgpu', '--emit', 'package', '-o', out]));
  }
  const of = (key) => median(times.map((time) => time[key]));
  return [{what: 'ResNet-50 for webgpu, natively', wall: of('wall'), cpu: of('cpu'), limit: 3000}];
}
