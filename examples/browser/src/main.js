// The page: what is drawn becomes 64 numbers, a code, and distances to all training digits.

import { loadDigits, rowOf } from "./digits.js";
import { startEncoder } from "./encoder.js";
import { getBytes } from "./files.js";
import { Pad } from "./pad.js";
import { search } from "./search.js";
import { showAnswer, showBlank } from "./show.js";

const QUIET_BEFORE_ANNOUNCING = 700; // milliseconds
const find = (name) => document.getElementById(name);

const [digits, encode] = await load().catch(fail);
const pad = new Pad(find("pad"), { changed: refresh, say });
find("clear").addEventListener("click", () => pad.clear());
find("samples").append(...Array.from({ length: 10 }, (_, label) => sampleButton(label)));
new ResizeObserver(refresh).observe(find("histogram"));
pad.show(sampleOf(3, 0));
document.documentElement.dataset.ready = "yes";

/** The training digits, and the function that encodes a drawing. */
async function load() {
  const [digits, model] = await Promise.all([loadDigits("./digits.json"), getBytes("./model.onnx")]);
  const encode = await startEncoder(model, digits.nFeatures).catch(({ message }) => {
    throw new Error(`this browser could not start the model in WebAssembly (${message})`);
  });
  return [digits, encode];
}

/** Answer for the present drawing; drawings that come while one is computed wait, and only the last is answered. */
async function refresh() {
  refresh.wanted = true;
  if (refresh.running) return;
  refresh.running = true;
  try {
    while (refresh.wanted) {
      refresh.wanted = false;
      await answer(pad.pixels).catch(fail);
    }
  } finally {
    refresh.running = false;
  }
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

/** Show and say why the page cannot start, or cannot answer; what it showed before is hidden. */
function fail(error) {
  const sentence = `The page does not work: ${error.message.replace(/\.$/, "")}.`;
  find("answer").dataset.blank = "";
  find("verdict").textContent = sentence;
  say(sentence);
  throw error;
}
