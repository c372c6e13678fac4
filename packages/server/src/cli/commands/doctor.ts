// `countersign doctor`: is everything there that a run needs? Each check is a line, with what to do if it fails.
import type { Countersign } from 'countersign';
import type { Page, Store } from 'countersign/store';
import { checkWrites } from '../../store-writes.ts';
import type { Command, Invocation } from '../command.ts';
import { EXIT, failureOf } from '../failure.ts';
import { addressOf, DESK_OPTIONS, serverOf, tokenOf } from '../place-options.ts';
import { durationText } from '../print/moment.ts';
import { wrap } from '../print/text-width.ts';
import { visibleLine } from '../print/visible-text.ts';
import { findAgentsFile, loadAgentsFile, shownPath } from '../runtime/agents-file.ts';
import type { Check } from '../runtime/check.ts';
import { checkServer } from '../runtime/check-server.ts';
import { modelKeys } from '../runtime/model-keys.ts';
import { fileOf, isThere, openStore, shownAddress } from '../runtime/store-address.ts';

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
    const url = serverOf(invocation);
    if (url !== undefined) checks.push(...(await checkServer(url, tokenOf(invocation))));
    else checks.push(...(await localChecks(invocation)));
    const failed = checks.filter(({ status }) => status === 'fail').length;
    if (output.json) output.document({ ok: failed === 0, checks });
    else {
      const colours = { ok: 'green', fail: 'red', unknown: 'yellow' } as const;
      const names = Math.max(...checks.map(({ name }) => name.length));
      for (const { name, status, text, fix } of checks) {
        const mark = output.style(colours[status], (status === 'unknown' ? '?' : status).padEnd(4));
        const margin = ' '.repeat(names + 8);
        const fitted = (words: string) => wrap(words, Math.max(20, output.rowWidth - margin.length));
        const [first = '', ...more] = fitted(visibleLine(text));
        output.line(`${mark}  ${name.padEnd(names)}  ${first}`);
        for (const row of more) output.line(`${margin}${row}`);
        for (const row of fix === undefined ? [] : fitted(`→ ${fix}`))
          output.line(`${margin}${output.style('dim', row)}`);
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

/** A file that brings its own store is asked for that one, unless another one is named. */
async function localChecks(invocation: Invocation): Promise<readonly Check[]> {
  const agents = await agentsChecks(invocation);
  const bringsStore = agents.some(({ name }) => name === 'store') && !invocation.has('store');
  const kept = bringsStore ? agents : agents.filter(({ name }) => name !== 'store');
  return [...kept, ...(bringsStore ? [] : await storeChecks(invocation)), modelKeys()];
}

async function agentsChecks(invocation: Invocation): Promise<readonly Check[]> {
  const name = 'agents';
  try {
    const file = findAgentsFile(invocation.text('agents'));
    if (file === undefined) {
      const fix = 'Write agents.ts; until then, `countersign dev` shows the demo.';
      return [{ name, status: 'unknown', text: 'no agents file here', fix }];
    }
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
      await ownStoreCheck(loaded.ai, shownPath(file)),
    ];
  } catch (error) {
    const { message, hint } = failureOf(error);
    return [{ name, status: 'fail', text: message, ...(hint !== undefined && { fix: hint }) }];
  }
}

async function ownStoreCheck({ runs }: Pick<Countersign, 'runs'>, file: string): Promise<Check> {
  const name = 'store';
  try {
    const page = await runs.interrupts({ limit: 200 });
    await checkWrites(runs.store);
    return { name, status: 'ok', text: `the one of ${file} answers, ${waitingText(page)}` };
  } catch (error) {
    const { message, hint } = failureOf(error);
    return { name, status: 'fail', text: message, ...(hint !== undefined && { fix: hint }) };
  }
}

const waitingText = ({ items, cursor }: Page<unknown>): string =>
  `${items.length}${cursor === null ? '' : ' or more'} waiting`;

async function storeChecks(invocation: Invocation): Promise<readonly Check[]> {
  let store: Store | undefined;
  try {
    const address = addressOf(invocation);
    const file = fileOf(address);
    if (file !== undefined && !isThere(file)) {
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
    await checkWrites(store);
    const tookMs = performance.now() - before;
    return [
      {
        name: 'store',
        status: 'ok',
        text: `${shownAddress(address)} answers in ${durationText(tookMs)}, ${waitingText(page)}`,
      },
      { name: 'tables', status: 'ok', text: 'up to date' },
      await clockCheck(store),
    ];
  } catch (error) {
    const { message, details } = failureOf(error);
    // Tables of a later version: the store is there, and the message says what to do.
    if (store && details.known !== undefined) return [{ name: 'tables', status: 'fail', text: message }];
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
