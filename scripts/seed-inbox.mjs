// Fills a store with pending and settled requests as the engine writes them, spread over the year before now.
//
//   node scripts/seed-inbox.mjs <store.sqlite | postgres://…> [pending] [settled]
//
// The engine runs and decides a few hundred requests, in memory. Their appends are copied: each copy has its own run, order
// number and times, and the digests and hashes that belong to them. So every copy is a record that verifies.
import { parseArgs } from 'node:util';
import { countersign, memoryStore, z } from '../packages/countersign/dist/index.js';
import { chainStart, linkAll } from '../packages/countersign/dist/runs/port/chain.js';
import { digestOf } from '../packages/countersign/dist/runs/requests/card.js';

const DAY = 86_400_000;
const MINUTE = 60_000;

export const PEOPLE = Array.from({ length: 200 }, (_, index) => `person-${index}`);
export const ROLES = ['finance', 'legal', 'press', 'support', 'security', 'sales', 'people', 'board'];
export const AGENTS = ['clerk', 'buyer', 'writer', 'operator'];
const VERBS = ['pay', 'refund', 'order', 'publish', 'delete', 'invite'];
const THINGS = ['Invoice', 'Supplier', 'Article', 'Account'];
const TOOLS = VERBS.flatMap((verb) => THINGS.map((thing) => `${verb}${thing}`));
const WORDS =
  'annual report quarterly budget travel hotel laptop licence renewal office chair flight Berlin Paris'.split(' ');
const RISKS = [undefined, 'low', 'medium', 'high'];

/** Every person has a role. */
export const roleOf = (person) => ROLES[PEOPLE.indexOf(person) % ROLES.length];

/** How many templates there are of each kind: pending ones, and settled ones. */
const TEMPLATES = 240;

/** The order number in every template. A copy has its own, of the same length. */
const ORDER = 'A-00000000';
export const orderOf = (index) => `A-${String(index).padStart(8, '0')}`;

/** The agents of the seeded runs, on this store. */
export function seededAgents(store, options = {}) {
  const ai = countersign({
    model: { name: 'clerk', reply: async ({ messages }) => replyTo(messages) },
    store,
    people: { rolesOf: (person) => (PEOPLE.includes(person) ? [roleOf(person)] : []), roles: ROLES },
    ...options,
  });
  const tools = TOOLS.map((name, index) =>
    ai.defineTool(
      {
        name,
        description: `Does ${name}.`,
        title: ({ order, about }) => `${name} ${order}: ${about}`,
        inputSchema: z.object({ order: z.string(), about: z.string(), amount: z.number(), deciders: z.any() }),
        needsApproval: ({ deciders }) => ({
          ...(RISKS[index % 4] && { risk: RISKS[index % 4] }),
          labels: [THINGS[index % 4]],
          ...(deciders && { policy: { name: deciders.name, deciders: deciders.who } }),
        }),
      },
      () => 'done',
    ),
  );
  const agents = AGENTS.map((name) => ai.defineAgent({ name, tools }));
  return { ai, agents };
}

function replyTo(messages) {
  if (messages.some(({ role }) => role === 'tool')) return { content: [{ text: 'Done.' }], finishReason: 'stop' };
  const { tool, input } = JSON.parse(messages[0].content[0].text);
  return { content: [{ toolRequest: { name: tool, input } }], finishReason: 'tool-calls' };
}

/** Some requests name people, most a role, and some only the person who started the run. */
function decidersAt(index) {
  const person = (offset) => PEOPLE[(index * 7 + offset) % PEOPLE.length];
  if (index % 6 === 0) return null;
  if (index % 6 < 3) return { name: 'named', who: { people: [person(1), person(2)] } };
  return { name: `by ${ROLES[index % 8]}`, who: { roles: [ROLES[index % 8]] } };
}

/** The appends of one run: those up to its request, and those after the decision. */
async function template(index) {
  const appends = [];
  const kept = memoryStore();
  const append = (one) => {
    appends.push(structuredClone(one));
    return kept.append(one);
  };
  const { ai, agents } = seededAgents({ ...kept, append });
  const about = Array.from({ length: 5 }, (_, word) => WORDS[(index * (word + 1) + word) % WORDS.length]).join(' ');
  const deciders = decidersAt(index);
  const input = { order: ORDER, about, amount: (index * 37) % 5_000, deciders };
  const starter = PEOPLE[(index * 11) % PEOPLE.length];
  const { id } = await agents[index % 4].start(JSON.stringify({ tool: TOOLS[index % TOOLS.length], input }), {
    by: starter,
  });
  await ai.runs.settled();
  const opening = appends.splice(0);
  const [card] = (await ai.runs.requests()).items;
  const by =
    deciders?.who.people?.[0] ?? PEOPLE.find((person) => deciders?.who.roles?.includes(roleOf(person))) ?? starter;
  await ai.runs.decide(card, index % 5 === 0 ? { type: 'reject', reason: 'Too expensive.' } : 'approve', {
    by,
    channel: 'inbox',
  });
  await ai.runs.settled();
  const text = JSON.stringify([joined(opening), joined(appends)]);
  return { text, id, key: card.id, digest: card.digest, askedAt: card.createdAt };
}

