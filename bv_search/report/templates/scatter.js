// Heads as points: one measure against another, to be chosen; the dashed lines are rungs of the ladder.
"use strict";

(() => {
  const { COLOURS, SHAPES, clamp, make, scaleOf, whenSized } = window.plots;
  const FEW = 60; // heads, up to which each has its interval drawn
  const NEAR = 22; // pixels, from which a point is pointed at

  window.drawScatter = (figure, heads) => {
    const { data, column, count, group, shown, point } = heads;
    const colourOf = (row) => group.values[row] % COLOURS;
    const shapeOf = (place) => SHAPES[place % SHAPES.length];
    const plot = make("div", { class: "plot" });
    const [pickX, pickY] = ["x", "y"].map((axis) => picker(heads, axis, figure, () => draw(plot.clientWidth)));
    figure.querySelector("svg")?.remove();
    figure.prepend(plot, key(group));
    let places = []; // of points, in pixels
    let points = [], whiskers = [], ring = null, svg = null, toY = null;

    const rungsOf = ({ key }) => data.rungs.filter((rung) => rung[key] !== undefined && rung[key] !== null);
    const beside = (y) => [...rungsOf(y).map((rung) => rung[y.key]), ...(count <= FEW ? data.intervals[y.key] ?? [] : []).flat()];

    function draw(width) {
      const height = clamp(width * 0.6, 260, 420);
      const box = { left: 52, right: width - 12, top: 12, bottom: height - 44 };
      const x = column[pickX.value], y = column[pickY.value];
      const alongX = scaleOf(x), alongY = scaleOf(y, beside(y));
      const toX = (value) => box.left + alongX.at(value) * (box.right - box.left);
      toY = (value) => box.bottom - alongY.at(value) * (box.bottom - box.top);
      svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0, role: "group", "aria-label": `${y.title} against ${x.title} of ${count} ${data.noun}; the arrow keys go from one to the next` });
      drawAxes(svg, box, x, y, alongX.ticks, alongY.ticks);
      drawRungs(svg, box, rungsOf(y), y.key, toY);
      places = data.ids.map((_, row) => x.values[row] === null || y.values[row] === null ? null : [toX(x.values[row]), toY(y.values[row])]);
      whiskers = places.map((place, row) => {
        const pair = count <= FEW && data.intervals[y.key]?.[row];
        return place && pair ? make("path", { class: `whisker g${colourOf(row)}`, d: `M${place[0]} ${toY(pair[0])}V${toY(pair[1])}` }) : null;
      });
      points = places.map((place, row) => place && make("path", { class: `point g${colourOf(row)}`, d: shapeOf(group.values[row]), transform: `translate(${place})` }));
      ring = make("path", { class: "ring", visibility: "hidden" });
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
      const at = rows.indexOf(heads.active);
      const row = rows[at < 0 ? (way > 0 ? 0 : rows.length - 1) : (at + way + rows.length) % rows.length];
      const { left, top } = svg.getBoundingClientRect();
      point(row, { clientX: left + places[row][0], clientY: top + places[row][1] });
      heads.say(row);
      return undefined;
    }

    function showPoints() {
      points.forEach((each, row) => {
        each?.classList.toggle("out", !shown[row]);
        whiskers[row]?.classList.toggle("out", !shown[row]);
      });
    }

    function mark() {
      const row = heads.active;
      const place = row === null || !shown[row] ? null : places[row];
      ring?.setAttribute("visibility", place ? "visible" : "hidden");
      if (!place) return;
      const pair = data.intervals[pickY.value]?.[row];
      const [low, high] = pair ? pair.map(toY) : [place[1], place[1]];
      ring.setAttribute("d", `M${place[0]} ${low}V${high}M${place[0] - 8} ${place[1]}a8 8 0 1 0 16 0a8 8 0 1 0-16 0`);
    }

    heads.views.push({ show: showPoints, mark });
    whenSized(plot, draw);
  };

  function picker({ data, column }, axis, figure, change) {
    const select = make("select", { id: `linked-${axis}` });
    for (const each of data[axis]) select.append(make("option", { value: each }, column[each].title));
    select.addEventListener("change", change);
    const label = make("label", {}, axis === "y" ? "up: " : "across: ", select);
    figure.parentElement.querySelector(".axes").append(label);
    return select;
  }

  function key(group) {
    const items = group.levels.map((name, place) => {
      const shape = make("path", { d: SHAPES[place % SHAPES.length] });
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
    let last = -Infinity; // the height of the line above, from the top
    for (const rung of rungs.toSorted((a, b) => b[key] - a[key])) {
      const height = toY(rung[key]);
      const isClose = height - last < 14; // then its name stands below it, and that of the other above
      svg.append(make("line", { class: "rung", x1: box.left, x2: box.right, y1: height, y2: height }));
      svg.append(make("text", { class: "halo", x: box.right - 4, y: height + (isClose ? 13 : -4), "text-anchor": "end" }, rung.title));
      last = height;
    }
  }
})();
