'use strict';
const boxes = [...document.querySelectorAll('input[data-filter]')];
const rows = [...document.querySelectorAll('tr[data-area]')];
const count = document.querySelector('output');
function show() {
  const on = new Set(boxes.filter(box => box.checked).map(box => box.dataset.filter));
  let lit = 0;
  for (const row of rows) {
    const hit = on.has(row.dataset.area) && on.has(row.dataset.result);
    row.hidden = !hit;
    if (hit) lit += 1;
  }
  count.textContent = `${lit} of ${rows.length} cases`;
}
function choose(wanted, group) {
  for (const box of boxes) if (!group || box.name === group) box.checked = wanted(box);
  show();
}
for (const box of boxes) box.addEventListener('change', show);
for (const button of document.querySelectorAll('button[data-only]')) {
  button.addEventListener('click', () => choose(box => box.dataset.filter === button.dataset.only, button.dataset.group));
}
document.getElementById('all').addEventListener('click', () => choose(() => true));
show();
