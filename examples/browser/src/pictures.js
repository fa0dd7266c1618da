// Pictures as SVG, whose colours come from style.css. Each has a text for those who do not see it.

import { BLOCK, SIDE } from "./raster.js";

const SVG = "http://www.w3.org/2000/svg";
const INK = BLOCK * BLOCK;

function element(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const rectangle = (x, y, width, height) => `M${x} ${y}h${width}v${height}h${-width}z`;

const image = (label, attributes, ...children) =>
  element("svg", { role: "img", "aria-label": label, ...attributes }, ...children);

/** The 8 x 8 pixels of a digit. */
export function digitPicture(pixels, label) {
  const squares = Array.from(pixels, (value, pixel) => {
    const place = { x: pixel % SIDE, y: Math.floor(pixel / SIDE), width: 1, height: 1 };
    return element("rect", { ...place, "fill-opacity": value / INK });
  });
  const inked = squares.filter((_, pixel) => pixels[pixel] > 0);
  return image(label, { class: "digit", viewBox: `0 0 ${SIDE} ${SIDE}`, "shape-rendering": "crispEdges" }, ...inked);
}

/** Bits as bars, filled for 1 and empty for 0; those where `differs` is true are coloured, whatever their value. */
export function barcode(bits, label, differs = bits.map(() => false)) {
  const bars = (chosen) => bits.map((bit, k) => (chosen(bit, k) ? rectangle(k, 0, 1, 1) : "")).join("");
  return image(
    label,
    { class: "bars", viewBox: `0 0 ${bits.length} 1`, preserveAspectRatio: "none" },
    element("path", { d: bars((bit, k) => bit && !differs[k]) }),
    element("path", { class: "differ", d: bars((_, k) => differs[k]) }),
  );
}

/** Square roots of margins as bars from a middle line, up for bit 1, down for bit 0; the largest has full height. */
export function marginPicture(margins, label) {
  const largest = Math.max(...margins.map(Math.abs));
  const bar = (margin, k) => {
    const tall = Math.sqrt(Math.abs(margin) / largest);
    return rectangle(k + 0.2, margin < 0 ? 0 : -tall, 0.6, tall);
  };
  return image(
    label,
    { class: "bars", viewBox: `0 -1 ${margins.length} 2`, preserveAspectRatio: "none" },
    element("path", { class: "axis", d: rectangle(0, -0.02, margins.length, 0.04) }),
    element("path", { d: margins.map(bar).join("") }),
  );
}

/** Number of digits at each distance, with a line at the radius; drawn for a width in pixels, so that text keeps its size. */
export function histogram(counts, radius, width, label) {
  const [top, bottom, height] = [24, 40, 176];
  const [floor, step, largest] = [height - bottom, width / counts.length, Math.max(...counts)];
  const bar = (count, distance) => {
    const tall = ((floor - top) * count) / largest;
    return count ? rectangle(distance * step + step * 0.1, floor - tall, step * 0.8, tall) : "";
  };
  const bars = counts.map(bar);
  const line = (radius + 1) * step;
  const [round, level] = roundLevel(largest, (count) => floor - ((floor - top) * count) / largest);
  const text = (x, y, words, attributes = {}) => element("text", { x, y, ...attributes }, words);
  const ticks = counts.flatMap((_, distance) =>
    distance % 16 ? [] : [text((distance + 0.5) * step, floor + 16, distance, { "text-anchor": anchor(distance, counts) })],
  );
  return image(
    label,
    { viewBox: `0 0 ${width} ${height}`, height },
    element("path", { class: "near", d: bars.slice(0, radius + 1).join("") }),
    element("path", { class: "far", d: bars.slice(radius + 1).join("") }),
    element("line", { class: "axis", x1: 0, x2: width, y1: floor, y2: floor }),
    element("line", { class: "grid", x1: 0, x2: width, y1: level, y2: level }),
    text(width, level - 4, `${round} digits`, { "text-anchor": "end" }),
    element("line", { class: "radius", x1: line, x2: line, y1: 0, y2: floor }),
    text(line + 6, 13, `near up to distance ${radius}`, { class: "named" }),
    ...ticks,
    text(width / 2, height - 6, "Hamming distance", { "text-anchor": "middle" }),
  );
}

/** The largest of 1, 2, 5, 10, 20, ... up to a number, and its height. */
function roundLevel(largest, heightOf) {
  const power = 10 ** Math.floor(Math.log10(largest));
  const round = power * [5, 2, 1].find((factor) => factor * power <= largest);
  return [round, heightOf(round)];
}

const anchor = (distance, counts) => ({ 0: "start", [counts.length - 1]: "end" })[distance] ?? "middle";
