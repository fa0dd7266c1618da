// Explore: an item or a vector is searched for as soon as it is chosen or pasted. Texts of items reach the page as text
// alone, never as markup.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const about = JSON.parse(document.getElementById("about").textContent);
  const at = (id) => document.getElementById(id);
  const [item, list, k, radius, vector] = ["item", "suggestions", "k", "radius", "vector"].map(at);
  const [status, answers] = [at("status"), at("answers")];
  const grouped = (number) => number.toLocaleString("en");
  const codes = (number) => `${grouped(number)} ${number === 1 ? "code" : "codes"}`;

  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  const drawn = (name, attributes, ...children) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const debounced = (milliseconds, action) => {
    let timer;
    const later = () => { clearTimeout(timer); timer = setTimeout(action, milliseconds); };
    later.cancel = () => clearTimeout(timer);
    return later;
  };
  const ask = async (name, request) => {
    let response;
    try {
      response = await fetch(name, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request),
      });
    } catch {
      throw new Error("The server does not answer: start proxcode explore again and open its new address.");
    }
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  };

  // One code: its words, its picture and its bits.
  const named = (one) => (one.id !== undefined ? `id ${one.id}` : one.row !== undefined ? `row ${grouped(one.row)}` : "pasted vector");
  const titled = (one) => (one.cells && one.cells[0]) || named(one);
  const bitsOf = (digits) => {
    const bits = [];
    for (let place = 0; place < about.bits; place += 1) {
      bits.push((parseInt(digits.substr(2 * (place >> 3), 2), 16) >> (7 - (place & 7))) & 1);
    }
    return bits;
  };
  const PER_LINE = 128, CELL = 6, LINE = 26;
  const barcode = (digits, queryDigits) => {
    const bits = bitsOf(digits), query = bitsOf(queryDigits);
    const paths = { same: "", differs: "" }, differing = [];
    bits.forEach((bit, place) => {
      const x = (place % PER_LINE) * CELL, floor = Math.floor(place / PER_LINE) * LINE + 24;
      const differs = bit !== query[place];
      if (differs) differing.push(place + 1);
      const height = bit ? 17 : 4;
      paths[differs ? "differs" : "same"] += `M${x} ${floor - height}h4v${height}h-4z`;
      if (differs) paths.differs += `M${x} ${floor - 24}h4v4h-4z`;
    });
    const words = digits === queryDigits
      ? `${about.bits} bits, those of the query`
      : `${differing.length} of ${about.bits} bits differ from the query: ${differing.join(", ")}`;
    const width = Math.min(about.bits, PER_LINE) * CELL - 2;
    const svg = drawn("svg", {
      viewBox: `0 0 ${width} ${Math.ceil(about.bits / PER_LINE) * LINE - 2}`, class: "barcode", role: "img", "aria-label": words, "data-tip": words,
    });
    for (const [name, path] of Object.entries(paths)) if (path) svg.append(drawn("path", { d: path, class: name }));
    return svg;
  };
  const card = (one, queryDigits) => {
    const others = element("div", { class: "others" });
    if (one.cells && one.cells[0]) others.append(element("span", {}, named(one)));
    if (one.label) others.append(element("span", {}, `label ${one.label}`));
    (one.cells || []).slice(1).forEach((cell, number) => {
      if (cell) others.append(element("span", {}, `${about.columns[number + 1]}: ${cell}`));
    });
    const words = element("div", { class: "words" }, element("div", { class: "title" }, titled(one)), others);
    const made = element("div", { class: "code-card" });
    if (one.image) made.append(element("img", { class: "thumb", src: one.image, alt: `Picture of ${named(one)}` }));
    made.append(words, barcode(one.bits, queryDigits));
    return made;
  };

  // The answer: the query, the number of codes at each distance, and the neighbours.
  let shown = null;
  const within = (limit) => shown.counts.slice(0, limit + 1).reduce((sum, count) => sum + count, 0);
  const histogram = (limit) => {
    const width = 560, height = 150, floor = 118, left = 8, step = (width - 2 * left) / (about.bits + 1);
    const most = Math.log1p(Math.max(...shown.counts, 1));
    const nearWords = `${codes(within(limit))} within distance ${limit}`;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img",
      "aria-label": `Number of codes at each distance from the query: ${nearWords} of ${grouped(about.codes)}.` });
    shown.counts.forEach((count, distance) => {
      if (!count) return;
      const size = Math.max(2, (Math.log1p(count) / most) * (floor - 24));
      svg.append(drawn("rect", { x: left + distance * step + step * 0.1, y: floor - size, width: step * 0.8, height: size,
        class: distance <= limit ? "within" : "beyond", "data-tip": `${codes(count)} at distance ${distance}` }));
    });
    const line = left + (limit + 1) * step;
    svg.append(drawn("line", { x1: left, x2: width - left, y1: floor, y2: floor, class: "axis" }));
    svg.append(drawn("g", { class: "cursor" }, drawn("line", { x1: line, x2: line, y1: 8, y2: floor })));
    const isRight = limit > 0.55 * about.bits;
    svg.append(drawn("text", { x: line + (isRight ? -6 : 6), y: 18, "text-anchor": isRight ? "end" : "start" }, nearWords));
    const ticks = drawn("g", { class: "ticks" });
    const every = Math.max(1, Math.ceil(about.bits / 8));
    for (let distance = 0; distance <= about.bits; distance += every) {
      ticks.append(drawn("text", { x: left + (distance + 0.5) * step, y: floor + 20, "text-anchor": "middle" }, String(distance)));
    }
    svg.append(ticks);
    return element("figure", {}, svg, element("figcaption", {}, "Codes by Hamming distance from the query; heights are logarithmic."));
  };
  const divide = () => {
    const limit = Number(radius.value);
    at("radius-value").textContent = String(limit);
    if (!shown) return;
    at("histogram").replaceChildren(histogram(limit));
    let isFirst = true;
    for (const entry of at("neighbors").children) {
      const isBeyond = Number(entry.dataset.distance) > limit;
      entry.classList.toggle("beyond", isBeyond);
      entry.classList.toggle("first-beyond", isBeyond && isFirst && entry !== at("neighbors").firstElementChild);
      if (isBeyond) isFirst = false;
      entry.querySelector(".mark").textContent = isBeyond ? "beyond" : "near";
    }
  };
  const neighbor = (one, number) => {
    const place = element("div", { class: "place" },
      element("b", {}, `${number + 1}.`), element("small", {}, `distance ${one.distance}`), element("span", { class: "mark" }));
    const again = element("button", { type: "button", class: "again", "aria-label": `Search this: ${titled(one)}` }, "Search this");
    // The button is about to be replaced: without this the focus would fall back to the beginning of the page.
    again.addEventListener("click", () => { at("query").focus({ preventScroll: true }); choose(one); });
    place.append(again);
    return element("li", { "data-distance": one.distance }, place, card(one, shown.query.bits));
  };
  const show = (answer) => {
    shown = answer;
    const nNear = within(about.radius);
    status.textContent = `${grouped(answer.neighbors.length)} nearest of ${codes(about.codes)}, found in ${answer.milliseconds} ms. `
      + `${codes(nNear)} ${nNear === 1 ? "is" : "are"} within the learned radius ${about.radius}.`;
    status.classList.remove("wrong");
    at("query").replaceChildren(element("div", { class: "kind" }, "Query"), card(answer.query, answer.query.bits));
    at("neighbors").replaceChildren(...answer.neighbors.map(neighbor));
    divide();
  };

  // A search, and the answer to the latest one alone.
  let asked = null, number = 0;
  const search = async (query) => {
    asked = query;
    const own = (number += 1);
    try {
      const count = Number(k.value);
      if (!Number.isInteger(count) || count < 1 || count > about["largest k"]) {
        throw new Error(`Neighbours: expected a number from 1 to ${grouped(about["largest k"])}.`);
      }
      const answer = await ask("search", { ...query, k: count });
      if (own !== number) return;
      show(answer);
      answers.classList.remove("stale");
    } catch (error) {
      if (own !== number) return;
      status.textContent = error.message.charAt(0).toUpperCase() + error.message.slice(1);
      status.classList.add("wrong");
      answers.classList.toggle("stale", shown !== null);
    }
  };
  const choose = (one) => {
    item.value = titled(one);
    close();
    if (location.hash === `#row=${one.row}`) search({ row: one.row });
    else location.hash = `row=${one.row}`;
    at("search").scrollIntoView({ block: "start" });
  };
  const fromAddress = () => {
    const row = /^#row=(\d{1,15})$/.exec(location.hash);
    if (row) search({ row: Number(row[1]) });
    return row !== null;
  };

  // Suggestions: arrow keys, Enter and Escape, as in a list box.
  let offered = [], offeredFor = null, active = -1, typed = 0;
  const close = () => {
    typed += 1;
    suggestSoon.cancel();
    list.hidden = true;
    active = -1;
    item.setAttribute("aria-expanded", "false");
    item.removeAttribute("aria-activedescendant");
  };
  const activate = (place) => {
    active = place;
    [...list.children].forEach((entry, other) => entry.setAttribute("aria-selected", String(other === place)));
    item.setAttribute("aria-activedescendant", `suggestion-${place}`);
    list.children[place].scrollIntoView({ block: "nearest" });
  };
  const suggest = async () => {
    const own = (typed += 1), text = item.value;
    suggestSoon.cancel();
    try {
      const answer = await ask("suggest", { text, limit: 10 });
      if (own !== typed) return;
      [offered, offeredFor] = [answer.suggestions, text];
      active = -1;
      list.replaceChildren(...offered.map((one, place) => {
        const entry = element("li", { id: `suggestion-${place}`, role: "option", "aria-selected": "false" },
          element("span", {}, titled(one)), element("span", {}, one.cells ? named(one) : one.label ? `label ${one.label}` : ""));
        entry.addEventListener("pointerdown", (event) => { event.preventDefault(); choose(one); });
        return entry;
      }));
      if (!offered.length) list.append(element("li", { class: "none", role: "option", "aria-disabled": "true" }, "No such item"));
      list.hidden = false;
      item.setAttribute("aria-expanded", "true");
      item.removeAttribute("aria-activedescendant");
    } catch (error) {
      status.textContent = error.message;
      status.classList.add("wrong");
    }
  };
  const suggestSoon = debounced(60, suggest);
  item.addEventListener("input", suggestSoon);
  item.addEventListener("blur", close);
  item.addEventListener("keydown", async (event) => {
    if (event.key === "Escape") { close(); return; }
    if (event.key === "Enter") {
      event.preventDefault();
      if (list.hidden || offeredFor !== item.value) await suggest();
      // After an error, or an Escape in between, the list is that of another text.
      if (offeredFor === item.value && offered.length) choose(offered[Math.max(active, 0)]);
      return;
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    if (list.hidden) { await suggest(); if (!list.hidden && offered.length) activate(0); return; }
    if (!offered.length) return;
    const step = event.key === "ArrowDown" ? 1 : -1;
    activate(active < 0 ? (step > 0 ? 0 : offered.length - 1) : (active + step + offered.length) % offered.length);
  });

  const byVector = () => { if (vector.value.trim()) search({ vector: vector.value }); };
  // There is no such box where the model takes texts.
  if (vector) {
    vector.addEventListener("input", debounced(250, byVector));
    at("by-vector").addEventListener("click", byVector);
  }
  at("search-form").addEventListener("submit", (event) => event.preventDefault());
  radius.addEventListener("input", divide);
  k.addEventListener("change", () => { if (asked) search(asked); });
  const start = () => { if (!fromAddress() && location.hash === "") search({ row: 0 }); };
  addEventListener("hashchange", start);
  start();
})();
