// eve: the server that `eve build` made, as `eve start` runs it, with its local store; people use its HTTP API.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as engine from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { openGate } from '../../lib/gate.mjs';
import { promptOf, toldBy } from '../../lib/model.mjs';

export async function open({ folder, pay, gated, version = 1, deadlineMs }) {
  globalThis.payOfScoreboard = pay;
  // After this time it takes over what a dead process had begun, as in its own tests. By default after 860 s, which nobody here waits for.
  process.env.WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS = '1';
  const gate = gated ? openGate({ ...engine, sqliteStore }, folder) : undefined;
  process.env.GATE = JSON.stringify({ store: join(folder, 'gate.db'), expiresIn: deadlineMs });
  const api = await startServer(join(import.meta.dirname, `${gated ? 'gated' : 'release'}-${version}`), folder);

  // It chooses the ids of sessions itself, so the program keeps which one a payment has.
  const sessions = join(folder, 'sessions');
  const sessionOf = (id) => {
    const lines = existsSync(sessions) ? readFileSync(sessions, 'utf8').split('\n') : [];
    return lines.findLast((line) => line.startsWith(`${id} `))?.split(' ')[1];
  };
  /** The events of the session: those there are, or until `isLast`. */
  async function follow(id, { from = 0, timeoutMs = 6_000, isLast } = {}) {
    const events = [];
    const url = `${api}/session/${sessionOf(id)}/stream?startIndex=${from}${isLast ? '' : '&follow=false'}`;
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    let rest = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (line.trim() === '') continue;
        events.push(JSON.parse(line));
        if (isLast?.(events.at(-1))) return events;
      }
    }
    if (isLast) throw new Error('The stream ended.');
    return events;
  }
  /** The request that is not resolved. */
  const openIn = (events) => {
    const resolved = ofType(events, 'input.resolved').flatMap(({ resolutions }) => resolutions);
    const closed = new Set(resolved.map(({ requestId }) => requestId));
    const asked = ofType(events, 'input.requested').flatMap(({ requests }) => requests);
    return asked.findLast(({ requestId }) => !closed.has(requestId));
  };
  const toldIn = (events) => {
    if (ofType(events, 'turn.completed').length === 0) return undefined;
    return toldBy(ofType(events, 'message.completed').at(-1).message);
  };
  const asks = ({ type }) => type === 'input.requested';
  const ends = ({ type }) => type === 'turn.completed' || type === 'turn.failed' || type === 'session.failed';
  const result = async (id, from) => {
    const events = await follow(id, { from, isLast: ends });
    return toldIn(await follow(id)) ?? `unclear: ${events.at(-1).type}`;
  };
  const respond = async (id, request, optionId) => {
    const inputResponses = [{ requestId: request.requestId, optionId }];
    return post(`${api}/session/${sessionOf(id)}`, { inputResponses });
  };
  const proceed = async (id, optionId) => {
    const events = await follow(id);
    const request = openIn(events);
    if (!request) throw new Error('Nothing waits for a decision.');
    await respond(id, request, optionId);
    return result(id, events.length);
  };
  return {
    async start(id) {
      const { sessionId } = await post(`${api}/session`, { message: promptOf(id) });
      appendFileSync(sessions, `${id} ${sessionId}\n`);
      await follow(id, { isLast: asks, timeoutMs: 12_000 });
      // It tells the request a moment before it keeps it, and these faults are about requests that wait.
      await sleep(300);
    },
    async decide(id, decision) {
      await gate?.decide(id, decision);
      // Behind our gate the record has the decision, and this only continues the session.
      return proceed(id, gated || decision === 'approve' ? 'approve' : 'cancel');
    },
    async replay(id) {
      const events = await follow(id);
      const [request] = ofType(events, 'input.requested').flatMap(({ requests }) => requests);
      await respond(id, request, 'approve');
      return result(id, events.length);
    },
    async look(id) {
      const asked = await gate?.look(id);
      if (asked === 'asked' || asked === 'waiting') return asked;
      const events = await follow(id);
      return toldIn(events) ?? (openIn(events) && !gated ? 'waiting' : 'unfinished');
    },
    // It continues by itself what it had begun.
    async recover(id) {
      const events = await follow(id);
      if (gated && openIn(events)) return proceed(id, 'approve');
      return toldIn(events) ?? result(id, events.length);
    },
    ...(gate && { answer: gate.answer, hasDeadline: () => true }),
  };
}

const ofType = (events, type) => events.filter((event) => event.type === type).map(({ data }) => data);

async function startServer(release, folder) {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const port = String(probe.address().port);
  await new Promise((resolve) => probe.close(resolve));
  Object.assign(process.env, { PORT: port, NITRO_PORT: port, HOST: '127.0.0.1', NITRO_HOST: '127.0.0.1' });
  // It keeps its state in `.eve/.workflow-data` below the folder that it is started in.
  process.chdir(folder);
  await import(join(release, '.output', 'server', 'index.mjs'));
  const api = `http://127.0.0.1:${port}/eve/v1`;
  for (let tries = 0; tries < 200; tries++) {
    if (
      await fetch(`${api}/health`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return api;
    await sleep(50);
  }
  throw new Error('The server did not start in time.');
}

async function post(url, body) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(6_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 200)}`);
  return JSON.parse(text);
}
