'use strict';
const boxes = [...document.querySelectorAll('input[data-manager]')];
const rows = [...document.querySelectorAll('tr[data-owners]')];
const count = document.querySelector('output');
function show() {
  const on = new Set(boxes.filter(box => box.checked).map(box => box.dataset.manager));
  let lit = 0;
  for (const row of rows) {
    const hit = row.dataset.owners.split(' ').some(owner => on.has(owner));
    row.classList.toggle('dim', !hit);
    if (hit) lit += 1;
  }
  count.textContent = `${lit} of ${rows.length} lines with these owners`;
}
function choose(wanted) {
  for (const box of boxes) box.checked = wanted(box);
  show();
}
for (const box of boxes) box.addEventListener('change', show);
for (const button of document.querySelectorAll('button[data-only]')) {
  button.addEventListener('click', () => choose(box => box.dataset.manager === button.dataset.only));
}
document.getElementById('all').addEventListener('click', () => choose(() => true));
document.getElementById('none').addEventListener('click', () => choose(() => false));
show();
