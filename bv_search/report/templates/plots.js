// What charts are drawn with: numbers as words, scales and their ticks, elements, colours and shapes.
"use strict";

(() => {
  const COLOURS = 7;
  const SHAPES = [
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0",
    "M-4-4h8v8h-8z",
    "M0-5.2L5 4H-5z",
    "M0-5.6L5.6 0L0 5.6L-5.6 0z",
  ];

  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

  function brief(value) {
    const size = Math.abs(value);
    if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)} M`;
    if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)} k`;
    return String(+value.toPrecision(4));
  }

  function textOf({ scale, levels, values }, row) {
    const value = values[row];
    if (value === null) return "–";
    if (scale === "levels") return levels[value];
    return Number.isInteger(value) ? value.toLocaleString("en") : String(+value.toPrecision(4));
  }

  // Where values stand between 0 and 1, and the ticks beside them.
  function scaleOf({ scale, values, levels }, extra = []) {
    if (scale === "levels") {
      const at = (value) => levels.length > 1 ? value / (levels.length - 1) : 0.5;
      return { at, ticks: levels.map((text, place) => ({ at: at(place), text })) };
    }
    const bent = scale === "log" ? Math.log10 : (value) => value;
    let low = Infinity, high = -Infinity;
    for (const value of [...values, ...extra]) {
      if (value === null || value === undefined) continue;
      low = Math.min(low, bent(value));
      high = Math.max(high, bent(value));
    }
    const room = (high - low || Math.abs(high) || 1) * 0.04;
    low -= room;
    high += room;
    const at = (value) => (bent(value) - low) / (high - low);
    const ticks = (scale === "log" ? decades(low, high) : steps(low, high)).map((value) => ({ at: at(value), text: brief(value) }));
    return { at, ticks };
  }

  function steps(low, high, most = 5) {
    const raw = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((each) => each * power >= raw);
    const found = [];
    for (let place = Math.ceil(low / step); place * step <= high; place++) found.push(place * step);
    return found;
  }

  function decades(low, high) {
    const kinds = high - low > 3 ? [1] : [1, 2, 5];
    const found = [];
    for (let power = Math.floor(low); power <= high; power++) {
      for (const kind of kinds) {
        const place = power + Math.log10(kind);
        if (place >= low && place <= high) found.push(kind * 10 ** power);
      }
    }
    return found;
  }

  function make(name, attributes = {}, ...children) {
    const drawn = ["svg", "g", "path", "line", "rect", "text", "title"].includes(name);
    const found = drawn ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    found.append(...children);
    return found;
  }

  // A part of the page that is drawn when it is first seen, and again when its width changes.
  function whenSized(element, draw) {
    let width = 0;
    new ResizeObserver(() => {
      const now = Math.floor(element.clientWidth);
      if (now && now !== width) draw((width = now));
    }).observe(element);
  }

  window.plots = { COLOURS, SHAPES, brief, clamp, make, scaleOf, textOf, whenSized };
})();
