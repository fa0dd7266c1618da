// What the page shows beside the drawing. Attributes data-... hold the same values for tests.

import { rowOf } from "./digits.js";
import { hex, unpack } from "./hamming.js";
import { barcode, digitPicture, histogram, marginPicture } from "./pictures.js";

const find = (name) => document.getElementById(name);
const N_SPOKEN = 3;

/** Show the answer to a drawing; returns a sentence that says it. */
export function showAnswer({ pixels, code, margins, found, digits, milliseconds }) {
  const bits = unpack(code);
  find("seen").replaceChildren(digitPicture(pixels, "The drawing as 8 x 8 numbers"));
  find("seen").dataset.pixels = pixels.join(" ");
  showCode(bits, code, margins);
  find("nearest").replaceChildren(...found.nearest.map((neighbour) => card(neighbour, bits, digits)));
  const verdict = verdictOf(found, digits);
  showHistogram(found.counts, digits.radius, verdict);
  find("verdict").textContent = verdict;
  delete find("answer").dataset.blank;
  find("timing").textContent =
    `This answer took ${milliseconds.encode.toFixed(1)} ms for the code and ${milliseconds.search.toFixed(1)} ms for ` +
    `${found.counts.reduce((sum, count) => sum + count).toLocaleString("en")} distances and their order.`;
  const first = found.nearest.slice(0, N_SPOKEN).map(({ label, distance }) => `${label} at distance ${distance}`);
  return `${verdict} Nearest: ${first.join(", ")}.`;
}

/** Show that nothing is drawn. */
export function showBlank() {
  find("answer").dataset.blank = "";
  find("seen").replaceChildren(digitPicture([], "Nothing is drawn"));
  find("verdict").textContent = "Draw a digit from 0 to 9.";
}

function showCode(bits, code, margins) {
  const ones = bits.reduce((sum, bit) => sum + bit);
  find("barcode").replaceChildren(barcode(bits, `Code of ${bits.length} bits, ${ones} of them 1`));
  find("barcode").dataset.code = hex(code);
  find("margins").replaceChildren(marginPicture(Array.from(margins), "Margins of the bits"));
  find("hex").textContent = hex(code);
}

function card({ row, label, distance }, bits, { training, nFeatures, nBits, radius }) {
  const other = unpack(rowOf(training.codes, nBits / 8, row));
  const differs = other.map((bit, k) => bit !== bits[k]);
  const item = document.createElement("li");
  item.className = distance > radius ? "far" : "near";
  Object.assign(item.dataset, { row, label, distance });
  const [name, words] = [document.createElement("strong"), document.createElement("span")];
  name.textContent = label;
  words.textContent = distance > radius ? `distance ${distance}, far` : `distance ${distance}`;
  const picture = digitPicture(rowOf(training.pixels, nFeatures, row), `Training digit ${label}`);
  item.append(picture, barcode(other, `${distance} bits differ`, differs), name, " ", words);
  return item;
}

function showHistogram(counts, radius, verdict) {
  const box = find("histogram");
  box.dataset.counts = counts.join(" ");
  box.replaceChildren(histogram(counts, radius, box.clientWidth, `Histogram of distances. ${verdict}`));
}

function verdictOf({ nNear, mostCommon, nearest }, { training, radius }) {
  const all = training.labels.length.toLocaleString("en");
  if (!nNear)
    return `None of ${all} training digits is near: the nearest is at distance ${nearest[0].distance}, beyond ${radius}.`;
  const { label, count } = mostCommon;
  if (nNear === 1) return `One of ${all} training digits is near: a ${label}.`;
  return `${nNear} of ${all} training digits are near, ${count === nNear ? "all" : count} of them ${label}s.`;
}
