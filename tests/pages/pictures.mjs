// Image files for tests: PNG as its specification has it, and JPEG with an EXIF segment.
import {crc32, deflateSync} from 'node:zlib';

const channelsOf = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}; // by PNG's colour type

function chunk(type, content) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** `colour`: 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA; `sample(x, y, channel)` gives bits' worth. */
export function png(width, height, {colour = 2, bits = 8, palette, alphas, gamma, orientation}, sample) {
  const channels = channelsOf[colour];
  const size = bits / 8;
  const rows = Buffer.alloc(height * (1 + width * channels * size));
  let at = 0;
  for (let y = 0; y < height; ++y) {
    rows[at++] = 0; // no filter
    for (let x = 0; x < width; ++x)
      for (let c = 0; c < channels; ++c, at += size) rows.writeUIntBE(sample(x, y, c), at, size);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bits, colour, 0, 0, 0], 8);
  const four = (number) => Buffer.from([number >>> 24, number >>> 16, number >>> 8, number].map((byte) => byte & 255));
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]),
    chunk('IHDR', header),
    ...(gamma ? [chunk('gAMA', four(gamma))] : []),
    ...(palette ? [chunk('PLTE', Buffer.from(palette.flat()))] : []),
    ...(alphas ? [chunk('tRNS', Buffer.from(alphas))] : []),
    ...(orientation ? [chunk('eXIf', tiff(orientation))] : []),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

// TIFF's header and a directory of one entry, 0x0112.
function tiff(orientation) {
  return Buffer.from([
    ...Buffer.from('II*\0'), 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0,
  ]);
}

/** The JPEG with an EXIF segment of this orientation behind its first marker. */
export function oriented(jpeg, orientation) {
  const exif = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff(orientation)]);
  const head = Buffer.from([0xff, 0xe1, 0, exif.length + 2]);
  return Buffer.concat([jpeg.subarray(0, 2), head, exif, jpeg.subarray(2)]);
}
