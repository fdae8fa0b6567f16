/** Fragment programs of a package: all compiled before the first is waited for. */
import type {Kernel} from '../device.ts';
import {GossamerError, kernelName} from '../types.ts';
import {alive, type GlContext} from './context.ts';

export interface GlProgram {
  readonly program: WebGLProgram;
  /** Locations of s0, s1, ...; null where the compiler dropped one. */
  readonly scalars: readonly (WebGLUniformLocation | null)[];
}

// One triangle that covers the viewport.
const VERTEX = `#version 300 es
void main() {
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}`;

const COMPLETION_STATUS_KHR = 0x91b1;

interface Building {
  readonly kernel: Kernel;
  readonly program: WebGLProgram;
  readonly fragment: WebGLShader;
}

function complaint(gl: WebGL2RenderingContext, {kernel, program, fragment}: Building): GossamerError {
  const log = gl.getShaderInfoLog(fragment) || gl.getProgramInfoLog(program) || 'no reason given';
  const message = `WebGL refuses ${kernelName(kernel.name, kernel.origin)}: ${log.trim()}`;
  return new GossamerError(gl.isContextLost() ? 'lost' : 'kernel', message);
}

function finish(gl: WebGL2RenderingContext, {kernel, program}: Building): GlProgram {
  gl.useProgram(program);
  for (let at = 0; at < kernel.buffers - 1; ++at) {
    gl.uniform1i(gl.getUniformLocation(program, `b${at}`), at);
  }
  const scalars = Array.from({length: kernel.scalars}, (_, at) =>
    gl.getUniformLocation(program, `s${at}`),
  );
  return {program, scalars};
}

/** One program a kernel. Throws 'unsupported' or 'kernel' with the driver's log. */
export async function buildPrograms(
  context: GlContext,
  kernels: readonly Kernel[],
  progress: (done: number) => void,
): Promise<GlProgram[]> {
  const gl = alive(context);
  const vertex = gl.createShader(gl.VERTEX_SHADER);
  if (!vertex) throw new GossamerError('lost', 'WebGL made no shader');
  gl.shaderSource(vertex, VERTEX);
  gl.compileShader(vertex);
  const building = new Map<string, Building>();
  for (const kernel of kernels) {
    const code = kernel.code ?? '';
    if (building.has(code)) continue;
    if (kernel.buffers - 1 > context.maxUnits) {
      throw new GossamerError(
        'unsupported',
        `${kernelName(kernel.name, kernel.origin)} reads ${kernel.buffers - 1} textures, ` +
          `this adapter allows ${context.maxUnits}`,
      );
    }
    const fragment = gl.createShader(gl.FRAGMENT_SHADER);
    if (!fragment) throw new GossamerError('lost', 'WebGL made no shader');
    const program = gl.createProgram();
    gl.shaderSource(fragment, code);
    gl.compileShader(fragment);
    gl.attachShader(program, vertex);
    gl.attachShader(program, fragment);
    gl.linkProgram(program);
    building.set(code, {kernel, program, fragment});
  }
  const built = new Map<string, GlProgram>();
  try {
    for (const [code, each] of building) {
      // Asking for the link status waits, so the page gets a turn in between.
      do {
        await new Promise((resolve) => setTimeout(resolve, 0));
        alive(context);
      } while (context.parallel && !gl.getProgramParameter(each.program, COMPLETION_STATUS_KHR));
      if (!gl.getProgramParameter(each.program, gl.LINK_STATUS)) throw complaint(gl, each);
      built.set(code, finish(gl, each));
      progress(built.size);
    }
  } catch (problem) {
    building.forEach(({program}) => gl.deleteProgram(program));
    throw problem;
  } finally {
    building.forEach(({fragment}) => gl.deleteShader(fragment));
    gl.deleteShader(vertex);
  }
  return kernels.map((kernel) => built.get(kernel.code ?? '') as GlProgram);
}
