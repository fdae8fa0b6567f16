/** Pictures to tensors on WebGL 2: lines first, then columns, in two draws. */
import {GossamerError, type DType} from '../values/types.ts';
import type {Texture} from '../devices/webgl/texture.ts';
import type {ImageSource, Work} from './work.ts';

const VERTEX = `#version 300 es
void main(){gl_Position=vec4(gl_VertexID%2*4-1,gl_VertexID/2*4-1,0,1);}`;

const HEAD = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
uniform sampler2D picture, taps;
uniform ivec4 size, more;
uniform vec4 range, mean, std;
`;

const LINES = `${HEAD}
layout(location = 0) out vec4 across;
vec4 pixel(ivec2 at) {
  uvec4 c = uvec4(round(texelFetch(picture, at, 0) * 255.0));
  if (size.z == 4) return vec4(c);
  uvec3 over = (c.rgb * c.a + 255u * (255u - c.a) + 127u) / 255u;
  if (size.z == 3) return vec4(vec3(over), 0);
  return vec4(float((19595u * over.r + 38470u * over.g + 7471u * over.b + 32768u) >> 16u));
}
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  int first = int(texelFetch(taps, ivec2(0, at.x), 0).r);
  int count = int(texelFetch(taps, ivec2(1, at.x), 0).r);
  across = vec4(0);
  for (int tap = 0; tap < count; ++tap) {
    across += texelFetch(taps, ivec2(tap + 2, at.x), 0).r * pixel(ivec2(first + tap, more.x + at.y));
  }
}`;

const finish = (type: string): string => `${HEAD}
layout(location = 0) out ${type} result;
float value(int i) {
  int pixels = size.x * size.y;
  int c = more.y == 1 ? i / pixels : i % size.z;
  int at = more.y == 1 ? i % pixels : i / size.z;
  int x = at % size.y, y = at / size.y;
  int first = int(texelFetch(taps, ivec2(0, y), 0).r) - more.x;
  int count = int(texelFetch(taps, ivec2(1, y), 0).r);
  float sum = 0.0;
  for (int tap = 0; tap < count; ++tap) {
    sum += texelFetch(taps, ivec2(tap + 2, y), 0).r * texelFetch(picture, ivec2(x, first + tap), 0)[c];
  }
  float v = (sum * range.x - mean[c]) / std[c];
  return more.z == 1 ? clamp(floor(v + 0.5), range.y, range.z) : v;
}
void main() {
  int t = int(gl_FragCoord.y) * more.w + int(gl_FragCoord.x);
  vec4 v = vec4(0);
  for (int j = 0; j < 4; ++j) if (4 * t + j < size.x * size.y * size.z) v[j] = value(4 * t + j);
  result = ${type}(v);
}`;

const known = new WeakMap<WebGL2RenderingContext, Map<string, WebGLProgram>>();

function programOf(gl: WebGL2RenderingContext, code: string): WebGLProgram {
  const mine = known.get(gl) ?? new Map<string, WebGLProgram>();
  known.set(gl, mine);
  const found = mine.get(code);
  if (found) return found;
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, code]] as const) {
    const shader = gl.createShader(kind);
    if (!shader) throw new GossamerError('lost', 'WebGL made no shader');
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    gl.deleteShader(shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    throw new GossamerError(gl.isContextLost() ? 'lost' : 'kernel', `WebGL refuses to resize: ${gl.getProgramInfoLog(program)}`);
  }
  mine.set(code, program);
  return program;
}

export function prepare(gl: WebGL2RenderingContext, source: ImageSource, work: Work): (buffer: unknown, storage: DType) => void {
  const {picture, height, width, channels, planes, columns, rows, mostColumns, mostRows, begin, lines, limits} = work;
  const made: WebGLTexture[] = [];
  const texture = (): WebGLTexture => {
    const texture = gl.createTexture();
    made.push(texture);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    return texture;
  };
  const table = (data: Float32Array, most: number): WebGLTexture => {
    const made = texture();
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, most, data.length / most, 0, gl.RED, gl.FLOAT, data);
    return made;
  };
  const given = 'texture' in source ? source.texture : texture();
  const format = [gl.RGBA, gl.UNSIGNED_BYTE] as const;
  if ('rgba' in source) {
    const {rgba} = source;
    const bytes = new Uint8Array(rgba.buffer, rgba.byteOffset, rgba.byteLength);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, picture.width, picture.height, 0, ...format, bytes);
  } else if (!('texture' in source)) gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, ...format, source);
  return (buffer, storage) => {
    const target = buffer as Texture;
    const across = texture();
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA32F, width, lines);
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, across, 0);
    const tables = [table(columns, mostColumns), table(rows, mostRows)] as const;
    const draw = (code: string, to: WebGLFramebuffer, from: WebGLTexture, taps: WebGLTexture, [w, h]: readonly [number, number]): void => {
      const program = programOf(gl, code);
      gl.useProgram(program);
      [from, taps].forEach((each, unit) => {
        gl.activeTexture(gl.TEXTURE0 + unit);
        gl.bindTexture(gl.TEXTURE_2D, each);
      });
      const at = (name: string): WebGLUniformLocation | null => gl.getUniformLocation(program, name);
      gl.uniform1i(at('picture'), 0);
      gl.uniform1i(at('taps'), 1);
      gl.uniform4i(at('size'), height, width, channels, 0);
      gl.uniform4i(at('more'), begin, Number(planes), Number(limits !== undefined), target.width);
      gl.uniform4f(at('range'), work.scale, limits?.[0] ?? 0, limits?.[1] ?? 0, 0);
      gl.uniform4fv(at('mean'), work.mean);
      gl.uniform4fv(at('std'), work.std);
      gl.bindFramebuffer(gl.FRAMEBUFFER, to);
      gl.viewport(0, 0, w, h);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    };
    draw(LINES, frame, given, tables[0], [width, lines]);
    const texels = Math.ceil((height * width * channels) / 4);
    const type = storage === 'f32' ? 'vec4' : storage === 'i32' ? 'ivec4' : 'uvec4';
    const size = [target.width, Math.ceil(texels / target.width)] as const;
    draw(finish(type), target.frame(storage as 'f32' | 'i32' | 'u32'), across, tables[1], size);
    gl.deleteFramebuffer(frame);
    made.forEach((each) => gl.deleteTexture(each));
  };
}
