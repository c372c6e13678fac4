// `countersign approve` and `countersign reject`: one decision for several requests, after a table of what differs.
import type { Command } from 'commander';
import type { DecideResult, Json } from 'countersign';
import { compareInputs, totalsOf } from 'countersign/request';
import { defined } from '../../defined.ts';
import type { DecisionOutcome } from '../../schemas/decisions.ts';
import { headline } from '../../text/card-text.ts';
import { conflictText, decisionText, type Recorded, resultText } from '../../text/decision-text.ts';
import { largestText, totalsText } from '../../text/totals-text.ts';
import { valueLine } from '../../text/value-text.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Backend, Card, CardQuery } from '../backend/backend.ts';
import { EXIT, type ExitCode, usageFailure } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { type Action, type BackendOptions, withBackend, withDecider, withExamples, withFilters } from './options.ts';

type Verb = 'approve' | 'reject';

type ManyOptions = BackendOptions & {
  readonly all?: boolean;
  readonly agent?: string;
  readonly tool?: string;
  readonly run?: string;
  readonly search?: string;
  readonly reason?: string;
  readonly note?: string;
  readonly yes?: boolean;
};

/** As many as a server takes in one request. */
const MOST = 500;

export function addApprove(program: Command, action: Action): void {
  const command = program
    .command('approve [requests...]')
    .summary('approve one or several requests')
    .description(aboutMany('Approves', 'approved'));
  withSelection(command).action(action((output, ids, options) => decideMany('approve', output, ids, options)));
  withExamples(
    withBackend(withDecider(command)),
    ['countersign approve --all --tool pay', 'compare all pending payments, then approve them'],
    ['countersign approve run_fJ3k:call_9 run_aB2c:call_1', 'approve two requests'],
  );
}

export function addReject(program: Command, action: Action): void {
  const command = program
    .command('reject [requests...]')
    .summary('reject one or several requests')
    .description(aboutMany('Rejects', 'rejected'))
    .option('--reason <text>', 'why; the model sees it');
  withSelection(command).action(action((output, ids, options) => decideMany('reject', output, ids, options)));
  withExamples(
    withBackend(withDecider(command)),
    ['countersign reject --all --tool pay --reason "budget is closed"', 'reject all pending payments'],
    ['countersign reject --all --search ACME --yes', 'reject what mentions ACME, without being asked'],
  );
}

const aboutMany = (verb: string, past: string): string =>
  [
    `${verb} the named requests, or with --all every pending request that the filters select, at most ${MOST} at a time. Prints their common fields and a table of the others, and asks before it sends anything; --yes sends at once.`,
    `Each request is ${past} for itself, bound to the card in the table: one that changed meanwhile stays pending, and is listed. Then the exit code is 4.`,
  ].join('\n\n');

const withSelection = (command: Command): Command =>
  withFilters(command.option('--all', 'all pending requests that the filters select'), 'with --all: only')
    .option('--note <text>', 'note for your team (not sent to the model)')
    .option('--yes', 'do not ask');

async function decideMany(
  verb: Verb,
  output: Output,
  ids: readonly string[],
  options: ManyOptions,
): Promise<ExitCode | undefined> {
  const { all, agent, tool, run: runId, search, reason, note, yes } = options;
  const query = defined({ agent, tool, runId, search });
  checkUsage(verb, ids, options, query);
  let exitCode: ExitCode = EXIT.ok;
  await useBackend(options, { agents: true }, async (backend) => {
    const cards = all ? await pendingCards(backend, query, verb) : await Promise.all(ids.map((id) => backend.card(id)));
    if (cards.length === 0) {
      if (output.json) output.document({ items: [] });
      else output.note('No matching requests.');
      return;
    }
    if (!output.json) printComparison(cards, output);
    if (!yes && !(await isConfirmed(verb, cards))) {
      output.note('Nothing was sent.');
      exitCode = EXIT.failure;
      return;
    }
    const decision = { type: verb, ...defined({ reason }) };
    const outcomes = await backend.decideMany(
      cards.map(({ id, digest }) => ({ requestId: id, digest, decision })),
      {
        ...defined({ note }),
        onProgress: (done) => {
          if (cards.length > PROGRESS_FROM && done < cards.length) output.note(`${done} of ${cards.length} …`);
        },
      },
    );
    if (output.json) output.document({ items: outcomes });
    else printOutcomes(outcomes, new Map(cards.map((card) => [card.id, card])), backend.person, output);
    exitCode = exitCodeOf(outcomes);
  });
  return exitCode;
}

/** Fewer are sent before anyone could read it. */
const PROGRESS_FROM = 50;

