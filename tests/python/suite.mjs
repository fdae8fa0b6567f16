// The Python package, as pip builds it into a wheel and installs it: its own tests, a share of ONNX's suite through the
// backend interface, and the examples with their pages. Arguments are pytest's; with any, the examples are left out and
// ONNX's suite is whole.
//
//   node tests/python/suite.mjs [--all | arguments of pytest]
import {spawnSync} from 'node:child_process';
import {existsSync, readFileSync, rmSync} from 'node:fs';
import path from 'node:path';
import {Tally} from '../tally.mjs';
import {generate} from './generate.mjs';
import {known} from './known.mjs';
import {llm} from './llm.mjs';
import {remote} from './remote.mjs';
import {spirals} from './spirals.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const results = path.join(root, 'build-python/tests.xml');
const tally = new Tally();
const all = process.argv[2] === '--all';
const pytest = all ? [] : process.argv.slice(2);
// tests/cases runs the same models on the cpu; this is about their way through Python.
const share = all || pytest.length > 0 ? '1' : '32';

function call(program, args) {
  const env = {...process.env, GOSSAMER_BACKEND_SHARE: share};
  const {status, error, signal} = spawnSync(program, args, {cwd: root, env, stdio: ['ignore', 'ignore', 'inherit']});
  return error?.message ?? signal ?? (status === 0 ? undefined : `exit code ${status}`);
}

rmSync(results, {force: true});
const unbuilt = call('tools/setup/python.sh', []);
tally.record('pip builds and installs the wheel', unbuilt);
if (!unbuilt) {
  // Outside of the source tree, so that what is installed is what is imported.
  call('third_party/cache/python/bin/python', ['-P', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', `--junitxml=${results}`, '--import-mode=importlib', ...pytest]);
  const cases = existsSync(results) ? [...readFileSync(results, 'utf8').matchAll(/<testcase classname="([^"]*)" name="([^"]*)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g)] : [];
  if (cases.length === 0) tally.record('pytest', 'it ended without a result');
  for (const [, suite, name, body = ''] of cases) {
    const failure = /<(?:failure|error) message="([^"]*)"/.exec(body)?.[1];
    const reason = known.find(([pattern]) => pattern.test(name))?.[1];
    if (/<skipped/.test(body)) {
      // ONNX's runner skips a case for every device that a backend does not have.
      if (!/_cuda$/.test(name)) tally.skip(`${suite}: ${name}`, /<skipped[^>]*message="([^"]*)"/.exec(body)?.[1]);
    } else {
      tally.record(`${suite}: ${name}`, reason ? !failure && 'passes: take it off the list of known ones' : failure?.slice(0, 200));
    }
  }
}
if (!unbuilt && pytest.length === 0) {
  const python = path.join(root, 'third_party/cache/python/bin/python');
  await spirals(tally, python);
  generate(tally, python);
  await llm(tally, python);
  await remote(tally, python);
}
tally.end();
