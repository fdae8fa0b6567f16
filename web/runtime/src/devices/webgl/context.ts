/** One WebGL 2 context for the whole page: browsers keep about sixteen and then drop the oldest. */
import {Lifetime} from '../lifetime.ts';
import {Shared} from '../shared.ts';
import {GossamerError} from '../../values/types.ts';

export interface GlProgram {
  readonly program: WebGLProgram;
  /** Locations of s0, s1, ...; null where the compiler dropped one. */
  readonly scalars: readonly (WebGLUniformLocation | null)[];
}

export interface GlContext {
  readonly gl: WebGL2RenderingContext;
  readonly name: string;
  /** COMPLETION_STATUS_KHR may be asked without waiting. */
  readonly parallel: boolean;
  readonly maxSize: number;
  readonly maxTargets: number;
  readonly maxUnits: number;
  readonly life: Lifetime;
  readonly programs: Shared<GlProgram>;
}

let current: GlContext | undefined;

function make(): GlContext | string {
  const canvas =
    typeof OffscreenCanvas !== 'undefined'
      ? new OffscreenCanvas(1, 1)
      : typeof document !== 'undefined'
        ? document.createElement('canvas')
        : undefined;
  if (!canvas) return 'there is no canvas here';
  const options: WebGLContextAttributes = {
    alpha: false,
    antialias: false,
    depth: false,
    powerPreference: 'high-performance',
  };
  const gl = canvas.getContext('webgl2', options);
  if (!gl) return 'this browser has no WebGL 2 (or it is blocked)';
  if (!gl.getExtension('EXT_color_buffer_float')) {
    return 'WebGL 2 cannot render to float textures here (EXT_color_buffer_float is missing)';
  }
  const info = gl.getExtension('WEBGL_debug_renderer_info');
  gl.bindVertexArray(gl.createVertexArray());
  gl.disable(gl.DITHER);
  const context: GlContext = {
    gl,
    name: String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER)),
    parallel: gl.getExtension('KHR_parallel_shader_compile') !== null,
    maxSize: gl.getParameter(gl.MAX_TEXTURE_SIZE) as number,
    maxTargets: gl.getParameter(gl.MAX_DRAW_BUFFERS) as number,
    maxUnits: gl.getParameter(gl.MAX_TEXTURE_IMAGE_UNITS) as number,
    life: new Lifetime(),
    programs: new Shared(({program}) => gl.deleteProgram(program)),
  };
  canvas.addEventListener('webglcontextlost', () => lose(context));
  return context;
}

function lose(context: GlContext): void {
  if (current === context) current = undefined;
  const message = 'the WebGL context was lost: load the model again';
  context.life.end(new GossamerError('lost', message));
}

/** The page's context, made on first use and again after a loss; or what is missing. */
export function findContext(): GlContext | string {
  if (current && !current.gl.isContextLost()) return current;
  const made = make();
  current = typeof made === 'string' ? undefined : made;
  return made;
}

/** The context for use now. Throws 'lost' after a context loss. */
export function alive(context: GlContext): WebGL2RenderingContext {
  if (context.gl.isContextLost()) lose(context);
  context.life.check();
  return context.gl;
}

/** The next task: timers that follow each other are held back to 4 ms. */
const nextTask = (): Promise<void> =>
  new Promise((resolve) => {
    const {port1, port2} = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });

const EAGER_MS = 4;

/** Waits for the GPU without blocking the page. */
export async function passed(context: GlContext): Promise<void> {
  const gl = alive(context);
  const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
  gl.flush();
  if (!sync) throw new GossamerError('lost', 'WebGL gave no fence');
  const begin = performance.now();
  try {
    for (let wait = 0; ; ) {
      const status = alive(context).clientWaitSync(sync, 0, 0);
      if (status === gl.ALREADY_SIGNALED || status === gl.CONDITION_SATISFIED) return;
      if (status === gl.WAIT_FAILED) throw new GossamerError('lost', 'WebGL stopped answering');
      if (performance.now() - begin < EAGER_MS) await nextTask();
      else await new Promise((resolve) => setTimeout(resolve, (wait = Math.min(8, wait + 1))));
    }
  } finally {
    gl.deleteSync(sync);
  }
}