function checkUsage(verb: Verb, ids: readonly string[], { all, yes }: ManyOptions, query: CardQuery): void {
  const help = `See: countersign ${verb} --help`;
  if (all ? ids.length > 0 : ids.length === 0) throw usageFailure('Name the requests, or pass --all.', help);
  if (!all && Object.keys(query).length > 0) throw usageFailure('Filters work with --all.', help);
  if (new Set(ids).size < ids.length) throw usageFailure('A request is named twice.', help);
  if (ids.length > MOST) throw usageFailure(`Name at most ${MOST} requests.`, help);
  if (!yes && !isTerminal())
    throw usageFailure('This command asks in a terminal. Without one, pass --yes to send the decisions.', help);
}

const isTerminal = (): boolean => process.stdin.isTTY === true && process.stdout.isTTY === true;

async function isConfirmed(verb: Verb, cards: readonly Card[]): Promise<boolean> {
  const { confirm } = await import('@clack/prompts');
  return (await confirm({ message: questionAbout(verb, cards), initialValue: false })) === true;
}

/** Repeats the number and the sums, and says what cannot be undone. */
function questionAbout(verb: Verb, cards: readonly Card[]): string {
  const totals = alikeIn(cards).map((alike) => totalsText(totalsOf(alike.map(inputOf))));
  const question = `${verb === 'approve' ? 'Approve' : 'Reject'} ${cards.length === 1 ? 'this request' : totals.join('; ')}?`;
  const irreversible = cards.filter(({ reversibility }) => reversibility === 'irreversible').length;
  if (verb === 'reject' || irreversible === 0) return question;
  return `${question} ${irreversible} of ${cards.length} cannot be undone.`;
}

/** The cards of each tool of each agent: the fields of different tools mean different things. */
const alikeIn = (cards: readonly Card[]): readonly (readonly Card[])[] => [
  ...Map.groupBy(cards, ({ agent, tool }) => JSON.stringify([agent, tool])).values(),
];

const inputOf = ({ input }: Card): Json => input as Json;

async function pendingCards(backend: Backend, query: CardQuery, verb: Verb): Promise<readonly Card[]> {
  const found: Card[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await backend.cards({ ...query, limit: 200, ...(cursor !== undefined && { cursor }) });
    found.push(
      ...page.items.filter(({ kind, mayDecide, allows }) => kind !== 'recall' && mayDecide && allows.includes(verb)),
    );
    if (page.cursor === null || found.length >= MOST) return found.slice(0, MOST);
    cursor = page.cursor;
  }
}

function printComparison(cards: readonly Card[], output: Output): void {
  for (const alike of alikeIn(cards)) {
    const [first] = alike;
    if (!first) continue;
    const { common, columns, rows } = compareInputs(alike.map(inputOf));
    output.note(output.style('bold', `${visibleLine(first.tool)} (${visibleLine(first.agent)}): ${alike.length}`));
    if (common.length > 0 && alike.length > 1) output.note('The same in all:');
    for (const { name, value } of common) output.note(`  ${visibleLine(name)} ${textOf(value)}`);
    const head = ['REQUEST', ...columns.map(({ name }) => visibleLine(name)), 'TITLE'];
    output.table(
      head,
      alike.map((card, index) => [card.id, ...(rows[index] ?? []).map(textOf), headline(card)]),
    );
    const totals = totalsOf(alike.map(inputOf));
    if (alike.length > 1) output.note([totalsText(totals), ...largestText(totals)].join(', '));
  }
}

const textOf = (value: Json | undefined): string => (value === undefined ? '-' : valueLine(value));

function printOutcomes(
  outcomes: readonly DecisionOutcome[],
  cards: ReadonlyMap<string, Card>,
  person: string | undefined,
  output: Output,
): void {
  const rows = outcomes.map((outcome) => {
    const card = cards.get(outcome.requestId);
    return [outcome.requestId, outcomeText(outcome, person), card ? headline(card) : ''];
  });
  output.table(['REQUEST', 'OUTCOME', 'TITLE'], rows);
  const done = outcomes.filter(({ status }) => status === 'settled' || status === 'waiting').length;
  output.note(`Recorded ${done} of ${outcomes.length}.`);
}

function outcomeText(outcome: DecisionOutcome, person: string | undefined): string {
  if (outcome.status === 'settled') return decisionText(outcome.decision as Json);
  if (outcome.status === 'waiting') return resultText(outcome as DecideResult);
  const { settlement, detail } = outcome.problem;
  if (outcome.status === 'outdated') return 'changed and still pending';
  return settlement ? conflictText(settlement as Recorded, person) : visibleLine(detail);
}

function exitCodeOf(outcomes: readonly DecisionOutcome[]): ExitCode {
  const refused = outcomes.filter(({ status }) => status !== 'settled' && status !== 'waiting');
  if (refused.length === 0) return EXIT.ok;
  return refused.some(({ status }) => status === 'outdated' || status === 'conflict') ? EXIT.conflict : EXIT.failure;
}
