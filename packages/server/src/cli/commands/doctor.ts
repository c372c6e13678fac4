// `countersign doctor`: is everything there that a run needs? Each check is a line, with what to do if it fails.
import { existsSync } from 'node:fs';
import type { Store } from 'countersign';
import { findAgentsFile, loadAgentsFile, shownPath } from '../agents-file.ts';
import type { Check } from '../check.ts';
import { checkServer } from '../check-server.ts';
import type { Command, Invocation } from '../command.ts';
import { EXIT, failureOf } from '../failure.ts';
import { modelKeys } from '../model-keys.ts';
import { durationText } from '../moment.ts';
import { addressOf, DESK_OPTIONS } from '../place-options.ts';
import { fileOf, openStore, shownAddress } from '../store-address.ts';
import { tableLines } from '../table.ts';
import { visibleLine } from '../visible-text.ts';

export const doctor: Command = {
  name: 'doctor',
  summary: 'check the store, its tables, the clock, the keys, and your agents file',
  description: ['Checks what runs need and says what to do about what is missing. Exit code 1 if a check fails.'],
  options: DESK_OPTIONS,
  examples: [
    ['countersign doctor', 'checks what is found in this folder'],
    ['countersign doctor --store postgres://localhost/app --json', 'for a program'],
  ],
  async run(invocation) {
    const { output } = invocation;
    const checks: Check[] = [nodeCheck()];
    const url = invocation.text('url') ?? process.env.COUNTERSIGN_URL;
    if (url !== undefined)
      checks.push(...(await checkServer(url, invocation.text('token') ?? process.env.COUNTERSIGN_TOKEN)));
    else checks.push(...(await agentsChecks(invocation)), ...(await storeChecks(invocation)), modelKeys());
    const failed = checks.filter(({ status }) => status === 'fail').length;
    if (output.json) output.document({ ok: failed === 0, checks });
    else {
      const colours = { ok: 'green', fail: 'red', unknown: 'yellow' } as const;
      const names = Math.max(...checks.map(({ name }) => name.length));
      for (const { name, status, text, fix } of checks) {
        const mark = {
          text: status === 'unknown' ? '?' : status,
          paint: (word: string) => output.style(colours[status], word.padEnd(4)),
        };
        const [line = ''] = tableLines([[mark, name.padEnd(names), visibleLine(text)]], 400);
        output.line(line);
        if (fix !== undefined) output.line(`${' '.repeat(names + 8)}${output.style('dim', `→ ${fix}`)}`);
      }
    }
    return failed === 0 ? EXIT.ok : EXIT.failure;
  },
};

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const text = `Node ${process.versions.node}`;
  if (major > 22 || (major === 22 && minor >= 18)) return { name: 'node', status: 'ok', text };
  return {
    name: 'node',
    status: 'fail',
    text: `${text} cannot run TypeScript files`,
    fix: 'Install Node 22.18 or later.',
  };
}

async function agentsChecks(invocation: Invocation): Promise<readonly Check[]> {
  const name = 'agents';
  try {
    const file = findAgentsFile(invocation.text('agents'));
    if (file === undefined)
      return [
        {
          name,
          status: 'unknown',
          text: 'no agents file here',
          fix: 'Write agents.ts; until then, `countersign dev` shows the demo.',
        },
      ];
    const loaded = await loadAgentsFile(file);
    if (loaded.kind === 'function')
      return [{ name, status: 'ok', text: `${shownPath(file)} makes its agents on the store it is given` }];
    const names = [...loaded.ai.agents.keys()];
    if (names.length === 0)
      return [
        {
          name,
          status: 'fail',
          text: `${shownPath(file)} defines no agents`,
          fix: 'Define one with ai.defineAgent({ name, … }).',
        },
      ];
    return [
      { name, status: 'ok', text: `${shownPath(file)} defines ${names.join(', ')}` },
      await ownStoreCheck(loaded.ai),
    ];
  } catch (error) {
    const { message, hint } = failureOf(error);
    return [{ name, status: 'fail', text: message, ...(hint !== undefined && { fix: hint }) }];
  }
}

async function ownStoreCheck(ai: {
  readonly runs: { list(query: { limit: number }): Promise<unknown> };
}): Promise<Check> {
  try {
    await ai.runs.list({ limit: 1 });
    return { name: 'own store', status: 'ok', text: 'the store of the agents answers' };
  } catch (error) {
    const { message, hint } = failureOf(error);
    return { name: 'own store', status: 'fail', text: message, ...(hint !== undefined && { fix: hint }) };
  }
}

async function storeChecks(invocation: Invocation): Promise<readonly Check[]> {
  let store: Store | undefined;
  try {
    const address = addressOf(invocation);
    const file = fileOf(address);
    if (file !== undefined && !existsSync(file)) {
      const text = `there is no file ${shownPath(file)} yet`;
      const isNamed = invocation.has('store') || process.env.COUNTERSIGN_STORE !== undefined;
      return [
        {
          name: 'store',
          status: isNamed ? 'fail' : 'unknown',
          text,
          fix: 'It is made by: countersign migrate, or countersign dev',
        },
      ];
    }
    store = await openStore(address, 'existing');
    const before = performance.now();
    await store.migrate();
    const page = await store.listInterrupts({ limit: 200 });
    const tookMs = performance.now() - before;
    const waiting = `${page.items.length}${page.cursor === null ? '' : ' or more'}`;
    return [
      {
        name: 'store',
        status: 'ok',
        text: `${shownAddress(address)} answers in ${durationText(tookMs)}, ${waiting} waiting`,
      },
      { name: 'tables', status: 'ok', text: 'up to date' },
      await clockCheck(store),
    ];
  } catch (error) {
    const { message } = failureOf(error);
    const fix = 'Check the address, that the database runs, and that this user may use it.';
    return [{ name: 'store', status: 'fail', text: message, fix }];
  } finally {
    // It may be what failed.
    await store?.close().catch(() => undefined);
  }
}

/** Deadlines are held against the store's clock, so a difference harms nothing; people are shown times by this one. */
const CLOCK_LIMIT_MS = 2_000;

async function clockCheck(store: Store): Promise<Check> {
  const before = Date.now();
  const now = await store.now();
  const difference = Math.abs(now - (before + Date.now()) / 2);
  const text = `this clock and that of the store differ by ${durationText(difference)}`;
  if (difference <= CLOCK_LIMIT_MS) return { name: 'clock', status: 'ok', text };
  return { name: 'clock', status: 'fail', text, fix: 'Let both computers keep the time with NTP.' };
}
