/* Sort the table of conformance by a column, and show the rows or the columns that a search finds. */
const table = document.getElementById("conformance");
if (table) {
  const body = table.tBodies[0];
  const value = (row, column) => {
    const text = row.cells[column].dataset.sort;
    return isNaN(text) ? text : Number(text);
  };
  table.tHead.rows[0].querySelectorAll("th").forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const falls = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [value(a, column), value(b, column)];
        return (x < y ? -1 : x > y ? 1 : 0) * (falls ? -1 : 1);
      });
      body.append(...rows);
    });
  });
  document.getElementById("conformance-search").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    const finds = (text) => text.toLowerCase().includes(wanted);
    const operations = [...table.tHead.querySelectorAll("[data-operation]")].filter((head) => finds(head.dataset.operation));
    const rows = [...body.rows].filter((row) => finds(row.cells[0].textContent));
    const shown = new Set(operations.map((head) => head.dataset.operation));
    for (const cell of table.querySelectorAll("[data-operation]")) cell.hidden = shown.size > 0 && !shown.has(cell.dataset.operation);
    for (const row of body.rows) row.hidden = rows.length > 0 && shown.size === 0 && !rows.includes(row);
  });
}
