// Describes what decides the verdicts of `gossamer test` besides its cases, so that a case that passed is not run again
// while nothing has changed (docs/commands.md, "test").
//
//   env $(node tools/check/verdicts.mjs) build/gossamer test ...    with kept verdicts, by hand
import {execFileSync, spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, renameSync, statSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {codeOf} from './code.mjs';
import {root} from './repository.mjs';

// Variables that choose other programs and libraries than those that are hashed here.
const VARIABLES = ['PATH', 'LD_LIBRARY_PATH', 'LD_PRELOAD', 'GOSSAMER_HOME', 'GOSSAMER_CHROMIUM', 'GOSSAMER_FIREFOX',
  'GOSSAMER_WEBGPU_LIBRARY', 'GOSSAMER_WASMTIME_LIBRARY'];

// Debian's packages that each device needs, without those that they depend on.
const LIBRARY = ['libc6', 'libstdc++6'];
const OPENGL = ['libegl-mesa0', 'libegl1', 'libgl1-mesa-dri'];
const VULKAN = ['libvulkan1', 'mesa-vulkan-drivers'];
const PACKAGES = {
  compiler: [...LIBRARY, 'libllvm19'],
  cpu: LIBRARY,
  interp: LIBRARY,
  c: LIBRARY,
  opencl: ['ocl-icd-libopencl1', 'pocl-opencl-icd'],
  opengl: OPENGL,
  native_webgl: OPENGL,
  native_webgpu: VULKAN,
  native_wasm: LIBRARY,
  chromium: ['chromium', ...OPENGL, ...VULKAN],
  firefox: ['firefox-esr', ...OPENGL, ...VULKAN],
};

// Whether a source of tools/gossamer may decide a verdict: it feeds a run, reads its outputs or compares them. All but those of other commands.
export const judges = (source) =>
  source === 'commands/test_command.cc' || !/_command\.cc$|^devices\/(tune|rpc)_|\b(exif|image_file|main|page|preprocess)\.cc$/.test(source);

/** SHA-256 of values in order; bytes and JSON. */
export function hashOf(...values) {
  const hash = createHash('sha256');
  for (const value of values) {
    const bytes = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value) ?? 'undefined');
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest('hex');
}

const textOf = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** 'BYTES NANOSECONDS' of a file's last change, as tools/gossamer/judge/kept_verdicts.cc reads it. */
export function stateOf(file) {
  const {size, mtimeNs} = statSync(file, {bigint: true, throwIfNoEntry: false}) ?? {};
  return size === undefined ? 'absent' : `${size} ${mtimeNs}`;
}

