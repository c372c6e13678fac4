// `countersign decide <request>`: records one decision.

import type { Command } from 'commander';
import type { CallOutcome } from 'countersign/request';
import { decisionFor, type DecisionVerb as Verb } from '../../decision-for.ts';
import { defined } from '../../defined.ts';
import { headlineAndTool } from '../../text/card-text.ts';
import { othersReview, resultText } from '../../text/decision-text.ts';
import { outcomeText } from '../../text/outcome-text.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Backend, Card } from '../backend/backend.ts';
import { recordDecision } from '../backend/record-decision.ts';
import { CommandFailure, EXIT, usageFailure } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { type GrantOptions, grantOf, withGrant } from './grant-options.ts';
import { type Action, type BackendOptions, wholeNumber, withBackend, withDecider, withExamples } from './options.ts';
import { parseAnswer, parseJson, readValue } from './value.ts';

const VERBS: readonly Verb[] = ['approve', 'edit', 'revise', 'reject', 'respond', 'restart', 'cancel'];

type DecideOptions = BackendOptions &
  GrantOptions & {
    readonly [verb in Verb]?: string | boolean;
  } & {
    readonly reason?: string;
    readonly note?: string;
    readonly digest?: string;
    readonly wait?: boolean;
    readonly timeout?: number;
  };

export function addDecide(program: Command, action: Action): void {
  const command = program
    .command('decide <request>')
    .summary('decide a request: approve, edit, ask for changes, reject, respond, restart or cancel')
    .description(
      [
        'Records a decision on one request. Repeating the same decision changes nothing and prints the recorded one. A different decision is refused with exit code 4.',
        'A value is JSON, @file for a file, or - for standard input. If the answer is a string, --respond takes plain text.',
        'The run resumes on a server or a worker that uses the same store.',
      ].join('\n\n'),
    )
    .option('--approve', 'run the call as it is')
    .option('--edit <json>', 'run the call with this input instead')
    .option(
      '--revise <comment>',
      'ask for changes: nothing runs, and the model, or the program that asked, gets the comment',
    )
    .option('--reject', 'refuse the call; the model sees the --reason')
    .option('--respond <answer>', 'answer the question, or supply the result')
    .option('--restart <json>', 'run the tool again and pass it this value')
    .option('--cancel', 'withdraw the request')
    .option('--reason <text>', 'why, for --reject and --cancel')
    .option('--note <text>', 'note for your team (not sent to the model)')
    .option('--digest <digest>', 'refuse if the request changed since you saw it')
    .option('--wait', 'wait until the run pauses again or ends')
    .option(
      '--timeout <seconds>',
      'with --wait: give up after this time, and say what the run waits for',
      wholeNumber(1, 86_400),
    )
    .action(action(decide));
  withExamples(
    withBackend(withGrant(withDecider(command))),
    ['countersign decide run_fJ3k:call_9 --approve', 'run the call'],
    [
      'countersign decide run_fJ3k:call_9 --approve --allow 5 --where to=ACME --for 7d',
      'and allow the next five to ACME',
    ],
    ['countersign decide run_fJ3k:call_9 --reject --reason "too expensive"', 'refuse it'],
    ['countersign decide run_fJ3k:call_9 --revise "Only the open part"', 'ask for changes'],
    [`countersign decide run_fJ3k:call_9 --edit '{"amount": 90}'`, 'run it with a different input'],
    ['countersign decide run_fJ3k:call_2 --respond "The blue one"', 'answer a question'],
  );
}

