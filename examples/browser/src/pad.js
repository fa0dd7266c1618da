// The drawing area: strokes by pointer or by keys, or a sample digit of 8 x 8 pixels.

import { BLOCK, PEN, pixelsOf, SIDE, SIZE } from "./raster.js";

const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const FAR_MOVE = 4;

export class Pad {
  strokes = [];
  sample = null;
  cursor = [SIZE / 2, SIZE / 2];
  penIsDown = false;
  usesKeys = false;

  /** `changed` is called after each change of the drawing, `say` with a sentence for those who do not see it. */
  constructor(canvas, { changed, say }) {
    Object.assign(this, { canvas, changed, say });
    canvas.addEventListener("pointerdown", (event) => this.#begin(event));
    canvas.addEventListener("pointermove", (event) => this.#follow(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => (this.pointer = null));
    canvas.addEventListener("keydown", (event) => this.#key(event));
    canvas.addEventListener("focus", () => this.#useKeys(canvas.matches(":focus-visible")));
    canvas.addEventListener("blur", () => this.#useKeys(false));
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** The 64 numbers of the drawing or of the sample digit. */
  get pixels() {
    return this.sample ?? pixelsOf(this.strokes);
  }

  show(sample) {
    this.#become([], sample);
  }

  clear() {
    this.#become([], null);
  }

  #become(strokes, sample) {
    Object.assign(this, { strokes, sample, penIsDown: false, pointer: null });
    this.#update();
  }

  #update() {
    this.draw();
    this.changed();
  }

  #startStroke(point) {
    this.sample = null;
    this.strokes.push([point]);
  }

  #extendStroke(point) {
    this.strokes.at(-1).push(point);
  }

  #begin(event) {
    if (event.button !== 0) return;
    this.pointer = event.pointerId;
    this.canvas.setPointerCapture(event.pointerId);
    Object.assign(this, { penIsDown: false, usesKeys: false });
    this.#startStroke(this.#pointOf(event));
    this.#update();
  }

  #follow(event) {
    if (this.pointer !== event.pointerId) return;
    const passed = event.getCoalescedEvents?.() ?? [];
    for (const one of passed.length ? passed : [event]) this.#extendStroke(this.#pointOf(one));
    this.#update();
  }

  #pointOf(event) {
    const box = this.canvas.getBoundingClientRect();
    const within = (value) => Math.min(Math.max(value * SIZE, 0), SIZE);
    return [within((event.clientX - box.left) / box.width), within((event.clientY - box.top) / box.height)];
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in MOVES) this.#move(MOVES[event.key], event.shiftKey ? FAR_MOVE : 1);
    else if (event.key === " ") this.#togglePen();
    else if (event.key === "Delete" || event.key === "Backspace") this.#clearByKey();
    else return;
    event.preventDefault();
    this.#useKeys(true);
  }

  #useKeys(value) {
    this.usesKeys = value;
    this.draw();
  }

  #move(direction, steps) {
    this.cursor = this.cursor.map((value, axis) => Math.min(Math.max(value + steps * direction[axis], 0), SIZE));
    if (!this.penIsDown) return;
    this.#extendStroke(this.cursor);
    this.#update();
  }

  #togglePen() {
    this.penIsDown = !this.penIsDown;
    this.say(this.penIsDown ? "Pen down." : "Pen up.");
    if (!this.penIsDown) return;
    this.#startStroke(this.cursor);
    this.#update();
  }

  #clearByKey() {
    this.clear();
    this.say("Cleared.");
  }

  /** Draw the content of the canvas, in the colours of the page and the resolution of the screen. */
  draw() {
    const { canvas } = this;
    const size = Math.round(canvas.clientWidth * devicePixelRatio);
    if (canvas.width !== size) canvas.width = canvas.height = size;
    const context = canvas.getContext("2d");
    context.setTransform(size / SIZE, 0, 0, size / SIZE, 0, 0);
    context.clearRect(0, 0, SIZE, SIZE);
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(name);
    drawGrid(context, colour("--line"));
    if (this.sample) drawSample(context, this.sample, colour("--ink"));
    for (const stroke of this.strokes) drawStroke(context, stroke, colour("--ink"));
    if (this.usesKeys) drawCursor(context, this.cursor, this.penIsDown, colour("--accent"));
  }
}

function drawGrid(context, colour) {
  context.beginPath();
  for (let at = BLOCK; at < SIZE; at += BLOCK) {
    context.moveTo(at, 0);
    context.lineTo(at, SIZE);
    context.moveTo(0, at);
    context.lineTo(SIZE, at);
  }
  Object.assign(context, { lineWidth: 0.06, strokeStyle: colour });
  context.stroke();
}

function drawSample(context, pixels, colour) {
  context.fillStyle = colour;
  pixels.forEach((value, pixel) => {
    context.globalAlpha = value / (BLOCK * BLOCK);
    context.fillRect((pixel % SIDE) * BLOCK, Math.floor(pixel / SIDE) * BLOCK, BLOCK, BLOCK);
  });
  context.globalAlpha = 1;
}

function drawStroke(context, stroke, colour) {
  context.beginPath();
  context.moveTo(...stroke[0]);
  for (const point of stroke) context.lineTo(...point);
  Object.assign(context, { lineWidth: PEN, lineCap: "round", lineJoin: "round", strokeStyle: colour });
  context.stroke();
}

function drawCursor(context, [x, y], filled, colour) {
  context.beginPath();
  context.arc(x, y, PEN / 2 - 0.4, 0, 2 * Math.PI);
  Object.assign(context, { lineWidth: 0.6, strokeStyle: colour, fillStyle: colour });
  context.stroke();
  if (filled) context.fill();
}