/** Installed packages by name: {version, needs: [[alternative, ...], ...]}. `text`: of dpkg-query, a package a line. */
export function readPackages(text) {
  const packages = new Map();
  const provided = new Map(); // a virtual package → its providers
  const namesIn = (list) => list.split('|').map((one) => one.trim().split(/[\s:(]/)[0]).filter(Boolean);
  for (const line of text.split('\n').filter(Boolean)) {
    const [name, version, status, depends = '', provides = ''] = line.split('\t');
    if (status !== 'installed') continue;
    packages.set(name, {version, needs: depends.split(',').map(namesIn).filter((names) => names.length > 0)});
    for (const virtual of provides.split(',').flatMap(namesIn)) provided.set(virtual, [...(provided.get(virtual) ?? []), name]);
  }
  return {packages, provided};
}

/** 'NAME VERSION' of these packages and all that they depend on, sorted; undefined where one of these is not installed. */
export function closureOf(names, {packages, provided}) {
  if (names.some((name) => !packages.has(name))) return undefined;
  const found = new Set();
  const walk = (name) => {
    if (found.has(name)) return;
    if (!packages.has(name)) {
      (provided.get(name) ?? []).forEach(walk);
      return;
    }
    found.add(name);
    packages.get(name).needs.flat().forEach(walk);
  };
  names.forEach(walk);
  return [...found].sort().map((name) => `${name} ${packages.get(name).version}`);
}

function installedPackages() {
  const format = '${Package}\t${Version}\t${db:Status-Status}\t${Pre-Depends}, ${Depends}\t${Provides}\n';
  return readPackages(execFileSync('dpkg-query', ['-W', '-f', format], {encoding: 'utf8', maxBuffer: 64 << 20}));
}

const filesIn = (folder) =>
  existsSync(folder) ? readdirSync(folder).sort().map((name) => path.join(folder, name)) : [];

/** The processor, and GPUs in hardware with their drivers. */
export function machine() {
  const lines = textOf('/proc/cpuinfo').split('\n').filter((line) => /^(vendor_id|cpu family|model|stepping|flags|Features|CPU )/.test(line));
  const gpus = [...filesIn('/dev/dri'), ...filesIn('/dev').filter((name) => name.startsWith('/dev/nvidia'))];
  return {
    processor: [...new Set(lines)],
    count: os.cpus().length,
    gpus,
    drivers: gpus.length > 0 ? [os.release(), textOf('/proc/driver/nvidia/version')] : [],
    loaders: ['/etc/OpenCL/vendors', '/etc/vulkan/icd.d', '/usr/share/vulkan/icd.d', '/usr/share/glvnd/egl_vendor.d']
      .flatMap(filesIn).map((file) => [file, textOf(file)]),
  };
}

// What a program says to --version; undefined where there is none.
function versionOf(program) {
  const {status, stdout} = spawnSync(program, ['--version'], {encoding: 'utf8'});
  return status === 0 ? stdout : undefined;
}

// What runs cases natively, apart from the machine.
function native(build) {
  const library = path.join(build, 'lib/libgossamer_runtime.so');
  const archives = ['base', 'package', 'runtime'].map((name) => path.join(build, `libgossamer_${name}.a`));
  if (![library, ...archives].every((file) => existsSync(file))) return undefined;
  // build/gossamer is linked with the archives: a library that is older than these says nothing of it.
  const time = (file) => statSync(file, {bigint: true}).mtimeNs;
  if (archives.some((file) => time(file) > time(library))) return undefined;
  return {files: [realpathSync(library), ...archives], hash: hashOf(readFileSync(library))};
}

// What runs cases in a browser, apart from the browser: the page and the program in Node.js, as web/tests/bundled.mjs makes them.
async function web() {
  const folder = path.join(root, 'web/tests');
  const builder = path.join(root, 'web/runtime/build/bundle.mjs');
  if (!existsSync(path.join(root, 'web/node_modules/esbuild'))) return undefined;
  const {bundle} = await import(pathToFileURL(builder).href);
  const made = [
    await bundle({entryPoints: [path.join(folder, 'src/case_page.ts')], format: 'iife', write: false, metafile: true}),
    await bundle({entryPoints: [path.join(folder, 'src/harness.ts')], platform: 'node', format: 'esm', packages: 'external', write: false,
      metafile: true}),
  ];
  const below = ['web/runtime/src', 'web/runtime/build', 'web/rpc/src', 'web/tests/src'].flatMap((name) =>
    readdirSync(path.join(root, name), {recursive: true, withFileTypes: true})
      .filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath ?? entry.path, entry.name)));
  const inputs = made.flatMap(({metafile}) => Object.keys(metafile.inputs)).map((file) => path.resolve(file)).filter((file) => existsSync(file));
  const drivers = ['playwright-core', 'puppeteer-core'].map((name) => path.join(root, 'web/node_modules', name, 'package.json'));
  const programs = ['run_cases.mjs', 'bundled.mjs'].map((name) => path.join(folder, name));
  return {
    files: [...new Set([...below, ...inputs, ...drivers, ...programs])].sort(),
    hash: hashOf(process.version, ...made.flatMap(({outputFiles}) => outputFiles.map(({contents}) => Buffer.from(contents))),
      ...[...drivers, ...programs].map((file) => readFileSync(file))),
  };
}

const states = (files) => Object.fromEntries(files.map((file) => [file, stateOf(file)]));

// Where a source of tools/gossamer is compiled to: a file of its own, or one with others (cmake/precompiled.cmake).
function objectOf(build, source) {
  const folder = path.join(build, 'CMakeFiles/gossamer_command.dir');
  const unit = filesIn(path.join(folder, 'Unity')).find((file) => file.endsWith('.cxx') && textOf(file).includes(`/tools/gossamer/${source}"`));
  return unit ? `${unit}.o` : path.join(folder, `tools/gossamer/${source}.o`);
}

