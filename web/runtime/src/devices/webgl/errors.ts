import {type ErrorCode, GossamerError} from '../../values/types.ts';

/** What WebGL calls one of its numbers, such as INVALID_OPERATION. */
export function nameOf(gl: WebGL2RenderingContext, value: number): string {
  for (const name in gl) {
    if (/^[A-Z]/.test(name) && gl[name as keyof typeof gl] === value) return name;
  }
  return `0x${value.toString(16)}`;
}

/** The first error since the last call, or undefined. Asking waits for the GPU process. */
export function complaint(gl: WebGL2RenderingContext, what: string): GossamerError | undefined {
  const error = gl.getError();
  if (error === gl.NO_ERROR) return undefined;
  const codes: Record<number, ErrorCode> = {
    [gl.OUT_OF_MEMORY]: 'out-of-memory',
    [gl.CONTEXT_LOST_WEBGL]: 'lost',
  };
  const code = codes[error] ?? 'kernel';
  return new GossamerError(code, `${what}: WebGL says ${nameOf(gl, error)}`);
}
