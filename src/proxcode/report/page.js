"use strict";
// Tooltips of marks: any element with data-tip.
(() => {
  const tip = document.getElementById("tip");
  const show = (words, event) => {
    tip.textContent = words;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 12, innerWidth - width - 8);
    const y = event.clientY + 16 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 16;
    tip.style.left = `${Math.max(4, x)}px`;
    tip.style.top = `${Math.max(4, y)}px`;
  };
  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    if (mark) show(mark.dataset.tip, event);
    else tip.hidden = true;
  });
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
})();
// Sliders: row k of a table is what holds at value k.
for (const reader of document.querySelectorAll("[data-reads]")) {
  const rows = document.getElementById(reader.dataset.reads).tBodies[0].rows;
  const slider = reader.querySelector("input");
  const cursor = document.getElementById(reader.dataset.cursor);
  const update = () => {
    const cells = rows[Number(slider.value)].cells;
    for (const place of reader.querySelectorAll("[data-cell]")) {
      place.textContent = cells[Number(place.dataset.cell)].textContent;
    }
    for (const row of rows) row.removeAttribute("aria-current");
    rows[Number(slider.value)].setAttribute("aria-current", "true");
    cursor.setAttribute("transform", `translate(${(Number(slider.value) * Number(cursor.dataset.step)).toFixed(2)} 0)`);
    slider.setAttribute("aria-valuetext", reader.querySelector("output").innerText.replace(/\s+/g, " "));
  };
  slider.addEventListener("input", update);
  update();
}
// Maps: points are coloured by a label, by one label against the others, or by a bit.
for (const map of document.querySelectorAll(".map[data-map]")) {
  const points = [...map.querySelectorAll(".points circle")];
  const known = JSON.parse(document.getElementById(map.dataset.map).textContent);
  const select = map.querySelector("select");
  const legend = map.querySelector(".legend");
  const SVG = "http://www.w3.org/2000/svg";
  const entry = (words, name) => {
    const item = document.createElement("li");
    const key = document.createElementNS(SVG, "svg");
    key.setAttribute("viewBox", "0 0 22 14");
    key.setAttribute("class", "key");
    key.setAttribute("aria-hidden", "true");
    const dot = document.createElementNS(SVG, "circle");
    for (const [attribute, value] of [["cx", 11], ["cy", 7], ["r", 5.5], ["class", `dot ${name}`]]) dot.setAttribute(attribute, value);
    key.append(dot);
    item.append(key, words);
    return item;
  };
  const colour = () => {
    const [kind, number] = select.value.split(":");
    let names;
    if (kind === "bit") {
      const at = Number(number);
      names = known.bits.map((digits) => ((parseInt(digits[at >> 2], 16) >> (3 - (at & 3))) & 1 ? "on" : "off"));
      legend.replaceChildren(entry(`bit ${at + 1} is 1`, "on"), entry(`bit ${at + 1} is 0`, "off"));
    } else if (kind === "one") {
      const at = Number(number);
      names = known.sets.map((set) => (set.includes(at) ? "on" : "off"));
      legend.replaceChildren(entry(known.names[at], "on"), entry("all others", "off"));
    } else {
      names = known.sets.map((set) => (set.length && set[0] < known.coloured ? `s${set[0]}` : "off"));
      const entries = known.names.slice(0, known.coloured).map((name, at) => entry(name, `s${at}`));
      if (names.includes("off")) entries.push(entry("all others", "off"));
      legend.replaceChildren(...entries);
    }
    points.forEach((point, at) => point.setAttribute("class", names[at]));
  };
  select.addEventListener("change", colour);
  colour();
}
// Heat maps: the values below the pointer.
for (const heat of document.querySelectorAll("[data-heat]")) {
  const { values, first } = JSON.parse(document.getElementById(heat.dataset.heat).textContent);
  heat.addEventListener("pointermove", (event) => {
    const box = heat.getBoundingClientRect();
    const at = (share) => Math.max(0, Math.min(values.length - 1, Math.floor(share * values.length)));
    const column = at((event.clientX - box.left) / box.width), row = at((event.clientY - box.top) / box.height);
    heat.dataset.tip = `${first[row]} and ${first[column]}: ${(values[row][column] / 100).toFixed(2)}`;
  });
}
