// The native device webgl through this machine's OpenGL, by both of its names: a model with and without open dimensions, packages for pages,
// profiles; and what it says where there is no EGL, no driver, one that is too old, or no texture of that size. Nothing may end the process.
import {mkdirSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {model, node, npyOf, stored, types, value} from '../cli/models.mjs';
import {asking, bytesOf, compile, floats, gives, longDimensions, longRows, refuses, run, runs, said, work} from '../cli/native_device.mjs';
import {Tally} from '../tally.mjs';

const tally = new Tally();
const asked = asking('webgl');
const asJson = [...asked, '--json'];
const driver = 'libgl1-mesa-dri';

// Mesa says that it is an older driver.
const es = (version) => ({MESA_GLES_VERSION_OVERRIDE: version});
const gl = (version, glsl) => ({MESA_GL_VERSION_OVERRIDE: version, MESA_GLSL_VERSION_OVERRIDE: glsl});
const noDriver = {__EGL_VENDOR_LIBRARY_DIRS: '/none', __EGL_VENDOR_LIBRARY_FILENAMES: '/none'};

function missing() {
  const fake = path.join(work, 'fake');
  mkdirSync(fake);
  const source = path.join(work, 'fake.c');
  writeFileSync(source, 'int nothing;\n');
  if (compile(tally, [source, '-o', path.join(fake, 'libEGL.so.1')], 'a library without functions'))
    tally.record('an EGL without functions', refuses(run(asked, {LD_LIBRARY_PATH: fake}), ['libEGL.so.1 has no egl', 'install EGL']));
  tally.record('no driver', refuses(run(asked, noDriver), ['draws into float textures', 'OpenGL ES 3.0', driver]));
}

// The same kernels by each version that Mesa can be told to be.
function versions() {
  const renderer = (env) => {
    const {status, stdout, stderr} = run(['bench', 'fixed.onnx', '--target', 'webgl', '--device', 'native', '--profile', '--json', '--runs', '1'], env);
    return status === 0 ? JSON.parse(stdout).adapter : said(stderr);
  };
  for (const [name, env, word] of [
    ['OpenGL ES', es('3.0'), 'OpenGL ES 3.0'],
    ['OpenGL 3.3', {...es('2.0'), ...gl('3.3', '330')}, ', 3.3 '],
  ]) {
    tally.record(`${name} gives`, gives(run(asJson, env)));
    const told = renderer(env);
    tally.record(`${name} is asked for`, told.includes(word) ? undefined : `it runs on ${told}`);
  }
  tally.record('an older driver', refuses(run(asked, {...es('2.0'), ...gl('3.2', '150')}), ['draws into float textures', driver]));
}

// More rows than a texture has: the feed is small, what is computed of it is not.
function tooLarge() {
  const wide = model({
    nodes: [node('MatMul', ['x', 'w'], ['y'])],
    inputs: [value('x', 'f32', ['rows', 1])],
    outputs: [value('y', 'f32', ['rows', 4096])],
    weights: [stored(floats([1, 4096], new Array(4096).fill(1)), 'w')],
  });
  writeFileSync(path.join(work, 'wide.onnx'), wide);
  const rows = 300_000;
  writeFileSync(path.join(work, 'rows.npy'), npyOf('<f4', [rows, 1], bytesOf(new Array(rows).fill(1))));
  tally.record('no texture is that large',
    refuses(run(['run', 'wide.onnx', '--target', 'webgl', '--input', 'x=rows.npy']), ['tensor "y', 'needs a texture of', 'use smaller inputs']));
}

// Three elements: a texture has a texel of four, the CPU beside it has three.
function beside() {
  writeFileSync(path.join(work, 'beside.onnx'), model({
    nodes: [node('MatMul', ['x', 'w'], ['y']), node('Cast', ['y'], ['wide'], {integers: {to: types.f64}}), node('Exp', ['wide'], ['z'])],
    inputs: [value('x', 'f32', [1, 2])],
    outputs: [value('z', 'f64', [1, 3])],
    weights: [stored(floats([2, 3], [1, 0, 0, 0, 1, 0]), 'w')],
  }));
  writeFileSync(path.join(work, 'two.npy'), npyOf('<f4', [1, 2], bytesOf([0, 0])));
  tally.record('64-bit floats beside textures', gives(run(['run', 'beside.onnx', '--target', 'webgl', '--input', 'x=two.npy', '--json']), [1, 1, 1]));
}

try {
  missing();
  const first = run(asked);
  if (first.status !== 0 && first.stderr.includes('install')) tally.skip('the device', said(first.stderr));
  else {
    runs(tally, 'webgl', 'clock');
    if (JSON.parse(run(['bench', 'fixed.onnx', '--target', 'webgl', '--device', 'native', '--json', '--profile', '--runs', '1']).stdout).adapter.includes('Mesa')) versions();
    else tally.skip('versions', 'the driver is not Mesa\'s');
    tooLarge();
    beside();
    longRows(tally, 'opengl'); // the same driver's compute shaders
    longDimensions(tally, 'opengl');
  }
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
