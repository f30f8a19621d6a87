'use strict';
{
  const pause = 2000;
  const step = 700;
  const find = id => document.getElementById(id);
  const main = find('content');
  const status = find('status');
  const slider = find('slider');
  let tag = '';
  let playing = 0;
  let turn = 0;

  // A page of the server; null if it has not changed, or cannot be read.
  async function load(address, known) {
    const headers = known ? { 'If-None-Match': known } : {};
    const answer = await fetch(address, { headers, cache: 'no-store', credentials: 'same-origin' });
    if (answer.status === 304 || !answer.ok) return null;
    const text = await answer.text();
    return { tag: answer.headers.get('ETag') || '', page: new DOMParser().parseFromString(text, 'text/html') };
  }

  // Replaces the content of an element, and keeps the focus at the same link, or at the table.
  function fill(old, fresh) {
    const active = document.activeElement;
    const hasFocus = old !== active && old.contains(active);
    const href = active.getAttribute('href');
    old.replaceChildren(...document.importNode(fresh, true).childNodes);
    if (!hasFocus) return;
    const places = [...old.querySelectorAll('a[href], [tabindex]')];
    places.find(own => own.getAttribute('href') === href)?.focus({ preventScroll: true });
  }

  // Replaces an element by the one of another page.
  function replace(id, page) {
    const old = find(id);
    const fresh = page.getElementById(id);
    if (old && fresh) fill(old, fresh);
  }

  const numbers = () => slider.dataset.numbers.split(' ');
  const address = number => `${location.pathname}?at=${number}`;

  // Shows a position of the history.
  async function show(position) {
    const own = ++turn;
    const all = numbers();
    const last = all.length - 1;
    const number = all[position];
    slider.value = position;
    const found = await load(`${address(number)}&part=state`).catch(() => null);
    if (own !== turn) return;
    if (found) fill(find('state'), found.page.body);
    history.replaceState(null, '', address(number));
    find('position').textContent = `${position + 1} of ${all.length}`;
    for (const link of document.querySelectorAll('a[data-position]')) {
      if (Number(link.dataset.position) === position) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
    const sentence = find('state').querySelector('.sentence')?.textContent || '';
    slider.setAttribute('aria-valuetext', `${position + 1} of ${all.length}: ${sentence}`);
    for (const [id, at] of [['previous', position - 1], ['next', position + 1]]) {
      const link = find(id);
      const isEnd = at < 0 || at > last;
      if (isEnd) link.removeAttribute('href');
      else link.setAttribute('href', address(all[at]));
      link.ariaDisabled = isEnd ? 'true' : null;
    }
  }

  function stop() {
    clearTimeout(playing);
    playing = 0;
    find('play').textContent = 'Play';
  }

  async function play() {
    const next = Number(slider.value) + 1;
    if (next >= numbers().length) return stop();
    await show(next);
    if (playing) playing = setTimeout(play, step);
  }

  if (slider) {
    slider.hidden = false;
    find('play').hidden = false;
    slider.addEventListener('input', () => { stop(); show(Number(slider.value)); });
    find('play').addEventListener('click', async () => {
      if (playing) return stop();
      find('play').textContent = 'Pause';
      playing = setTimeout(play, step);
      if (Number(slider.value) === numbers().length - 1) await show(0);
    });
    const go = distance => event => {
      event.preventDefault();
      stop();
      const position = Number(slider.value) + distance;
      if (position >= 0 && position < numbers().length) show(position);
    };
    find('previous').addEventListener('click', go(-1));
    find('next').addEventListener('click', go(1));
    find('events').addEventListener('click', event => {
      const link = event.target.closest('a[data-position]');
      if (!link) return;
      event.preventDefault();
      stop();
      show(Number(link.dataset.position));
    });
  }

  // The history has grown, or lost its first events.
  function grow(page) {
    const fresh = page.getElementById('slider');
    if (!fresh) return;
    const number = numbers()[Number(slider.value)];
    const wasLast = Number(slider.value) === numbers().length - 1;
    slider.dataset.numbers = fresh.dataset.numbers;
    slider.max = fresh.max;
    for (const id of ['fights', 'strip', 'events']) replace(id, page);
    const position = numbers().indexOf(number);
    show(wasLast && !playing ? numbers().length - 1 : Math.max(position, 0));
  }

  async function poll() {
    if (!document.hidden) {
      try {
        const found = await load(location.href.split('&part')[0], tag);
        if (found) {
          tag = found.tag;
          const fresh = found.page.getElementById('content');
          if (fresh && fresh.dataset.version !== main.dataset.version) {
            main.dataset.version = fresh.dataset.version;
            if (main.dataset.live !== undefined) replace('content', found.page);
            else if (slider) grow(found.page);
            else status.textContent = 'The object has changed: reload the page.';
          }
        }
        if (status.textContent.startsWith('No')) status.textContent = '';
      } catch {
        status.textContent = 'No answer from the server.';
      }
    }
    setTimeout(poll, pause);
  }
  if (main.dataset.version) setTimeout(poll, pause);
}
