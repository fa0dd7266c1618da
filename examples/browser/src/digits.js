// The digits that build_model.py writes: training digits with their codes, and held-out digits as samples to try.

import { get } from "./files.js";

/** Load public/digits.json; arrays of bytes are flat, row after row. */
export async function loadDigits(address) {
  const answer = await get(address);
  const { n_bits: nBits, n_features: nFeatures, radius, training, held_out: heldOut } = await answer.json();
  return { nBits, nFeatures, radius, training: bytesOf(training), heldOut: bytesOf(heldOut) };
}

const bytesOf = (fields) =>
  Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, fromBase64(text)]));

export const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** Row of a flat array whose rows have this many values. */
export const rowOf = (values, width, row) => values.subarray(row * width, (row + 1) * width);
