// Reads the digits' pictures: PNG of 8-bit grey without interlacing, as draw.py writes them.
import {readFileSync} from 'node:fs';
import {inflateSync} from 'node:zlib';

function paeth(left, above, corner) {
  const guess = left + above - corner;
  const [a, b, c] = [left, above, corner].map((value) => Math.abs(guess - value));
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

/** {width, height, values}: bytes row by row; throws for any other kind of file. */
export function readGreyPng(file) {
  const bytes = readFileSync(file);
  const parts = [];
  let [width, height, form] = [0, 0, ''];
  for (let at = 8; at + 12 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const type = bytes.toString('latin1', at + 4, at + 8);
    const body = bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at));
    if (type === 'IHDR') {
      [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
      form = body.subarray(8, 13).join(' ');
    }
    if (type === 'IDAT') parts.push(body);
  }
  if (form !== '8 0 0 0 0') throw new Error(`${file}: not a plain PNG of 8-bit grey`);
  const lines = inflateSync(Buffer.concat(parts));
  const values = new Uint8Array(width * height);
  for (let y = 0; y < height; ++y) {
    const filter = lines[y * (width + 1)];
    for (let x = 0; x < width; ++x) {
      const at = y * width + x;
      const left = x > 0 ? values[at - 1] : 0;
      const above = y > 0 ? values[at - width] : 0;
      const corner = x > 0 && y > 0 ? values[at - width - 1] : 0;
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter];
      values[at] = lines[y * (width + 1) + 1 + x] + guess;
    }
  }
  return {width, height, values};
}
