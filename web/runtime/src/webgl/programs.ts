/** Fragment programs: equal kernels once, whatever models have them. */
import type {Kernel} from '../device.ts';
import {GossamerError, kernelName} from '../types.ts';
import {alive, type GlContext, type GlProgram} from './context.ts';

// One triangle that covers the viewport.
const VERTEX = `#version 300 es
void main(){gl_Position=vec4(gl_VertexID%2*4-1,gl_VertexID/2*4-1,0,1);}`;

const COMPLETION_STATUS_KHR = 0x91b1;

function finish(gl: WebGL2RenderingContext, kernel: Kernel, program: WebGLProgram): GlProgram {
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
