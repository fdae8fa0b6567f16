// The native device webgpu through the library that the environment names (tools/setup/webgpu.sh): a model with and without open
// dimensions, packages for pages, profiles; our declarations against its header; and what it says where the library is
// missing, of another kind or too old, there is no adapter, or the library fails (faulty.c). Nothing may end the process.
import {spawnSync} from 'node:child_process';
import {existsSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {asking, compile, gives, longDimensions, refuses, root, run, runs, said, work} from '../cli/native_device.mjs';
import {Tally} from '../tally.mjs';

const here = path.join(root, 'tests/webgpu_native');
const tally = new Tally();
const asked = asking('webgpu');
const asJson = [...asked, '--json'];

// What has no need of a library that works.
function missing() {
  const of = (library) => run(asked, {GOSSAMER_WEBGPU_LIBRARY: library});
  tally.record('no such library', refuses(of('/no/such/library.so'), ['/no/such/library.so', 'install wgpu-native']));
  tally.record('a library of another kind', refuses(of('libm.so.6'), ['is no library of webgpu.h', 'install wgpu-native']));
  writeFileSync(path.join(work, 'text.so'), 'no library');
  tally.record('a file that is no library', refuses(of(path.join(work, 'text.so')), ['text.so', 'install']));
  const source = path.join(work, 'older.c');
  writeFileSync(source, 'void* wgpuCreateInstance(const void* descriptor) { return (void*)descriptor; }\n');
  if (compile(tally, [source, '-o', path.join(work, 'older.so')], 'a library of an older header'))
    tally.record('a library of an older header', refuses(of(path.join(work, 'older.so')), ['from before September 2025']));
}

function faults(library) {
  const file = path.join(work, 'libfaulty.so');
  const include = ['-I', path.dirname(library)];
  const layout = spawnSync('clang++-19', ['-std=c++23', '-fsyntax-only', '-Wall', '-I', root, '-I', path.join(root, 'include'), ...include,
    path.join(here, 'layout.cc')], {encoding: 'utf8'});
  tally.record('declarations as in the library\'s header', layout.status === 0 ? undefined : layout.stderr || String(layout.error));
  if (!compile(tally, [path.join(here, 'faulty.c'), ...include, '-Wl,--no-as-needed', library, `-Wl,-rpath,${path.dirname(library)}`, '-o', file],
    'a library that fails')) return;
  const failing = (fault, words, args = asked) =>
    tally.record(`fault: ${fault}`, refuses(run(args, {GOSSAMER_WEBGPU_LIBRARY: file, GOSSAMER_FAULT: fault}), words));
  tally.record('the same library without a fault', gives(run(asJson, {GOSSAMER_WEBGPU_LIBRARY: file})));
  failing('old', ['wgpu-native 27.0.4.0', 'install wgpu-native 29 or newer']);
  failing('no adapter', ['no adapter here: the test has none', 'install a driver']);
  failing('no device', ['gave no device: the test gives none']);
  failing('no memory', ['the GPU is out of memory: the test has no memory']);
  failing('no buffer', ['gives no buffer of']);
  failing('invalid', ['WebGPU says: the test refuses this']);
  failing('lost', ['the GPU was lost: the test pulled it out']);
  failing('no map', ['could not be read']);
  failing('silent', ['does not answer']);
  tally.record('no driver of Vulkan', refuses(run(asked, {VK_DRIVER_FILES: '/none', VK_ICD_FILENAMES: '/none'}), ['no adapter', 'mesa-vulkan-drivers']));
}

try {
  missing();
  const library = process.env.GOSSAMER_WEBGPU_LIBRARY;
  const first = library && run(asked);
  if (!library) tally.skip('the device', 'GOSSAMER_WEBGPU_LIBRARY names no library; tools/setup/webgpu.sh installs one');
  else if (first.status !== 0 && first.stderr.includes('no adapter')) tally.skip('the device', `there is no adapter: ${said(first.stderr)}`);
  else {
    runs(tally, 'webgpu', 'timestamps');
    longDimensions(tally, 'webgpu');
    if (existsSync(path.join(path.dirname(library), 'webgpu.h'))) faults(library);
    else tally.skip('faults', 'the library has no header beside it');
  }
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