/** One append instead of several that follow upon each other: the events, and what the last of them leaves. */
function joined(appends) {
  const [first] = appends;
  const last = appends.at(-1);
  const all = (name) => appends.flatMap((append) => append[name] ?? []);
  const { expectedVersion, create } = first;
  const { runId, status, wakeAt, outcome } = last;
  const lists = { events: all('events'), opened: all('opened'), settled: all('settled') };
  return { runId, expectedVersion, ...(create && { create }), ...lists, status, wakeAt, outcome };
}

/**
 * Fills the store. The pending requests are the newest: asked in the last 30 days. The settled ones are spread over the
 * year, and decided after minutes or hours.
 */
export async function seedInbox(store, { pending, settled }, each = () => {}) {
  const made = [];
  for (let index = 0; index < TEMPLATES; index += 1) made.push(await template(index));
  const now = await store.now();
  await store.migrate();
  await atOnce(settled, each, async (index) => {
    const askedAt = now - 2 * DAY - Math.floor(((settled - index) / settled) * 363 * DAY);
    const tookMs = MINUTE + ((index * 7_919) % 600) * MINUTE;
    const [opening, closing] = copyOf(made[(index * 13) % TEMPLATES], index, askedAt, tookMs);
    await store.append({ ...opening, at: askedAt });
    await store.append({ ...closing, at: askedAt + tookMs });
  });
  await atOnce(pending, each, async (index) => {
    const askedAt = now - MINUTE - Math.floor(((pending - index) / pending) * 30 * DAY);
    const [opening] = copyOf(made[(index * 13) % TEMPLATES], settled + index, askedAt, MINUTE);
    await store.append({ ...opening, at: askedAt });
  });
}

/** Stores share the cost of a commit between appends that come together. */
async function atOnce(count, each, append) {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (; next < count; ) {
        const index = next;
        next += 1;
        if (index % 20_000 === 0) each(index, count);
        await append(index);
      }
    }),
  );
}

const AT_ONCE = 256;

/** The appends of the template for another run, order and time. */
function copyOf({ text, id, key, digest, askedAt }, index, at, tookMs) {
  const runId = `run-${index}`;
  const newKey = key.replace(id, runId);
  const renamed = text.replaceAll(ORDER, orderOf(index)).replaceAll(id, runId);
  const [opening, closing] = JSON.parse(renamed);
  const [request] = opening.opened;
  const newDigest = digestOf(newKey, request.card);
  shiftTimes(opening, at - askedAt);
  shiftTimes(closing, at - askedAt + tookMs);
  request.digest = newDigest;
  for (const event of closing.events) replaceIn(event, digest, newDigest);
  for (const { settlement } of closing.settled) replaceIn(settlement, digest, newDigest);
  opening.hash = linkAll(chainStart({ ...opening.create, id: runId }), opening.events);
  closing.hash = linkAll(opening.hash, closing.events);
  return [opening, closing];
}

const TIMES = new Set(['at', 'createdAt', 'expiresAt', 'wakeAt', 'askedAt', 'updatedAt']);

function shiftTimes(value, by) {
  for (const [name, inner] of Object.entries(value))
    if (typeof inner === 'number' && TIMES.has(name)) value[name] = inner + by;
    else if (typeof inner === 'object' && inner !== null) shiftTimes(inner, by);
}

function replaceIn(value, old, by) {
  for (const [name, inner] of Object.entries(value))
    if (inner === old) value[name] = by;
    else if (typeof inner === 'object' && inner !== null) replaceIn(inner, old, by);
}

if (process.argv[1] === import.meta.filename) {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [place = '', pending = '1000', settled = '1000'] = positionals;
  const store = await openStore(place);
  const startedAt = performance.now();
  await seedInbox(store, { pending: Number(pending), settled: Number(settled) });
  await store.close();
  console.log(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
}

export async function openStore(place) {
  if (/^postgres(ql)?:/.test(place))
    return (await import('../packages/countersign/dist/stores/postgres/postgres.js')).postgresStore(place);
  return (await import('../packages/countersign/dist/stores/sqlite/sqlite.js')).sqliteStore(place);
}
