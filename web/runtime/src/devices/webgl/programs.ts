/** Fragment programs: equal kernels once, whatever models have them. */
import type {Kernel} from '../device.ts';
import {GossamerError, kernelName} from '../../values/types.ts';
import {alive, type GlContext, type GlProgram} from './context.ts';
import type {TexelType} from './texture.ts';

// One triangle that covers the viewport.
const VERTEX = `#version 300 es
void main(){gl_Position=vec4(gl_VertexID%2*4-1,gl_VertexID/2*4-1,0,1);}`;

/** From a flat texture to one of another width. */
const COPY = (prefix: string): string => `#version 300 es
precision highp float;
precision highp int;
uniform highp ${prefix}sampler2D b0;
uniform int s0, s1;
layout(location = 0) out ${prefix}vec4 y;
void main() {
  int t = int(gl_FragCoord.y) * s1 + int(gl_FragCoord.x);
  y = texelFetch(b0, ivec2(t % s0, t / s0), 0);
}`;

const COMPLETION_STATUS_KHR = 0x91b1;

function finish(gl: WebGL2RenderingContext, kernel: Pick<Kernel, 'buffers' | 'scalars'>, program: WebGLProgram): GlProgram {
  gl.useProgram(program);
  for (let at = 0; at < kernel.buffers - 1; ++at) {
    gl.uniform1i(gl.getUniformLocation(program, `b${at}`), at);
  }
  const scalars = Array.from({length: kernel.scalars}, (_, at) =>
    gl.getUniformLocation(program, `s${at}`),
  );
  return {program, scalars};
}

/** Begins at once: all of a model's are compiled before the first is waited for. */
async function build(context: GlContext, vertex: WebGLShader, kernel: Kernel): Promise<GlProgram> {
  const gl = alive(context);
  const name = kernelName(kernel.name, kernel.origin);
  if (kernel.buffers - 1 > context.maxUnits) {
    throw new GossamerError(
      'unsupported',
      `${name} reads ${kernel.buffers - 1} textures, ` +
        `this adapter allows ${context.maxUnits}`,
    );
  }
  const fragment = gl.createShader(gl.FRAGMENT_SHADER);
  if (!fragment) throw new GossamerError('lost', 'WebGL made no shader');
  const program = gl.createProgram();
  try {
    gl.shaderSource(fragment, kernel.code ?? '');
    gl.compileShader(fragment);
    gl.attachShader(program, vertex);
    gl.attachShader(program, fragment);
    gl.linkProgram(program);
    // Asking for the link status waits, so the page gets a turn in between.
    do {
      await new Promise((resolve) => setTimeout(resolve, 0));
      alive(context);
    } while (context.parallel && !gl.getProgramParameter(program, COMPLETION_STATUS_KHR));
    if (gl.getProgramParameter(program, gl.LINK_STATUS)) return finish(gl, kernel, program);
    const log = gl.getShaderInfoLog(fragment) || gl.getProgramInfoLog(program) || 'no reason given';
    const message = `WebGL refuses ${name}: ${log.trim()}`;
    throw new GossamerError(gl.isContextLost() ? 'lost' : 'kernel', message);
  } catch (problem) {
    gl.deleteProgram(program);
    throw problem;
  } finally {
    gl.deleteShader(fragment);
  }
}

/** One program a kernel, and what lets go of them. Throws 'unsupported' or 'kernel' with the driver's log. */
export async function buildPrograms(
  context: GlContext,
  kernels: readonly Kernel[],
  progress: (done: number) => void,
): Promise<readonly [GlProgram[], release: () => void]> {
  const gl = alive(context);
  const vertex = gl.createShader(gl.VERTEX_SHADER);
  if (!vertex) throw new GossamerError('lost', 'WebGL made no shader');
  gl.shaderSource(vertex, VERTEX);
  gl.compileShader(vertex);
  try {
    // What samplers and scalars are called follows from their number.
    const keyOf = ({buffers, scalars, code}: Kernel): string => `${buffers} ${scalars}\n${code}`;
    return await context.programs.use(kernels, keyOf, (kernel) => build(context, vertex, kernel), progress);
  } finally {
    gl.deleteShader(vertex);
  }
}

const copiers = new WeakMap<GlContext, Map<string, GlProgram>>();

/** The program that copies textures of a type; scalars are the widths of the one read and the one written. */
export function copier(context: GlContext, type: TexelType): GlProgram {
  const known = copiers.get(context) ?? new Map<string, GlProgram>();
  copiers.set(context, known);
  const found = known.get(type);
  if (found) return found;
  const gl = alive(context);
  const program = gl.createProgram();
  const code = COPY({f32: '', i32: 'i', u32: 'u'}[type]);
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, code]] as const) {
    const shader = gl.createShader(kind);
    if (!shader) throw new GossamerError('lost', 'WebGL made no shader');
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    gl.deleteShader(shader);
  }
  gl.linkProgram(program);
  const made = finish(gl, {buffers: 2, scalars: 2}, program);
  known.set(type, made);
  return made;
}
