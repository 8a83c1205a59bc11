// Enters with the code of the address and prints the board as it comes.

const TOKEN = 'legwork-token';
const state = document.querySelector('#state');
const board = document.querySelector('#board');
const rows = new Map();

async function enter() {
  const code = location.hash.match(/^#code=(\w+)$/)?.[1];
  if (!code) return;
  history.replaceState(null, '', '/');
  const body = JSON.stringify({ code });
  const answer = await fetch('/api/enter', { method: 'POST', body });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  localStorage.setItem(TOKEN, told.token);
}

async function* events(path) {
  const headers = { authorization: `Bearer ${localStorage.getItem(TOKEN)}` };
  const answer = await fetch(path, { headers });
  if (!answer.ok) throw new Error((await answer.json()).error);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held += value;
    let end;
    while ((end = held.indexOf('\n\n')) >= 0) {
      const lines = held.slice(0, end).split('\n');
      held = held.slice(end + 2);
      const field = (name) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      if (field('data')) yield { event: field('event'), data: JSON.parse(field('data')) };
    }
  }
}

async function main() {
  await enter();
  for await (const { event, data } of events('/api/board')) {
    state.textContent = event === 'trouble' ? data.error : 'live';
    if (event !== 'board') continue;
    if (data.whole) rows.clear();
    for (const item of data.rows) rows.set(item.task.id, item);
    for (const id of data.gone) rows.delete(id);
    const lines = [...rows.values()].map(({ task }) => `${task.id} ${task.status} ${task.description}`);
    board.textContent = lines.join('\n');
  }
  state.textContent = 'closed';
}

main().catch((error) => { state.textContent = error.message; });
