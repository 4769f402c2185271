// Heads, shown three times: as points, as lines over the axes of what they were drawn as, and as rows of a table.
// What is brushed away on an axis leaves all three; what is pointed at in one is marked in all.
//
// The data stands in the page as JSON: {"noun", "ids", "columns": [{"key", "title", "scale", "values", "levels"?}],
// "axes": [key], "x": [key], "y": [key], "group": key, "intervals": {key: [[low, high]]}, "rungs": [{"title", key: y}]}.
// A value is a number, or of a scale "levels" the place of its level; null where a head has none.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("linked").textContent);
  const column = Object.fromEntries(data.columns.map((each) => [each.key, each]));
  const count = data.ids.length;
  const group = column[data.group];
  const shown = new Uint8Array(count).fill(1);
  const views = []; // each with show() after a brush, and mark() after a move
  let active = null; // the head that is pointed at

  const COLOURS = 7;
  const SHAPES = [
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0",
    "M-4-4h8v8h-8z",
    "M0-5.2L5 4H-5z",
    "M0-5.6L5.6 0L0 5.6L-5.6 0z",
  ];
  const FEW = 60; // heads, up to which each has its interval drawn
  const NEAR = 22; // pixels, from which a point or a line is pointed at

  const colourOf = (row) => group.values[row] % COLOURS;
  const shapeOf = (place) => SHAPES[place % SHAPES.length];
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

  // ---- numbers and scales -------------------------------------------------------------------------------

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

  // ---- elements -----------------------------------------------------------------------------------------

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

  // ---- what is shown, and what is pointed at ------------------------------------------------------------

  const status = document.getElementById("linked-status");
  const clear = document.getElementById("linked-clear");
  const tip = make("div", { class: "tip", hidden: "" });
  document.body.append(tip);

  function show() {
    for (const view of views) view.show();
    const left = shown.reduce((sum, each) => sum + each, 0);
    status.textContent = left < count ? `${left} of ${count} ${data.noun}` : `all ${count} ${data.noun}`;
    clear.disabled = left === count;
  }

  function point(row, event) {
    if (row !== active) {
      active = row;
      for (const view of views) view.mark();
      if (row !== null) tip.replaceChildren(...about(row));
    }
    tip.hidden = row === null || !event;
    if (!tip.hidden) placeTip(event.clientX, event.clientY);
  }

  function about(row) {
    const lines = data.columns
      .filter(({ values }) => values[row] !== null)
      .map((each) => make("div", {}, `${each.title}: ${textOf(each, row)}${intervalText(each, row)}`));
    return [make("b", {}, data.ids[row]), ...lines];
  }

  function intervalText({ key }, row) {
    const pair = data.intervals[key]?.[row];
    return pair ? ` [${brief(pair[0])}, ${brief(pair[1])}]` : "";
  }

  function placeTip(x, y) {
    const { width, height } = tip.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
    tip.style.left = `${clamp(left, 4, Math.max(4, innerWidth - width - 4))}px`;
    tip.style.top = `${clamp(y + 14, 4, Math.max(4, innerHeight - height - 4))}px`;
  }

  // ---- the scatter --------------------------------------------------------------------------------------

  function scatter(figure) {
    const plot = make("div", { class: "plot" });
    const [pickX, pickY] = ["x", "y"].map((axis) => picker(axis, figure, () => draw(plot.clientWidth)));
    figure.querySelector("svg")?.remove();
    figure.prepend(plot, key());
    let places = []; // of points, in pixels
    let points = [], whiskers = [], ring = null, svg = null;

    const within = ({ key, values }) => [...values, ...(data.intervals[key] ?? []).flat()];
    const rungsOf = (y) => data.rungs.filter((rung) => rung[y.key] !== undefined && rung[y.key] !== null);

    function draw(width) {
      const height = clamp(width * 0.6, 260, 420);
      const box = { left: 52, right: width - 12, top: 12, bottom: height - 44 };
      const x = column[pickX.value], y = column[pickY.value];
      const alongX = scaleOf(x), alongY = scaleOf(y, count <= FEW ? within(y) : rungsOf(y).map((rung) => rung[y.key]));
      const toX = (value) => box.left + alongX.at(value) * (box.right - box.left);
      const toY = (value) => box.bottom - alongY.at(value) * (box.bottom - box.top);
      svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0, role: "img", "aria-label": `${y.title} against ${x.title} of ${count} ${data.noun}; the arrow keys go from one to the next` });
      drawAxes(svg, box, x, y, alongX.ticks, alongY.ticks);
      drawRungs(svg, box, rungsOf(y), y.key, toY);
      places = data.ids.map((_, row) => x.values[row] === null || y.values[row] === null ? null : [toX(x.values[row]), toY(y.values[row])]);
      whiskers = places.map((place, row) => {
        const pair = count <= FEW && data.intervals[y.key]?.[row];
        return place && pair ? make("path", { class: `whisker g${colourOf(row)}`, d: `M${place[0]} ${toY(pair[0])}V${toY(pair[1])}` }) : null;
      });
      points = places.map((place, row) => place && make("path", { class: `point g${colourOf(row)}`, d: shapeOf(group.values[row]), transform: `translate(${place})` }));
      ring = make("path", { class: "ring", d: SHAPES[0], visibility: "hidden" });
      svg.append(...whiskers.filter(Boolean), ...points.filter(Boolean), ring);
      plot.replaceChildren(svg);
      svg.addEventListener("pointermove", (event) => point(nearest(event), event));
      svg.addEventListener("pointerdown", (event) => point(nearest(event), event));
      svg.addEventListener("pointerleave", () => point(null));
      svg.addEventListener("blur", () => point(null));
      svg.addEventListener("keydown", step);
      showPoints();
      mark();
    }

    function nearest(event) {
      const { left, top } = svg.getBoundingClientRect();
      let best = null, least = NEAR ** 2;
      places.forEach((place, row) => {
        if (!place || !shown[row]) return;
        const away = (place[0] - event.clientX + left) ** 2 + (place[1] - event.clientY + top) ** 2;
        if (away < least) [best, least] = [row, away];
      });
      return best;
    }

    function step(event) {
      const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") return point(null);
      if (!way) return undefined;
      event.preventDefault();
      const rows = data.ids.map((_, row) => row).filter((row) => places[row] && shown[row]);
      rows.sort((a, b) => places[a][0] - places[b][0] || places[a][1] - places[b][1]);
      if (!rows.length) return undefined;
      const at = rows.indexOf(active);
      const row = rows[at < 0 ? (way > 0 ? 0 : rows.length - 1) : (at + way + rows.length) % rows.length];
      const { left, top } = svg.getBoundingClientRect();
      point(row, { clientX: left + places[row][0], clientY: top + places[row][1] });
      status.textContent = tip.textContent && Array.from(tip.children, (each) => each.textContent).join(", ");
      return undefined;
    }

    function showPoints() {
      points.forEach((each, row) => {
        each?.classList.toggle("out", !shown[row]);
        whiskers[row]?.classList.toggle("out", !shown[row]);
      });
    }

    function mark() {
      const place = active === null ? null : places[active];
      ring?.setAttribute("visibility", place && shown[active] ? "visible" : "hidden");
      if (place) ring?.setAttribute("transform", `translate(${place}) scale(1.7)`);
    }

    views.push({ show: showPoints, mark });
    whenSized(plot, draw);
  }

  function picker(axis, figure, change) {
    const select = make("select", { id: `linked-${axis}` });
    for (const each of data[axis]) select.append(make("option", { value: each }, column[each].title));
    select.addEventListener("change", change);
    const label = make("label", {}, axis === "y" ? "up: " : "across: ", select);
    figure.parentElement.querySelector(".axes").append(label);
    return select;
  }

  function key() {
    const items = group.levels.map((name, place) => {
      const shape = make("path", { d: shapeOf(place) });
      return make("li", { class: `g${place % COLOURS}` }, make("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" }, shape), ` ${name}`);
    });
    return make("ul", { class: "key", "aria-label": group.title }, ...items);
  }

  function drawAxes(svg, box, x, y, ticksX, ticksY) {
    for (const { at, text } of ticksY) {
      const height = box.bottom - at * (box.bottom - box.top);
      svg.append(make("line", { class: "grid", x1: box.left, x2: box.right, y1: height, y2: height }));
      svg.append(make("text", { x: box.left - 6, y: height + 4, "text-anchor": "end" }, text));
    }
    const least = 44; // pixels between the letters of two ticks
    let last = -Infinity;
    for (const { at, text } of ticksX) {
      const place = box.left + at * (box.right - box.left);
      svg.append(make("line", { class: "grid", x1: place, x2: place, y1: box.top, y2: box.bottom }));
      if (place - last < least) continue;
      svg.append(make("text", { x: place, y: box.bottom + 16, "text-anchor": "middle" }, text));
      last = place;
    }
    svg.append(make("text", { x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle" }, x.title));
    svg.append(make("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)` }, y.title));
  }

  function drawRungs(svg, box, rungs, key, toY) {
    for (const rung of rungs) {
      const height = toY(rung[key]);
      svg.append(make("line", { class: "rung", x1: box.left, x2: box.right, y1: height, y2: height }));
      svg.append(make("text", { class: "halo", x: box.right - 4, y: height - 4, "text-anchor": "end" }, rung.title));
    }
  }

  // ---- parallel coordinates -----------------------------------------------------------------------------

  const MISSING = -0.09; // where on an axis heads stand that have no value there
  const GAP = 72; // pixels from an axis to the next, at least

  function parallel(figure) {
    const plot = make("div", { class: "plot" });
    const frame = make("div", { class: "scroll", role: "group", "aria-label": "parallel coordinates" }, plot);
    figure.prepend(frame);
    const axes = data.axes.map((name) => {
      const own = column[name], scale = scaleOf(own);
      const at = Float32Array.from(own.values, (value) => value === null ? MISSING : scale.at(value));
      return { ...own, ticks: scale.ticks, at, brush: null };
    });
    const height = 320, top = 48, bottom = 270;
    const toY = (at) => bottom - at * (bottom - top);
    let below = null, above = null, toX = null, wide = 0;

    function draw(width) {
      wide = Math.max(width, 60 + GAP * (axes.length - 1) + 60);
      toX = (place) => axes.length > 1 ? 50 + place * (wide - 110) / (axes.length - 1) : wide / 2;
      [below, above] = [canvas(), canvas()];
      const svg = make("svg", { viewBox: `0 0 ${wide} ${height}`, width: wide, height, style: `width: ${wide}px; position: relative` });
      plot.style.width = `${wide}px`;
      axes.forEach((axis, place) => svg.append(drawAxis(axis, toX(place), place)));
      svg.addEventListener("pointermove", (event) => event.buttons || point(nearest(event), event));
      svg.addEventListener("pointerleave", () => point(null));
      plot.replaceChildren(below, above, svg);
      drawLines();
      mark();
    }

    function canvas() {
      const sharp = devicePixelRatio || 1;
      const found = make("canvas", { width: Math.round(wide * sharp), height: Math.round(height * sharp), style: `width: ${wide}px; height: ${height}px`, "aria-hidden": "true" });
      found.getContext("2d").scale(sharp, sharp);
      return found;
    }

    function drawAxis(axis, x, place) {
      const range = make("rect", { class: "brush", x: x - 7, width: 14, y: 0, height: 0, visibility: "hidden" });
      const reach = { x: x - 18, width: 36, y: top - 8, height: bottom - top + 16 + 32 };
      const grip = make("rect", { class: "catch", ...reach, tabindex: 0, role: "slider", "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": `${axis.title}: drag, or use the arrow keys, to keep a part; Escape keeps all` });
      axis.draw = () => drawBrush(axis, range, grip);
      grip.addEventListener("pointerdown", (event) => drag(axis, grip, event));
      grip.addEventListener("keydown", (event) => nudge(axis, event));
      const name = make("text", { x, y: place % 2 ? 14 : 30, "text-anchor": "middle", class: "halo" }, axis.title);
      const found = make("g", {}, name, make("line", { class: "axis", x1: x, x2: x, y1: top, y2: bottom }));
      const least = 13 / (bottom - top);
      let last = -Infinity;
      for (const tick of axis.ticks) {
        if (tick.at - last < least) continue;
        last = tick.at;
        const text = tick.text.length > 12 ? `${tick.text.slice(0, 11)}…` : tick.text;
        found.append(make("text", { class: "halo", x: x + 5, y: toY(tick.at) + 4 }, text));
      }
      if (axis.values.includes(null)) found.append(make("text", { class: "halo", x: x + 5, y: toY(MISSING) + 4 }, "none"));
      found.append(range, grip);
      axis.draw();
      return found;
    }

    function drawBrush({ brush, ticks }, range, grip) {
      range.setAttribute("visibility", brush ? "visible" : "hidden");
      const [low, high] = brush ?? [0, 1];
      range.setAttribute("y", toY(high));
      range.setAttribute("height", Math.max(2, toY(low) - toY(high)));
      grip.setAttribute("aria-valuenow", Math.round(50 * (low + high)));
      const kept = ticks.filter(({ at }) => at >= low && at <= high).map(({ text }) => text);
      grip.setAttribute("aria-valuetext", brush ? `keeps ${kept.join(", ") || "a part"}` : "keeps all");
    }

    function drag(axis, grip, event) {
      event.preventDefault();
      grip.focus();
      grip.setPointerCapture(event.pointerId);
      const placeOf = ({ clientY }) => (bottom - (clientY - plot.getBoundingClientRect().top)) / (bottom - top);
      const start = placeOf(event);
      const move = (now) => {
        const end = clamp(placeOf(now), MISSING - 0.05, 1.03);
        brushTo(axis, Math.abs(end - start) < 0.02 ? null : [Math.min(start, end), Math.max(start, end)]);
      };
      const stop = () => {
        grip.removeEventListener("pointermove", move);
        grip.removeEventListener("lostpointercapture", stop);
      };
      move(event); // a click alone keeps all
      grip.addEventListener("pointermove", move);
      grip.addEventListener("lostpointercapture", stop);
    }

    // A quarter of the axis, up and down; with Shift it grows and shrinks.
    function nudge(axis, event) {
      const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (event.key === "Escape") return brushTo(axis, null);
      if (!way) return undefined;
      event.preventDefault();
      const [low, high] = axis.brush ?? (way > 0 ? [-0.27, -0.02] : [1.02, 1.27]);
      const by = way / 8;
      return brushTo(axis, event.shiftKey ? [low, Math.max(low + 0.02, high + by)] : [low + by, high + by]);
    }

    let waiting = false;
    function brushTo(axis, range) {
      axis.brush = range;
      axis.draw();
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        filter();
      });
    }

    function filter() {
      const brushed = axes.filter(({ brush }) => brush);
      for (let row = 0; row < count; row++) {
        shown[row] = brushed.every(({ at, brush }) => at[row] >= brush[0] && at[row] <= brush[1]) ? 1 : 0;
      }
      show();
    }

    function trace(context, row) {
      context.beginPath();
      axes.forEach(({ at }, place) => context[place ? "lineTo" : "moveTo"](toX(place), toY(at[row])));
      context.stroke();
    }

    function drawLines() {
      if (!below) return;
      const context = below.getContext("2d");
      const style = getComputedStyle(plot);
      const colours = Array.from({ length: COLOURS }, (_, each) => style.getPropertyValue(`--c${each}`));
      context.clearRect(0, 0, wide, height);
      context.lineWidth = 1.2;
      context.strokeStyle = style.getPropertyValue("--line");
      context.globalAlpha = clamp(200 / count, 0.15, 0.8);
      for (let row = 0; row < count; row++) if (!shown[row]) trace(context, row);
      const left = shown.reduce((sum, each) => sum + each, 0);
      context.globalAlpha = clamp(60 / left, 0.12, 0.85);
      for (let row = 0; row < count; row++) {
        if (!shown[row]) continue;
        context.strokeStyle = colours[colourOf(row)];
        trace(context, row);
      }
    }

    function mark() {
      if (!above) return;
      const context = above.getContext("2d");
      context.clearRect(0, 0, wide, height);
      if (active === null || !shown[active]) return;
      context.lineWidth = 3;
      context.strokeStyle = getComputedStyle(plot).getPropertyValue("--ink");
      trace(context, active);
    }

    function nearest(event) {
      const { left, top: up } = plot.getBoundingClientRect();
      const x = event.clientX - left, y = event.clientY - up;
      const width = toX(1) - toX(0);
      const place = clamp(Math.floor((x - toX(0)) / width), 0, axes.length - 2);
      if (axes.length < 2) return null;
      const part = clamp((x - toX(place)) / width, 0, 1);
      let best = null, least = NEAR / 2;
      for (let row = 0; row < count; row++) {
        if (!shown[row]) continue;
        const from = axes[place].at[row], to = axes[place + 1].at[row];
        const away = Math.abs(toY(from + part * (to - from)) - y);
        if (away < least) [best, least] = [row, away];
      }
      return best;
    }

    clear.addEventListener("click", () => {
      for (const axis of axes) {
        axis.brush = null;
        axis.draw();
      }
      filter();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      drawLines();
      mark();
    });
    views.push({ show: drawLines, mark });
    whenSized(frame, draw);
  }

  // ---- the leaderboard ----------------------------------------------------------------------------------

  function board(table) {
    const place = new Map(data.ids.map((id, row) => [id, row]));
    const rows = Array.from({ length: count });
    const others = []; // of heads that have no place in the charts
    for (const line of table.tBodies[0].rows) {
      const row = place.get(line.dataset.head);
      if (row === undefined) others.push(line);
      else rows[row] = line;
    }
    const rowOf = (event) => place.get(event.target.closest("tr")?.dataset.head) ?? null;
    table.tBodies[0].addEventListener("pointerover", (event) => point(rowOf(event)));
    table.addEventListener("pointerleave", () => point(null));
    let last = null;
    views.push({
      show() {
        rows.forEach((line, row) => line.classList.toggle("out", !shown[row]));
        for (const line of others) line.classList.toggle("out", shown.includes(0));
      },
      mark() {
        rows[last]?.classList.remove("active");
        rows[active]?.classList.add("active");
        last = active;
      },
    });
  }

  document.documentElement.classList.add("linked");
  scatter(document.getElementById("linked-scatter"));
  parallel(document.getElementById("linked-parallel"));
  board(document.getElementById("linked-board"));
  show();
})();
