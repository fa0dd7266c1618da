// The page: what is drawn becomes 64 numbers, a code, and distances to all training digits.

import { loadDigits, rowOf } from "./digits.js";
import { loadEncoder } from "./encoder.js";
import { Pad } from "./pad.js";
import { search } from "./search.js";
import { showAnswer, showBlank } from "./show.js";

const QUIET_BEFORE_ANNOUNCING = 700; // milliseconds
const find = (name) => document.getElementById(name);

const digits = await loadDigits("./digits.json").catch(fail);
const encode = await loadEncoder("./model.onnx", digits.nFeatures).catch(fail);
const pad = new Pad(find("pad"), { changed: refresh, say });
find("clear").addEventListener("click", () => pad.clear());
find("samples").append(...Array.from({ length: 10 }, (_, label) => sampleButton(label)));
new ResizeObserver(refresh).observe(find("histogram"));
pad.show(sampleOf(3, 0));
document.documentElement.dataset.ready = "yes";

/** Answer for the present drawing; drawings that come while one is computed wait, and only the last is answered. */
async function refresh() {
  refresh.wanted = true;
  if (refresh.running) return;
  refresh.running = true;
  while (refresh.wanted) {
    refresh.wanted = false;
    await answer(pad.pixels);
  }
  refresh.running = false;
}

async function answer(pixels) {
  clearTimeout(sayLater.timer);
  if (!pixels.some(Boolean)) return showBlank();
  const start = performance.now();
  const { codes: code, margins } = await encode(pixels);
  const encoded = performance.now();
  const found = search(code, digits);
  const milliseconds = { encode: encoded - start, search: performance.now() - encoded };
  sayLater(showAnswer({ pixels, code, margins, found, digits, milliseconds }));
}

/** A button that shows held-out digits of a class, one after the other. */
function sampleButton(label) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", textContent: label, ariaLabel: `Sample digit ${label}` });
  let turn = 0;
  button.addEventListener("click", () => pad.show(sampleOf(label, turn++)));
  return button;
}

function sampleOf(label, turn) {
  const { labels, pixels } = digits.heldOut;
  const rows = [...labels.keys()].filter((row) => labels[row] === label);
  return rowOf(pixels, digits.nFeatures, rows[turn % rows.length]);
}

/** Have screen readers say a sentence. */
function say(sentence) {
  find("announcement").textContent = sentence;
}

/** Say a sentence once nothing has changed for a while. */
function sayLater(sentence) {
  sayLater.timer = setTimeout(() => say(sentence), QUIET_BEFORE_ANNOUNCING);
}

/** Show why the page cannot start. */
function fail(error) {
  find("verdict").textContent = `The page could not load: ${error.message}.`;
  throw error;
}
