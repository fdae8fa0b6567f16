/** Decoding image files, as docs/specs/preprocessing.md has it: the browser's decoder, unchanged bytes. */
import type {Picture} from '../src/image/preprocess.ts';

/** A canvas keeps colours multiplied by alpha; a texture keeps them as they are. */
function unmultiplied(bitmap: ImageBitmap): Uint8Array | undefined {
  const {width, height} = bitmap;
  const gl = document.createElement('canvas').getContext('webgl2');
  if (!gl || Math.max(width, height) > (gl.getParameter(gl.MAX_TEXTURE_SIZE) as number)) return undefined;
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
  gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE);
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, bitmap);
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  const rgba = new Uint8Array(4 * width * height);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, rgba);
  const good = gl.getError() === gl.NO_ERROR;
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return good ? rgba : undefined;
}

/** The pixels of a canvas. */
export function pixelsOf(canvas: HTMLCanvasElement): Picture {
  const {width, height} = canvas;
  const context = canvas.getContext('2d', {willReadFrequently: true});
  const rgba = context?.getImageData(0, 0, width, height).data ?? new Uint8Array(4 * width * height);
  return {width, height, rgba};
}

/** Throws where the browser cannot read the file as an image. */
export async function readPicture(file: Blob): Promise<Picture> {
  const bitmap = await createImageBitmap(file, {colorSpaceConversion: 'none', premultiplyAlpha: 'none'});
  const canvas = document.createElement('canvas');
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  canvas.getContext('2d', {willReadFrequently: true})?.drawImage(bitmap, 0, 0);
  const picture = pixelsOf(canvas);
  let opaque = true;
  for (let at = 3; opaque && at < picture.rgba.length; at += 4) opaque = picture.rgba[at] === 255;
  const rgba = (opaque ? undefined : unmultiplied(bitmap)) ?? picture.rgba;
  bitmap.close();
  return {...picture, rgba};
}
