// From strokes to the 64 numbers that the model takes, in the way the training digits were made:
//
// 1. move and scale the strokes to the frame that digits of the data fill: all 32 rows, at most 22 of the 32 columns;
// 2. draw them with a round pen into a bitmap of 32 x 32 pixels, each of which is set or not;
// 3. count the set pixels in each block of 4 x 4: 8 x 8 numbers from 0 to 16.
//
// A stroke is a list of points [x, y], in units of the 32 pixels.

export const SIZE = 32;
export const BLOCK = 4;
export const SIDE = SIZE / BLOCK;
// Diameter with which drawings have about as many set pixels as the digits of the data: half of these have 285 to 338.
export const PEN = 5;
const FRAME = { width: 22 - PEN, height: SIZE - PEN };
// A dot or a short dash is enlarged no further than this.
const LARGEST_SCALE = 4;

/** Strokes moved and scaled so that, drawn with the pen, they fill the frame. */
export function fitToFrame(strokes) {
  const points = strokes.flat();
  if (!points.length) return [];
  const [x, y] = [0, 1].map((axis) => extent(points.map((point) => point[axis])));
  const down = Math.min(FRAME.height / y.length, LARGEST_SCALE);
  const across = Math.min(FRAME.width / x.length, down);
  const centre = SIZE / 2;
  return strokes.map((stroke) =>
    stroke.map((point) => [centre + (point[0] - x.middle) * across, centre + (point[1] - y.middle) * down]),
  );
}

function extent(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return { length: high - low, middle: (low + high) / 2 };
}

/** Bitmap of SIZE x SIZE pixels: 1 where the centre of a pixel is under the pen. */
export function bitmapOf(strokes) {
  const bitmap = new Uint8Array(SIZE * SIZE);
  for (const stroke of strokes)
    stroke.forEach((point, position) => drawLine(bitmap, stroke[Math.max(position - 1, 0)], point));
  return bitmap;
}

function drawLine(bitmap, from, to) {
  const reach = PEN / 2;
  const [left, right] = [Math.min(from[0], to[0]) - reach, Math.max(from[0], to[0]) + reach];
  const [top, bottom] = [Math.min(from[1], to[1]) - reach, Math.max(from[1], to[1]) + reach];
  for (let row = Math.max(Math.floor(top), 0); row < Math.min(bottom, SIZE); row++)
    for (let column = Math.max(Math.floor(left), 0); column < Math.min(right, SIZE); column++)
      if (distanceToLine([column + 0.5, row + 0.5], from, to) <= reach) bitmap[row * SIZE + column] = 1;
}

function distanceToLine([x, y], [x0, y0], [x1, y1]) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const squared = dx * dx + dy * dy;
  const along = squared ? ((x - x0) * dx + (y - y0) * dy) / squared : 0;
  const part = Math.min(Math.max(along, 0), 1);
  return Math.hypot(x - x0 - part * dx, y - y0 - part * dy);
}

/** Number of set pixels in each block: SIDE x SIDE numbers from 0 to BLOCK * BLOCK. */
export function blockCounts(bitmap) {
  const counts = new Uint8Array(SIDE * SIDE);
  bitmap.forEach((set, pixel) => {
    const [row, column] = [Math.floor(pixel / SIZE), pixel % SIZE];
    counts[Math.floor(row / BLOCK) * SIDE + Math.floor(column / BLOCK)] += set;
  });
  return counts;
}

export const pixelsOf = (strokes) => blockCounts(bitmapOf(fitToFrame(strokes)));