// What makes machine code of LLVM's input: LLVM and a linker, and what drives them. A change of the layers before leaves it as it is.
function machineCode(build, {packages}) {
  const archives = ['compiler', 'codegen', 'codegen_llvm'].map((name) => path.join(build, `libgossamer_${name}.a`));
  if (!archives.every((file) => existsSync(file))) return undefined;
  const linkers = ['lld-19', 'lld', 'binutils', 'gcc'].map((name) => packages.get(name)?.version ?? '');
  return {files: archives, hash: hashOf(linkers, ...archives.map(codeOf))};
}

/** What identity.json holds for a build folder; undefined where that cannot be said. */
export async function identityOf(build) {
  const program = path.join(build, 'gossamer');
  const objects = [...new Set(readdirSync(path.join(root, 'tools/gossamer'), {recursive: true}).sort()
    .filter((name) => name.endsWith('.cc') && !name.endsWith('_test.cc') && judges(name))
    .map((name) => objectOf(build, name)))];
  if (![program, ...objects].every((file) => existsSync(file))) return undefined;
  const installed = installedPackages();
  const here = machine();
  const part = (made, names, more = () => []) => {
    if (!made) return {devices: {}, files: {}};
    const devices = names.map((name) => [name, closureOf(PACKAGES[name], installed), more(name)])
      .filter(([, packages, extra]) => packages && extra)
      .map(([name, packages, extra]) => [name, hashOf(made.hash, here, packages, extra)]);
    return {devices: Object.fromEntries(devices), files: states(made.files)};
  };
  const runtime = native(build);
  // Libraries of webgpu.h and of wasmtime, which GPUs' packages may need too.
  const libraries = ['GOSSAMER_WEBGPU_LIBRARY', 'GOSSAMER_WASMTIME_LIBRARY'].map((name) => process.env[name]).filter((file) => file && existsSync(file));
  const engines = hashOf(...libraries.map((file) => readFileSync(file)));
  runtime?.files.push(...libraries);
  const browsers = ['chromium', 'firefox'].filter((name) => !process.env[`GOSSAMER_${name.toUpperCase()}`]);
  const compiler = closureOf(PACKAGES.compiler, installed);
  if (!compiler) return undefined;
  const code = machineCode(build, installed);
  return {
    program: realpathSync(program),
    compiler: hashOf(readFileSync(program), compiler, here),
    machine_code: code ? hashOf(code.hash, compiler, here) : '',
    judge: hashOf(...objects.map((file) => readFileSync(file))),
    environment: Object.fromEntries(VARIABLES.map((name) => [name, process.env[name] ?? ''])),
    files: states([realpathSync(program), '/var/lib/dpkg/status', ...(code?.files ?? [])]),
    native: part(runtime, ['cpu', 'c', 'interp', 'opencl', 'opengl', 'native_webgl', 'native_webgpu', 'native_wasm'],
      (name) => (name.startsWith('native_') ? engines : name === 'c' ? versionOf('cc') : [])),
    web: part(await web(), browsers),
  };
}

/**
 * Writes the identity of this build and machine into build/verdicts. Returns the environment in which `gossamer test` keeps verdicts: {} with
 * `all`, or where nothing can be kept.
 */
export async function keptVerdicts({all = false, build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build')} = {}) {
  if (all) return {};
  try {
    const identity = await identityOf(build);
    if (!identity) return {};
    const folder = path.join(build, 'verdicts');
    const file = path.join(folder, `identity.json.${process.pid}`);
    mkdirSync(folder, {recursive: true});
    writeFileSync(file, JSON.stringify(identity, undefined, 1));
    renameSync(file, path.join(folder, 'identity.json'));
    return {GOSSAMER_VERDICTS: folder};
  } catch (problem) {
    console.error(`no verdicts are kept: ${problem.message}`);
    return {};
  }
}

if (process.argv[1] === import.meta.filename) {
  for (const [name, value] of Object.entries(await keptVerdicts())) console.log(`${name}=${value}`);
}
