// `countersign tokens create|list|revoke`: API tokens, kept in the store as hashes.
import type { Notes } from 'countersign/store';
import type { TokenRecord } from '../../identity/tokens.ts';
import type { Command, Invocation } from '../command.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import { misuse, required } from '../parse-arguments.ts';
import { STORE_OPTIONS } from '../place-options.ts';
import { timeText } from '../print/moment.ts';
import { tableLines } from '../print/table.ts';
import { visibleLine } from '../print/visible-text.ts';

type Tokens = typeof import('../../identity/tokens.ts');

const SCOPES = ['start', 'read', 'decide'] as const;

export const tokensCreate: Command = {
  name: 'tokens create',
  arguments: '<person>',
  summary: 'make an API token for a person or a program; it is shown once',
  description: [
    'Makes a token for the API. Whoever has it acts as this person: it is recorded as who started a run and who decided. Only its hash is kept, so that it cannot be shown again.',
    'Without --all, it sees and decides what the person started; with it, everything.',
  ],
  options: {
    scopes: { value: 'list', summary: `what it may do, some of ${SCOPES.join(',')}; all unless given` },
    all: { summary: 'it reaches the runs of everybody' },
    label: { value: 'text', summary: 'what it is for' },
    'expires-in': { value: 'days', summary: 'days until it is refused; never unless given' },
    ...STORE_OPTIONS,
  },
  examples: [
    ['countersign tokens create ann --scopes read,decide --all', 'for an approver'],
    ['TOKEN=$(countersign tokens create ci --expires-in 30 --json | jq -r .token)', 'for a program'],
  ],
  async run(invocation) {
    const person = required(tokensCreate, invocation);
    const scopes = scopesOf(invocation);
    const days = invocation.whole('expires-in', 1, 36_500);
    const label = invocation.text('label');
    const { output } = invocation;
    return withNotes(invocation, 'make', async (notes, { createToken }) => {
      const { token, record } = await createToken(notes, {
        person,
        reach: invocation.has('all') ? 'all' : 'own',
        ...(scopes && { scopes }),
        ...(label !== undefined && { label }),
        ...(days !== undefined && { expiresInMs: days * 24 * 3_600_000 }),
      });
      if (output.json) output.document({ token, ...record });
      else {
        output.line(token);
        output.note(
          `It is shown only now. It ${described(record)}; revoke it with: countersign tokens revoke ${record.id}`,
        );
      }
    });
  },
};

export const tokensList: Command = {
  name: 'tokens list',
  summary: 'list the API tokens that are good',
  description: ['Lists tokens with whom they stand for and what they may do. The tokens themselves are not kept.'],
  options: STORE_OPTIONS,
  examples: [['countersign tokens list --json', 'for a program']],
  async run(invocation) {
    const { output } = invocation;
    return withNotes(invocation, 'existing', async (notes, { listTokens }) => {
      const tokens = await listTokens(notes);
      if (output.json) return output.document({ items: tokens });
      if (tokens.length === 0) return output.note('There are no tokens.');
      const rows = tokens.map(({ id, person, label, scopes, reach, expiresAt }) => [
        id,
        visibleLine(person),
        scopes.join(','),
        reach,
        expiresAt === null ? 'never expires' : `until ${timeText(expiresAt)}`,
        visibleLine(label),
      ]);
      for (const line of tableLines(
        [['ID', 'PERSON', 'SCOPES', 'REACH', 'EXPIRES', 'LABEL'], ...rows],
        output.rowWidth,
      ))
        output.line(line);
    });
  },
};

export const tokensRevoke: Command = {
  name: 'tokens revoke',
  arguments: '<id>',
  summary: 'refuse a token from now on',
  description: ['Takes the id of a token, as `countersign tokens list` shows it, or the token itself.'],
  options: STORE_OPTIONS,
  examples: [['countersign tokens revoke 3f2a9c1b7d5e4a60', 'it is refused from the next request on']],
  async run(invocation) {
    const given = required(tokensRevoke, invocation);
    const id = /^cs_([0-9a-f]{16})_/.exec(given)?.[1] ?? given;
    const { output } = invocation;
    return withNotes(invocation, 'existing', async (notes, { revokeToken }) => {
      if (!(await revokeToken(notes, id)))
        throw new CommandFailure(EXIT.notFound, 'unknown-token', `There is no token ${id}.`, {
          hint: 'See which there are with: countersign tokens list',
        });
      if (output.json) output.document({ id, revoked: true });
      else output.line(`The token ${id} is refused from now on.`);
    });
  },
};

async function withNotes(
  invocation: Invocation,
  opening: 'make' | 'existing',
  work: (notes: Notes, tokens: Tokens) => Promise<void>,
): Promise<undefined> {
  const { openNotes } = await import('../runtime/opening.ts');
  const { notes, close } = await openNotes(invocation, opening);
  try {
    await work(notes, await import('../../identity/tokens.ts'));
    return undefined;
  } finally {
    await close();
  }
}

function scopesOf(invocation: Invocation): readonly (typeof SCOPES)[number][] | undefined {
  const given = invocation.text('scopes');
  if (given === undefined) return undefined;
  return given.split(',').map((word) => {
    const scope = SCOPES.find((known) => known === word.trim());
    if (scope) return scope;
    throw misuse(tokensCreate, `--scopes is some of ${SCOPES.join(',')}, not “${word.trim()}”.`);
  });
}

function described({ person, scopes, reach, expiresAt }: TokenRecord): string {
  const whose = reach === 'all' ? 'the runs of everybody' : 'their own runs';
  const until = expiresAt === null ? '' : ` until ${timeText(expiresAt)}`;
  return `acts as ${visibleLine(person)} (${scopes.join(', ')}; ${whose})${until}`;
}