async function decide(output: Output, id: string, options: DecideOptions): Promise<undefined> {
  const verb = verbOf(options);
  const { reason, note, digest, wait, timeout } = options;
  if (timeout !== undefined && !wait) throw usageFailure('--timeout works with --wait.', SEE_HELP);
  // Read before anything is opened, so that a mistake is reported at once.
  const value = await readOptionValue(verb, options[verb]);
  const grant = grantOf(options);
  if (grant && verb !== 'approve' && verb !== 'edit')
    throw usageFailure('--allow works with --approve and --edit.', SEE_HELP);
  return useBackend(options, { agents: true }, async (backend) => {
    const card = await backend.card(id);
    const review = othersReview(card, backend.person, Date.now());
    if (review !== undefined) output.note(`${review}. You can still decide.`);
    const given = verb === 'respond' ? parseAnswer('--respond', String(value), card.answerSchema) : value;
    const decision = decisionFor(verb, { value: given, reason });
    const decided = await recordDecision(backend, card, decision, defined({ digest, note, grant }));
    // While votes are missing, the run does not move.
    const waits = wait && decided.status === 'settled';
    if (waits) output.note('Recorded. Waiting for a server or a worker to resume the run …');
    const run = waits ? await nextPause(backend, card, timeout) : undefined;
    const outcome = decided.status === 'settled' ? await outcomeSoon(backend, id, run ? 0 : LOOK_FOR_MS) : null;
    if (output.json) {
      const { status, text, pending } = run ?? {};
      const said = { ...decided, ...(outcome && { outcome }) };
      return output.document(run ? { ...said, run: { status, text, pending } } : said);
    }
    const recorded = card.status === 'decided' ? 'Already recorded' : 'Recorded';
    output.line(`${recorded}: ${headlineAndTool(card)}, ${resultText(decided)}`);
    if (outcome) output.line(cameLine(outcome));
    if ('grant' in decided && decided.grant)
      output.line(`Allowed by ${decided.grant.id}: ${decided.grant.uses} next calls`);
    if (run) output.line(`The run is ${run.status}${run.text === '' ? '' : `: ${visibleLine(run.text)}`}`);
  });
}

/** A call is often done in less. */
const LOOK_FOR_MS = 1_500;

/** What came of the call, as far as it is known by then. */
async function outcomeSoon(backend: Backend, id: string, ms: number): Promise<CallOutcome | null> {
  const until = performance.now() + ms;
  for (;;) {
    const { outcome } = await backend.card(id);
    if (outcome?.state !== 'running' || performance.now() >= until) return outcome;
    await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS));
  }
}

function cameLine(outcome: CallOutcome): string {
  if (outcome.state === 'running') return 'It has not ended yet. To wait for it: --wait';
  const text = outcomeText(outcome);
  return text === '' ? 'It does not run.' : `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

const SEE_HELP = 'See: countersign decide --help';

function verbOf(options: DecideOptions): Verb {
  const verbs = VERBS.filter((verb) => options[verb] !== undefined);
  const [verb] = verbs;
  if (verb === undefined)
    throw usageFailure(
      'Missing decision: use --approve, --reject, --revise, --respond, --edit, --restart or --cancel.',
      SEE_HELP,
    );
  if (verbs.length > 1)
    throw usageFailure(`Use only one of ${verbs.map((name) => `--${name}`).join(' and ')}.`, SEE_HELP);
  if (options.reason !== undefined && verb !== 'reject' && verb !== 'cancel')
    throw usageFailure(`--reason works with --reject and --cancel. Use --note with --${verb}.`, SEE_HELP);
  return verb;
}

/** Only the card says how to read an answer, so that stays a text. */
async function readOptionValue(verb: Verb, option: string | boolean | undefined): Promise<unknown> {
  if (typeof option !== 'string') return undefined;
  const value = await readValue(`--${verb}`, option);
  return verb === 'respond' || verb === 'revise' ? value : parseJson(`--${verb}`, value);
}

const POLL_EVERY_MS = 200;

/** Waits until the run ends, or waits for a request other than the decided one; at most for `timeout` seconds. */
async function nextPause(backend: Backend, { runId, id }: Card, timeout = Number.POSITIVE_INFINITY) {
  const until = performance.now() + 1_000 * timeout;
  for (;;) {
    const run = await backend.run(runId);
    if (run.status !== 'running' && !run.pending.includes(id)) return run;
    if (performance.now() >= until) throw await waitTimeout(backend, runId, timeout);
    await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS));
  }
}

/** The decision is recorded, but no process has driven the run to its next pause. */
async function waitTimeout(backend: Backend, runId: string, timeout: number): Promise<CommandFailure> {
  const { items } = await backend.cards({ runId });
  const pending = items.map(({ id, tool }) => `${visibleLine(tool)} (${id})`).join(', ');
  const waitsFor = pending === '' ? '' : ` It waits for decisions on ${pending}.`;
  const message = `The decision is recorded, but run ${runId} did not pause or end within ${timeout} seconds.${waitsFor}`;
  return new CommandFailure(EXIT.failure, 'wait-timeout', message, {
    hint: 'A server or a worker on this store resumes the run. Is one running? Start one with: countersign worker',
  });
}
