// `cmake --install` into a fresh prefix, and programs outside of this tree that use what is there: by find_package and by pkg-config, shared
// and static, compile and run or run alone, in C++ and C. The prefix is moved before, as packages of distributions are.
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {llama} from '../state/llama.mjs';
import {Tally} from '../tally.mjs';

const here = import.meta.dirname;
const root = path.resolve(here, '../..');
const build = path.join(root, process.env.GOSSAMER_BUILD ?? 'build');
const tally = new Tally();
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-install.'));
process.on('exit', () => rmSync(work, {recursive: true, force: true}));

function run(program, args, options = {}) {
  const {status, stdout, stderr, error} = spawnSync(program, args, {cwd: work, encoding: 'utf8', timeout: 120_000, ...options});
  if (error || status !== 0) throw new Error(`${path.basename(program)}: ${error ?? `${stdout}${stderr}`.trim().split('\n').slice(-6).join(' | ').slice(0, 800)}`);
  return stdout;
}

function check(name, body) {
  try {
    tally.record(name, body());
  } catch (problem) {
    tally.record(name, String(problem.message ?? problem));
  }
}

const prefix = path.join(work, 'moved');
check('cmake --install', () => {
  run('cmake', ['--install', build, '--prefix', path.join(work, 'prefix')]);
  renameSync(path.join(work, 'prefix'), prefix);
  const wanted = ['bin/gossamer', 'include/gossamer/compile.hpp', 'include/gossamer/gossamer.h', 'share/licenses/gossamer/LICENSE', 'lib/libgossamer.so.0.1', 'lib/libgossamer.a'];
  return wanted.filter((file) => !existsSync(path.join(prefix, file))).map((file) => `${file} is missing`);
});
// What is installed names no folder of this machine, but where the linker found LLVM.
check('no path of this tree', () =>
  ['lib/cmake/Gossamer', 'lib/pkgconfig', 'include/gossamer'].flatMap((folder) =>
    readdirSync(path.join(prefix, folder))
      .filter((file) => [root, path.join(work, 'prefix')].some((name) => readFileSync(path.join(prefix, folder, file), 'utf8').includes(name)))
      .map((file) => `${folder}/${file}`),
  ));

const gossamer = path.join(prefix, 'bin/gossamer');
const model = path.join(root, 'examples/digits/model.onnx');
// TensorProto: the elements stand last.
const data = path.join(root, 'examples/digits/test_data_set_0');
writeFileSync(path.join(work, 'image'), readFileSync(path.join(data, 'input_0.pb')).subarray(-784 * 4));
const scores = new Float32Array(Uint8Array.from(readFileSync(path.join(data, 'output_0.pb')).subarray(-40)).buffer);
const digit = String(scores.indexOf(Math.max(...scores)));
check('the command as installed', () => {
  run(gossamer, ['compile', model, '--target', 'cpu', '--output', 'package']);
  run(gossamer, ['run', 'package', '--input', `image=${path.join(data, 'input_0.pb')}`]);
  if (!existsSync(path.join(root, 'web/runtime/dist/page'))) return undefined;
  run(gossamer, ['compile', model, '--target', 'wasm', '--output', 'site']);
  return existsSync(path.join(work, 'site/index.html')) ? undefined : 'the page is missing';
});

const says = (out) => (out.trim() === digit ? undefined : `says ${out.trim()}, not ${digit}`);
const sources = {compiler: 'compile.cc', runtime: 'run.c'};
const given = {compiler: model, runtime: path.join(work, 'package')};

function found_by_cmake(component, library, source = sources[component], languages = source.endsWith('.c') ? 'C' : 'CXX') {
  const folder = path.join(work, `${library}.${source}`);
  mkdirSync(folder);
  const values = {LANGUAGES: languages, COMPONENT: component, LIBRARY: library, SOURCE: path.join(here, source)};
  const text = readFileSync(path.join(here, 'CMakeLists.txt.in'), 'utf8').replace(/@(\w+)@/g, (_, name) => values[name]);
  writeFileSync(path.join(folder, 'CMakeLists.txt'), text);
  run('cmake', ['-S', folder, '-B', path.join(folder, 'build'), `-DCMAKE_PREFIX_PATH=${prefix}`, '-DCMAKE_BUILD_TYPE=Debug']);
  run('cmake', ['--build', path.join(folder, 'build')]);
  return says(run(path.join(folder, 'build/user'), [given[component], 'image']));
}
check('find_package, shared, compile and run', () => found_by_cmake('compiler', 'gossamer'));
check('find_package, static, compile and run', () => found_by_cmake('compiler', 'gossamer_static'));
check('find_package, shared, run alone, a project in C', () => found_by_cmake('runtime', 'runtime'));
check('find_package, static, run alone', () => found_by_cmake('runtime', 'runtime_static', 'run.c', 'C CXX'));
given['compiler runtime'] = given.runtime;
check('find_package, the library of both, from C', () => found_by_cmake('compiler runtime', 'gossamer', 'run.c'));
check('find_package wants a newer minor version', () => {
  const folder = path.join(work, 'newer');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'CMakeLists.txt'), 'cmake_minimum_required(VERSION 3.25)\nproject(user CXX)\nfind_package(Gossamer 0.2 REQUIRED)\n');
  const {status, stderr} = spawnSync('cmake', ['-S', folder, '-B', path.join(folder, 'build'), `-DCMAKE_PREFIX_PATH=${prefix}`], {encoding: 'utf8'});
  return status !== 0 && stderr.includes('version: 0.1.0') ? undefined : 'takes this one';
});

