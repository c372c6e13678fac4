// `countersign tokens create|list|revoke`: API tokens, stored as hashes.
import type { Command } from 'commander';
import type { Notes } from 'countersign/store';
import { defined } from '../../../defined.ts';
import type { TokenRecord } from '../../../identity/tokens.ts';
import { timeText } from '../../../text/moment.ts';
import { visibleLine } from '../../../text/visible-text.ts';
import { CommandFailure, EXIT } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import { useNotes } from '../../runtime/lazy-opening.ts';
import {
  type Action,
  groupOf,
  type RightsOptions,
  rightsText,
  type StoreOptions,
  wholeNumber,
  withExamples,
  withRights,
  withStore,
} from '../options.ts';

type CreateOptions = StoreOptions & RightsOptions & { readonly label?: string; readonly expiresIn?: number };

export function addTokens(program: Command, action: Action): void {
  const tokens = groupOf(program, 'tokens')
    .summary('create, list and revoke API tokens')
    .description(
      'Creates, lists and revokes API tokens. A program sends its token as `Authorization: Bearer …`; the commands here take it from COUNTERSIGN_TOKEN. A browser needs a link instead: `countersign link`.',
    );
  withExamples(
    tokens,
    ['countersign tokens create ci --expires-in 30', 'a token for a program, for 30 days'],
    ['countersign tokens list', 'valid tokens, without their secrets'],
  );
  const create = tokens
    .command('create <person>')
    .summary('create a token for a person or a program')
    .description(
      'Creates an API token and prints it once. Runs and decisions made with it are recorded under this person. Without --all it covers only the runs that this person started.',
    )
    .option('--label <text>', 'the purpose of the token')
    .option('--expires-in <days>', 'days until it expires (default: never)', wholeNumber(1, 36_500))
    .action(action(createOne));
  withExamples(
    withStore(withRights(create)),
    ['countersign tokens create ann --scopes read,decide --all', 'for an approver'],
    ['countersign tokens create ann --scopes read,decide --role finance', 'for a person of the role finance'],
    ['TOKEN=$(countersign tokens create ci --expires-in 30 --json | jq -r .token)', 'for a program'],
  );
  const list = tokens
    .command('list')
    .summary('list valid tokens')
    .description('Lists the tokens that are valid: id, person, rights, expiry and label. Their secrets are not stored.')
    .action(action(listAll));
  withExamples(
    withStore(list),
    ['countersign tokens list', 'the tokens of the store in this folder'],
    ['countersign tokens list --json | jq -r .items[].person', 'the owners of tokens'],
  );
  const revoke = tokens
    .command('revoke <id>')
    .summary('revoke a token')
    .description('Revokes a token at once. Takes its id, as shown by `countersign tokens list`, or the token itself.')
    .action(action(revokeOne));
  withExamples(withStore(revoke), ['countersign tokens revoke 3f2a9c1b7d5e4a60', 'revoke one token']);
}

function createOne(output: Output, person: string, options: CreateOptions): Promise<undefined> {
  const { scopes, all, role: roles, label, expiresIn } = options;
  return withNotes(options, 'make', async (notes, { createToken }) => {
    const { token, record } = await createToken(notes, {
      person,
      reach: all ? 'all' : 'own',
      ...defined({ scopes, roles, label, expiresInMs: expiresIn && expiresIn * 24 * 3_600_000 }),
    });
    if (output.json) return output.document({ token, ...record });
    output.line(token);
    output.note(`Copy it now; it is not shown again. ${described(record)}`);
    output.note(`Revoke it with: countersign tokens revoke ${record.id}`);
  });
}

function described({ person, expiresAt, ...rights }: TokenRecord): string {
  const until = expiresAt === null ? '' : `, expires ${timeText(expiresAt)}`;
  return `Acts as ${visibleLine(person)} (${rightsText(rights)}${until}).`;
}

function listAll(output: Output, options: StoreOptions): Promise<undefined> {
  return withNotes(options, 'existing', async (notes, { listTokens }) => {
    const tokens = await listTokens(notes);
    if (output.json) return output.document({ items: tokens });
    if (tokens.length === 0) return output.note('No tokens.');
    const rows = tokens.map(({ id, person, label, scopes, reach, roles, expiresAt }) => [
      id,
      visibleLine(person),
      scopes.join(','),
      reach,
      visibleLine(roles.join(',')),
      expiresAt === null ? 'never' : timeText(expiresAt),
      visibleLine(label),
    ]);
    output.table(['ID', 'PERSON', 'SCOPES', 'RUNS', 'ROLES', 'EXPIRES', 'LABEL'], rows);
  });
}

function revokeOne(output: Output, idOrToken: string, options: StoreOptions): Promise<undefined> {
  const id = /^cs_([0-9a-f]{16})_/.exec(idOrToken)?.[1] ?? idOrToken;
  return withNotes(options, 'existing', async (notes, { revokeToken }) => {
    if (!(await revokeToken(notes, id)))
      throw new CommandFailure(EXIT.notFound, 'unknown-token', `Token ${id} not found.`, {
        hint: 'List tokens with: countersign tokens list',
      });
    if (output.json) output.document({ id, revoked: true });
    else output.line(`Token ${id} revoked.`);
  });
}

async function withNotes(
  options: StoreOptions,
  opening: 'make' | 'existing',
  work: (notes: Notes, tokens: typeof import('../../../identity/tokens.ts')) => Promise<void>,
): Promise<undefined> {
  const tokens = await import('../../../identity/tokens.ts');
  return useNotes(options, opening, (notes) => work(notes, tokens));
}
