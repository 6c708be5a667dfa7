// Order the libraries by an operation or by their failures, and show the operations or the libraries that a search finds.
const libraries = document.getElementById("conformance");
if (libraries) {
  const tables = [...document.querySelectorAll(".conformance table")].filter((table) => table !== libraries);
  const order = (names) => {
    for (const row of tables.flatMap((table) => [...table.rows])) {
      const cells = new Map([...row.querySelectorAll("[data-library]")].map((cell) => [cell.dataset.library, cell]));
      row.append(...names.filter((name) => cells.has(name)).map((name) => cells.get(name)));
    }
    const rows = new Map([...libraries.tBodies[0].rows].map((row) => [row.dataset.library, row]));
    libraries.tBodies[0].append(...names.map((name) => rows.get(name)));
  };
  const sorted = (values) => [...values.keys()].sort((a, b) => {
    const [x, y] = [values.get(a), values.get(b)];
    return (x < y ? -1 : x > y ? 1 : 0) || (a < b ? -1 : 1);
  });
  const names = [...libraries.tBodies[0].rows].map((row) => row.dataset.library);
  const sortBy = (head, values) => {
    const falls = head.getAttribute("aria-sort") === "ascending";
    document.querySelectorAll(".conformance [aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    order(falls ? sorted(values).reverse() : sorted(values));
  };
  libraries.tHead.querySelectorAll("th").forEach((head, column) => {
    head.querySelector("button")?.addEventListener("click", () => {
      const rows = [...libraries.tBodies[0].rows];
      const value = (text) => (isNaN(text) ? text : Number(text));
      sortBy(head, new Map(rows.map((row) => [row.dataset.library, value(row.cells[column].dataset.sort)])));
    });
  });
  for (const head of document.querySelectorAll(".conformance th[data-operation]")) {
    head.querySelector("button").addEventListener("click", () => {
      const ranks = new Map(names.map((name) => [name, 9]));
      for (const cell of head.parentElement.querySelectorAll("td")) ranks.set(cell.dataset.library, Number(cell.dataset.sort));
      sortBy(head, ranks);
    });
  }
  document.getElementById("conformance-search").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
    const found = rows.filter((row) => row.cells[0].dataset.operation.includes(wanted));
    const named = names.filter((name) => name.toLowerCase().includes(wanted));
    for (const row of rows) row.hidden = found.length > 0 && !found.includes(row);
    for (const part of document.querySelectorAll("[data-library]")) {
      part.hidden = found.length === 0 && named.length > 0 && !named.includes(part.dataset.library);
    }
    for (const table of tables) table.parentElement.hidden = [...table.tBodies[0].rows].every((row) => row.hidden);
  });
}