// GCC's and clang's programs link with a library of either.
function built_by_pkg_config(name, source, compiler, kind) {
  const program = path.join(work, `${name}.${kind}`);
  const env = {...process.env, PKG_CONFIG_PATH: path.join(prefix, 'lib/pkgconfig')};
  const flags = run('pkg-config', ['--cflags', '--libs', ...(kind === 'static' ? ['--static'] : []), name], {env}).trim().split(/\s+/);
  const linked = kind === 'static' ? flags.map((flag) => (flag === `-l${name}` ? `-l:lib${name}.a` : flag)) : [...flags, `-Wl,-rpath,${path.join(prefix, 'lib')}`];
  run(compiler, [source.endsWith('.c') ? '-std=c11' : '-std=c++23', '-Wall', '-Wextra', '-Werror', path.resolve(here, source), ...linked, '-o', program]);
  return program;
}
function found_by_pkg_config(name, source, compiler, kind) {
  const program = built_by_pkg_config(name, source, compiler, kind);
  return says(run(program, [source.endsWith('.c') ? given.runtime : model, 'image']));
}
if (spawnSync('pkg-config', ['--version']).status !== 0) tally.skip('pkg-config', 'it is not installed');
else {
  check('pkg-config, shared, compile and run', () => found_by_pkg_config('gossamer', 'compile.cc', 'g++', 'shared'));
  check('pkg-config, static, compile and run', () => found_by_pkg_config('gossamer', 'compile.cc', 'clang++-19', 'static'));
  check('pkg-config, shared, run alone', () => found_by_pkg_config('gossamer_runtime', 'run.c', 'gcc', 'shared'));
  check('pkg-config, static, run alone', () => found_by_pkg_config('gossamer_runtime', 'run.c', 'gcc', 'static'));
  check('examples/generate/generate.cc', () => {
    writeFileSync(path.join(work, 'llama.onnx'), llama({}).file);
    run(gossamer, ['compile', 'llama.onnx', '--target', 'cpu', '--state', '--generate', '--output', 'decoder']);
    const program = built_by_pkg_config('gossamer_runtime', '../../examples/generate/generate.cc', 'g++', 'shared');
    const said = run(program, ['decoder', '5', '77', '130']);
    return /^(\d+\n){16}$/.test(said) ? undefined : said;
  });
}

// Every function of the headers, and nothing else.
check('what the shared libraries show', () => {
  const functions = readFileSync(path.join(prefix, 'include/gossamer/gossamer.h'), 'utf8').match(/\bgossamer_\w+(?=\()/g);
  return ['gossamer', 'gossamer_runtime'].flatMap((library) => {
    const shown = run('nm', ['-DC', '--defined-only', path.join(prefix, `lib/lib${library}.so`)]).trim().split('\n').map((line) => line.split(' ').slice(2).join(' '));
    const own = /^(gossamer_[a-z_]+|gossamer::((Error|Generation|GenerationBatch|GenerationCache|Package|Tensor|Model|ModelState)::|(load|compile|compile_file|texts_of_gguf|byte_size)\())/;
    return [
      ...new Set(functions.filter((name) => !shown.includes(name)).map((name) => `lib${library}.so lacks ${name}`)),
      ...shown.filter((name) => !own.test(name)).map((name) => `lib${library}.so shows ${name}`),
    ];
  });
});

check('the run time alone', () => {
  const alone = path.join(work, 'alone');
  run('cmake', ['--install', build, '--prefix', alone, '--component', 'runtime']);
  const more = ['bin', 'lib/libgossamer.so', 'include/gossamer/compile.hpp'].filter((file) => existsSync(path.join(alone, file)));
  if (more.length > 0) return more.map((file) => `${file} is there`);
  const needed = run('readelf', ['-d', path.join(alone, 'lib/libgossamer_runtime.so')]);
  return needed.includes('LLVM') ? 'needs LLVM' : undefined;
});
tally.end();
