// Search among the training digits: all distances, the nearest, and how many are within the radius.

import { countByDistance, distancesTo, nearest } from "./hamming.js";

const SHOWN = 12;

export function search(code, { training, nBits, radius }) {
  const distances = distancesTo(code, training.codes);
  const near = [...distances.keys()].filter((row) => distances[row] <= radius);
  return {
    counts: countByDistance(distances, nBits),
    nearest: nearest(distances, SHOWN).map((row) => ({ row, label: training.labels[row], distance: distances[row] })),
    nNear: near.length,
    mostCommon: mostCommon(near.map((row) => training.labels[row])),
  };
}

/** The label that occurs most often, and how often; null for an empty list. */
function mostCommon(labels) {
  const counts = new Map();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  const [first] = [...counts].sort((a, b) => b[1] - a[1]);
  return first ? { label: first[0], count: first[1] } : null;
}
