// `countersign grants list|show|revoke`: approvals that cover the next calls too.
import { type Command, Option } from 'commander';
import type { Condition } from 'countersign/request';
import { defined } from '../../defined.ts';
import type { Grant } from '../../schemas/grant.ts';
import { timeText } from '../../text/moment.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import {
  type Action,
  type BackendOptions,
  groupOf,
  type PageOptions,
  withBackend,
  withExamples,
  withPage,
} from './options.ts';

const STATUSES = ['active', 'used-up', 'expired', 'revoked'] as const;

type ListOptions = BackendOptions &
  PageOptions & { readonly tool?: string; readonly status?: (typeof STATUSES)[number] };

export function addGrants(program: Command, action: Action): void {
  const grants = groupOf(program, 'grants')
    .summary('list, show and revoke grants')
    .description(
      'Lists, shows and revokes grants. A grant lets the next calls of a tool run without a request, within its limits. Give one with: countersign decide <request> --approve --allow <uses>.',
    );
  withExamples(
    grants,
    ['countersign grants list --status active', 'the grants that are in force'],
    ['countersign grants revoke grant_zd3ej…', 'ask about the next call again'],
  );
  const list = grants
    .command('list')
    .summary('list grants, newest first')
    .description('Lists grants with their limits and the remaining uses and budget. Newest first.')
    .option('--tool <name>', 'only grants of this tool')
    .addOption(new Option('--status <status>', 'only grants with this status').choices(STATUSES))
    .action(action(listGrants));
  withExamples(withBackend(withPage(list)), ['countersign grants list --tool pay --json', 'as JSON']);
  const show = grants
    .command('show <grant>')
    .summary('show a grant and the calls that used it')
    .description('Shows the limits of a grant, the remaining uses and budget, its giver, and each call that used it.')
    .action(action(showGrant));
  withExamples(withBackend(show), ['countersign grants show grant_zd3ej…', 'one grant']);
  const revoke = grants
    .command('revoke <grant>')
    .summary('revoke a grant')
    .description(
      'Revokes a grant. The next call is asked about again; calls that were let through before are not stopped.',
    )
    .option('--reason <text>', 'why, for the record')
    .option('--by <person>', 'who revokes it (default: $USER); a server uses the token instead')
    .action(action(revokeGrant));
  withExamples(withBackend(revoke), [
    'countersign grants revoke grant_zd3ej… --reason "new supplier"',
    'with a reason',
  ]);
}

async function listGrants(output: Output, { tool, status, limit, cursor, ...options }: ListOptions) {
  return useBackend(options, { agents: false }, async (backend) => {
    const page = await backend.grants(defined({ tool, status, limit, cursor }));
    if (output.json) return output.document(page);
    if (page.items.length === 0) return output.note(`No matching grants in ${visibleLine(backend.where)}.`);
    const rows = page.items.map((grant) => [
      grant.id,
      grant.status,
      visibleLine(grant.tool),
      `${grant.left.uses} of ${grant.uses}`,
      grant.budget ? `${grant.left.amount} of ${grant.budget.total}` : '',
      timeText(grant.expiresAt),
      visibleLine(grant.givenBy),
    ]);
    output.table(['ID', 'STATUS', 'TOOL', 'USES LEFT', 'BUDGET LEFT', 'EXPIRES', 'GIVEN BY'], rows);
    if (page.cursor !== null) output.note(`More: --cursor ${page.cursor}`);
  });
}

async function showGrant(output: Output, id: string, options: BackendOptions) {
  return useBackend(options, { agents: false }, async (backend) => {
    const { calls, ...grant } = await backend.grant(id);
    if (output.json) return output.document({ ...grant, calls });
    printGrant(output, grant);
    if (calls.length === 0) return output.note('No call has used it.');
    const rows = calls.map(({ runId, at, amount, status }) => [timeText(at), runId, amount ?? '', status].map(String));
    output.table(['AT', 'RUN', 'AMOUNT', 'USE'], rows);
  });
}

async function revokeGrant(output: Output, id: string, options: BackendOptions & { readonly reason?: string }) {
  return useBackend(options, { agents: false }, async (backend) => {
    const grant = await backend.revokeGrant(id, options.reason);
    if (output.json) return output.document(grant);
    output.line(`Grant ${grant.id} revoked. The next call of ${visibleLine(grant.tool)} is asked about again.`);
  });
}

const SIGNS = { above: '>', atLeast: '>=', below: '<', atMost: '<=' } as const;

/** As in `amount <= 500`. */
function conditionText({ field, equals, oneOf, ...limits }: Condition): string {
  const name = [field].flat().join('.');
  const ranges = Object.entries(limits).map(
    ([limit, value]) => `${name} ${SIGNS[limit as keyof typeof SIGNS]} ${value}`,
  );
  return [
    ...(equals === undefined ? [] : [`${name} = ${JSON.stringify(equals)}`]),
    ...(oneOf === undefined ? [] : [`${name} is one of ${oneOf.map((value) => JSON.stringify(value)).join(', ')}`]),
    ...ranges,
  ].join(' and ');
}

function printGrant({ line, style }: Output, grant: Omit<Grant, 'mayRevoke'>): void {
  const { id, tool, where, serves, uses, budget, left, expiresAt, givenBy, requestId, revoked } = grant;
  const { people, agents } = serves;
  line(`${style('bold', id)}  ${visibleLine(tool)}  ${grant.status}`);
  for (const condition of where) line(`  where ${visibleLine(conditionText(condition))}`);
  if (grant.schema) line(`  fits ${visibleLine(JSON.stringify(grant.schema))}`);
  line(`  serves ${[...(agents ?? ['all agents']), ...(people ?? ['all people'])].map(visibleLine).join(', ')}`);
  line(`  ${left.uses} of ${uses} uses left`);
  if (budget) line(`  ${left.amount} of ${budget.total} left of ${visibleLine([budget.field].flat().join('.'))}`);
  line(`  expires ${timeText(expiresAt)}`);
  line(`  given by ${visibleLine(givenBy)} with ${requestId}`);
  if (revoked) line(`  revoked by ${visibleLine(revoked.by ?? 'someone')} ${timeText(revoked.at)}`);
}
