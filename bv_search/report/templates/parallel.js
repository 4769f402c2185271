// Heads as lines, from what each was drawn as to what it scored. A part of an axis that is dragged over is kept.
// Lines are drawn on a canvas, so that thousands are quick; axes are elements, so that keys reach them.
"use strict";

(() => {
  const { COLOURS, clamp, make, scaleOf, whenSized } = window.plots;
  const AT_ONCE = 600; // lines of a frame: a brush that moves need not wait for all of them
  const NEAR = 11; // pixels, from which a line is pointed at
  const MISSING = -0.09; // where on an axis heads stand that have no value there
  const GAP = 64; // pixels from an axis to the next, at least

  window.drawParallel = (figure, heads) => {
    const { data, column, count, group, shown, point } = heads;
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
    let coming = 0; // the frame in which lines are gone on with

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
      const last = place === axes.length - 1;  // its title may be longer than the margin
      const name = make("text", { x: last ? wide - 2 : x, y: place % 2 ? 14 : 30, "text-anchor": last ? "end" : "middle", class: "halo" }, axis.title);
      const found = make("g", {}, name, make("line", { class: "axis", x1: x, x2: x, y1: top, y2: bottom }));
      const least = 13 / (bottom - top);
      let before = -Infinity;
      for (const tick of axis.ticks) {
        if (tick.at - before < least) continue;
        before = tick.at;
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

    // A quarter of the axis, or one of its levels, up and down; with Shift it grows and shrinks.
    function nudge(axis, event) {
      const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (event.key === "Escape") return brushTo(axis, null);
      if (!way) return undefined;
      event.preventDefault();
      const step = axis.levels ? 1 / Math.max(1, axis.levels.length - 1) : 1 / 8;
      const width = axis.levels ? Math.min(step, 0.1) : 1 / 4;
      const edge = axis.levels ? -width / 2 : 0;
      if (!axis.brush) return brushTo(axis, way > 0 ? [edge, edge + width] : [1 - edge - width, 1 - edge]);
      const [low, high] = axis.brush;
      const by = way * step;
      return brushTo(axis, event.shiftKey ? [low, Math.max(low + width, high + by)] : [low + by, high + by]);
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
      heads.show();
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
      const rows = Array.from(shown.keys());
      const order = [...rows.filter((row) => shown[row]), ...rows.filter((row) => !shown[row])];
      const left = shown.reduce((sum, each) => sum + each, 0);
      const faint = style.getPropertyValue("--line");
      const paint = (row) => {
        context.globalCompositeOperation = shown[row] ? "source-over" : "destination-over"; // behind what is kept
        context.strokeStyle = shown[row] ? colours[group.values[row] % COLOURS] : faint;
        context.globalAlpha = shown[row] ? clamp(60 / left, 0.12, 0.85) : clamp(200 / count, 0.15, 0.8);
        trace(context, row);
      };
      context.clearRect(0, 0, wide, height);
      context.lineWidth = 1.2;
      cancelAnimationFrame(coming);
      const paintSome = () => {
        for (const row of order.splice(0, AT_ONCE)) paint(row);
        if (order.length) coming = requestAnimationFrame(paintSome);
      };
      paintSome();
    }

    function mark() {
      if (!above) return;
      const context = above.getContext("2d");
      context.clearRect(0, 0, wide, height);
      if (heads.active === null || !shown[heads.active]) return;
      context.lineWidth = 3;
      context.strokeStyle = getComputedStyle(plot).getPropertyValue("--ink");
      trace(context, heads.active);
    }

    function nearest(event) {
      const { left, top: up } = plot.getBoundingClientRect();
      const x = event.clientX - left, y = event.clientY - up;
      const width = toX(1) - toX(0);
      const place = clamp(Math.floor((x - toX(0)) / width), 0, axes.length - 2);
      if (axes.length < 2) return null;
      const part = clamp((x - toX(place)) / width, 0, 1);
      let best = null, least = NEAR;
      for (let row = 0; row < count; row++) {
        if (!shown[row]) continue;
        const from = axes[place].at[row], to = axes[place + 1].at[row];
        const away = Math.abs(toY(from + part * (to - from)) - y);
        if (away < least) [best, least] = [row, away];
      }
      return best;
    }

    heads.clear.addEventListener("click", () => {
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
    heads.views.push({ show: drawLines, mark });
    whenSized(frame, draw);
  };
})();
