// Heads, shown three times: as points, as lines over the axes of what they were drawn as, and as rows of a table.
// What is brushed away on an axis leaves all three; what is pointed at in one is marked in all.
//
// The data stands in the page as JSON: {"noun", "ids", "columns": [{"key", "title", "scale", "values", "levels"?}],
// "axes": [key], "x": [key], "y": [key], "group": key, "intervals": {key: [[low, high]]}, "rungs": [{"title", key: y}]}.
// A value is a number, or of a scale "levels" the place of its level; null where a head has none.
"use strict";

(() => {
  const { brief, clamp, make, textOf } = window.plots;
  const data = JSON.parse(document.getElementById("linked").textContent);
  const count = data.ids.length;
  const column = Object.fromEntries(data.columns.map((each) => [each.key, each]));
  const heads = {
    data,
    column,
    count,
    group: column[data.group],
    shown: new Uint8Array(count).fill(1),
    active: null, // the head that is pointed at
    views: [], // each with show() after a brush, and mark() after a move
    clear: document.getElementById("linked-clear"),
  };

  const status = document.getElementById("linked-status");
  const tip = make("div", { class: "tip", hidden: "" });
  document.body.append(tip);

  heads.show = () => {
    for (const view of heads.views) view.show();
    const left = heads.shown.reduce((sum, each) => sum + each, 0);
    status.textContent = left < count ? `${left} of ${count} ${data.noun}` : `all ${count} ${data.noun}`;
    heads.clear.disabled = left === count;
  };

  heads.point = (row, event) => {
    if (row !== heads.active) {
      heads.active = row;
      for (const view of heads.views) view.mark();
      if (row !== null) tip.replaceChildren(...about(row));
    }
    tip.hidden = row === null || !event;
    if (!tip.hidden) placeTip(event.clientX, event.clientY);
  };

  // For those who do not see it.
  heads.say = (row) => {
    status.textContent = about(row).map((line) => line.textContent).join(", ");
  };

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
    table.tBodies[0].addEventListener("pointerover", (event) => heads.point(rowOf(event)));
    table.addEventListener("pointerleave", () => heads.point(null));
    let last = null;
    heads.views.push({
      show() {
        rows.forEach((line, row) => line.classList.toggle("out", !heads.shown[row]));
        for (const line of others) line.classList.toggle("out", heads.shown.includes(0));
      },
      mark() {
        rows[last]?.classList.remove("active");
        rows[heads.active]?.classList.add("active");
        last = heads.active;
      },
    });
  }

  document.documentElement.classList.add("linked");
  window.drawScatter(document.getElementById("linked-scatter"), heads);
  window.drawParallel(document.getElementById("linked-parallel"), heads);
  board(document.getElementById("linked-board"));
  heads.show();
})();
