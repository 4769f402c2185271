// Tables of the class "sortable" sort by the head of a column: a click, Enter or the space bar.
// A cell is worth its data-value, else its text; what is empty stands last in either direction.
"use strict";

(() => {
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value ?? cell.textContent.trim();
  };

  const compare = (isNumber) => (a, b) => isNumber ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true });

  function sort(table, column, direction) {
    const isNumber = table.tHead.rows[0].cells[column].classList.contains("n");
    const order = compare(isNumber);
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => ({ row, value: valueOf(row, column) }));
    const isEmpty = ({ value }) => value === "" || value === "–";
    rows.sort((a, b) => isEmpty(a) - isEmpty(b) || direction * order(a.value, b.value) || 0);
    body.append(...rows.map(({ row }) => row));
    table.dispatchEvent(new Event("sorted"));
  }

  function turn(table, head) {
    const falls = head.ariaSort === "descending";
    const first = head.classList.contains("n") && !head.ariaSort ? -1 : 1;
    const direction = head.ariaSort ? (falls ? 1 : -1) : first;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    sort(table, head.cellIndex, direction);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => turn(table, head));
      head.append(button);
    }
  }
})();
