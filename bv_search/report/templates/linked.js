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

  const FIRST = 100; // lines of the leaderboard, until all are asked for: thousands would take a second to lay out

  function board(table, more) {
    const place = new Map(data.ids.map((id, row) => [id, row]));
    const rowOf = (line) => place.get(line?.dataset.head) ?? null;
    const lines = new Map(Array.from(table.tBodies[0].rows, (line) => [rowOf(line), line]));
    let most = FIRST, last = null;

    function show() {
      const isBrushed = heads.shown.includes(0);
      let left = 0;
      for (const line of table.tBodies[0].rows) {
        const row = rowOf(line); // none of a head that failed: it is on no axis
        const stays = row === null ? !isBrushed : heads.shown[row];
        left += stays ? 1 : 0;
        line.classList.toggle("out", !stays || left > most);
      }
      more.hidden = left <= most;
      more.textContent = `the other ${left - most}`;
    }

    more.addEventListener("click", () => {
      most = Infinity;
      show();
    });
    table.addEventListener("sorted", show);
    table.tBodies[0].addEventListener("pointerover", (event) => heads.point(rowOf(event.target.closest("tr"))));
    table.addEventListener("pointerleave", () => heads.point(null));
    heads.views.push({
      show,
      mark() {
        lines.get(last)?.classList.remove("active");
        lines.get(heads.active)?.classList.add("active");
        last = heads.active;
      },
    });
  }

  document.documentElement.classList.add("linked");
  window.drawScatter(document.getElementById("linked-scatter"), heads);
  window.drawParallel(document.getElementById("linked-parallel"), heads);
  board(document.getElementById("linked-board"), document.getElementById("linked-more"));
  heads.show();
})();
