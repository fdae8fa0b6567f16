// How long the command line and the compiler in a page take to compile ResNet-50 for webgpu.
import {execFileSync} from 'node:child_process';
import {existsSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {processesCpu} from './chromium.mjs';
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

const median3 = (times, key) => median(times.map((time) => time[key]));

function seededModel(testdata, work, bench) {
  const source = join(testdata, 'onnx_light/light_resnet50.onnx');
  if (!existsSync(source)) throw new Error('../shared/testdata is not here');
  const model = join(work, 'models/light_resnet50.onnx');
  if (!existsSync(model)) {
    execFileSync(findPython(work, bench), [join(testdata, 'light_seeded/make.py'), source, model], {stdio: ['ignore', 'ignore', 'inherit']});
  }
  return model;
}

/** Both; `chromium` serves /models/ and /web/. */
export async function measureCompile(gossamer, chromium, testdata, work, bench) {
  const model = seededModel(testdata, work, bench);
  const out = join(work, 'packages/light_resnet50_webgpu');
  const native = [];
  for (let round = 0; round < 3; ++round) {
    rmSync(out, {recursive: true, force: true});
    native.push(cpuMs(gossamer, ['compile', model, '--target', 'webgpu', '--emit', 'package', '-o', out]));
  }
  const page = await chromium.page();
  await page.open({maker: 'compiler', file: '/models/light_resnet50.onnx', device: 'webgpu'});
  const there = [];
  for (let round = 0; round < 3; ++round) there.push(await page.run(0, 1, processesCpu)); // a worker a compilation
  await page.close();
  return [
    {what: 'ResNet-50 for webgpu, natively', wall: median3(native, 'wall'), cpu: median3(native, 'cpu'), limit: 3000},
    {what: 'ResNet-50 for webgpu, in a page in Chromium', wall: median3(there, 'wall'), cpu: median3(there, 'cpu'), limit: 10_000},
  ];
}
