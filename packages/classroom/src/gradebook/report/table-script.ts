/**
 * The browser script that sorts and searches the table of a class. It works from a file, without a server. It contains no data of a class:
 * it reads the rows of the page and moves or hides them.
 */
export const tableScript = `"use strict";
(() => {
  const table = document.getElementById("students");
  if (!table) return;
  const body = table.tBodies[0];
  const wordsOf = ({ cells }) => cells[0].textContent + " " + (cells[1].querySelector(".why")?.textContent ?? "");
  const rows = [...body.rows].map((row) => ({ row, text: wordsOf(row).toLowerCase(), status: row.dataset.status }));
  const search = document.getElementById("search");
  const status = document.getElementById("status");
  const count = document.getElementById("count");
  const filter = () => {
    const words = search.value.toLowerCase().split(/\\s+/).filter((word) => word !== "");
    let shown = 0;
    for (const { row, text, status: is } of rows) {
      const fits = words.every((word) => text.includes(word)) && (status.value === "" || is === status.value);
      row.hidden = !fits;
      if (fits) shown += 1;
    }
    count.textContent = shown + " of " + rows.length + " students";
  };
  const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const sortBy = (head) => {
    const at = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const one of head.parentElement.cells) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const numeric = head.classList.contains("number");
    const keyed = rows.map((entry) => ({ entry, value: entry.row.cells[at].dataset.value ?? "" }));
    keyed.sort((one, other) => {
      if (one.value === "" || other.value === "") return (one.value === "") - (other.value === "");
      const compared = numeric ? one.value - other.value : order.compare(one.value, other.value);
      return down ? -compared : compared;
    });
    body.append(...keyed.map(({ entry }) => entry.row));
  };
  for (const button of table.tHead.querySelectorAll("button"))
    button.addEventListener("click", () => sortBy(button.parentElement));
  search.addEventListener("input", filter);
  status.addEventListener("change", filter);
  for (const part of document.querySelectorAll("[data-needs-script]")) part.hidden = false;
  filter();
})();
`;
