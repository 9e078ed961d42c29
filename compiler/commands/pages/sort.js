// ---- tables that sort themselves

function cellValue(row, column) {
  const cell = row.cells[column];
  return 'v' in cell.dataset ? Number(cell.dataset.v) : cell.textContent.trim();
}

function sortBy(table, column) {
  const head = table.tHead.rows[0].cells[column], body = table.tBodies[0];
  const rows = [...body.rows], numbers = rows.length > 0 && 'v' in rows[0].cells[column].dataset;
  const was = head.getAttribute('aria-sort');
  const down = was ? was === 'ascending' : numbers;
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  rows.sort((a, b) => {
    const x = cellValue(a, column), y = cellValue(b, column);
    const order = numbers ? x - y : x.localeCompare(y, undefined, { numeric: true });
    return down ? -order : order;
  });
  body.append(...rows);
}

for (const table of document.querySelectorAll('table.sortable'))
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    const button = cell.querySelector('button');
    if (button) button.addEventListener('click', () => sortBy(table, column));
  });
