// Hamming distances between packed codes: one lookup of the number of set bits for each byte.

const SET_BITS = new Uint8Array(256);
for (let byte = 1; byte < 256; byte++) SET_BITS[byte] = SET_BITS[byte >> 1] + (byte & 1);

/** Distances from one code to all codes of a flat array, in which each code has as many bytes as the query. */
export function distancesTo(query, codes) {
  const width = query.length;
  const distances = new Uint16Array(codes.length / width);
  for (let row = 0, byte = 0; row < distances.length; row++) {
    let distance = 0;
    for (let column = 0; column < width; column++, byte++) distance += SET_BITS[query[column] ^ codes[byte]];
    distances[row] = distance;
  }
  return distances;
}

/** Number of codes at each distance from 0 to nBits. */
export function countByDistance(distances, nBits) {
  const counts = new Array(nBits + 1).fill(0);
  for (const distance of distances) counts[distance] += 1;
  return counts;
}

/** Positions of the k smallest distances, nearest first; equal distances in the order of their positions. */
export function nearest(distances, k) {
  const order = Array.from(distances.keys());
  return order.sort((a, b) => distances[a] - distances[b] || a - b).slice(0, k);
}

/** The bits of a packed code, first bit first, as numpy.unpackbits gives them. */
export function unpack(code) {
  return Array.from(code).flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((shift) => (byte >> shift) & 1));
}

export const hex = (code) => Array.from(code, (byte) => byte.toString(16).padStart(2, "0")).join("");
