// `countersign decide <interrupt>`: records one decision, once and for all.
import type { Decided, DecisionInput } from 'countersign';
import type { Command, Invocation } from '../command.ts';
import type { Desk, DeskCard } from '../desk/desk.ts';
import { CommandFailure, EXIT, failureOf } from '../failure.ts';
import { answerFrom, jsonFrom, readGiven } from '../given-value.ts';
import { othersHold } from '../inbox/holding.ts';
import { misuse, required } from '../parse-arguments.ts';
import { DESK_OPTIONS } from '../place-options.ts';
import { onItsWayText, recordedText } from '../print/decision-text.ts';
import { visibleLine } from '../print/visible-text.ts';

const VERBS = ['approve', 'edit', 'reject', 'respond', 'restart', 'cancel'] as const;

export const decide: Command = {
  name: 'decide',
  arguments: '<interrupt>',
  summary: 'decide one question: approve, edit, reject, respond, restart or cancel',
  description: [
    'Records a decision on one question. The same decision again changes nothing and shows the recorded one; another one is refused, with who decided what and when (exit code 4).',
    'A value is JSON, @file for a file, or - for the standard input. Where a text is asked for, --respond takes it as it is.',
    'Deciding runs nothing here: a server or `countersign worker` on the same store goes on with the run.',
  ],
  options: {
    approve: { summary: 'let the call run as it is' },
    edit: { value: 'json', summary: 'let the call run with this input instead' },
    reject: { summary: 'refuse it; the model is told, with the --reason' },
    respond: { value: 'answer', summary: 'give the answer, or the result' },
    restart: { value: 'json', summary: 'run the tool again with this as what it goes on with' },
    cancel: { summary: 'withdraw the question' },
    reason: { value: 'text', summary: 'why, for --reject and --cancel' },
    note: { value: 'text', summary: 'kept beside the decision; the model is not told' },
    digest: { value: 'digest', summary: 'refuse if the question is not the one that was shown' },
    by: { value: 'who', summary: 'who decides; $USER unless given. A server knows by the token' },
    wait: { summary: 'wait until the run asks again or has ended' },
    ...DESK_OPTIONS,
  },
  examples: [
    ['countersign decide run_fJ3k:call_9 --approve', 'lets the call run'],
    ['countersign decide run_fJ3k:call_9 --reject --reason "too dear"', 'refuses it'],
    [`countersign decide run_fJ3k:call_9 --edit '{"amount": 90}'`, 'lets it run with another input'],
    ['countersign decide run_fJ3k:call_2 --respond "The blue one"', 'answers a question'],
  ],
  async run(invocation) {
    const id = required(decide, invocation);
    const verb = verbOf(invocation);
    const given = await readValue(verb, invocation);
    const { openDesk } = await import('../runtime/opening.ts');
    const desk = await openDesk(invocation, { agents: true });
    try {
      const card = await desk.card(id);
      const others = othersHold(card, desk.person, Date.now());
      if (others !== undefined) invocation.output.note(`${others}; a hold locks nothing.`);
      const decided = await record(desk, card, decisionOf(verb, given, card, invocation), invocation);
      const { output } = invocation;
      const before = card.status === 'decided';
      if (invocation.has('wait')) output.note('Recorded. Waiting for a server or a worker to go on with the run …');
      const run = invocation.has('wait') ? await rested(desk, card.runId, card.id) : undefined;
      if (output.json)
        output.document(
          run ? { ...decided, run: { status: run.status, text: run.text, pending: run.pending } } : decided,
        );
      else {
        output.line(`${before ? 'Recorded before' : 'Recorded'}: ${visibleLine(card.tool)}, ${recordedText(decided)}`);
        if (run) output.line(`The run is ${run.status}${run.text === '' ? '' : `: ${visibleLine(run.text)}`}`);
      }
      return undefined;
    } finally {
      await desk.close();
    }
  },
};

type Verb = (typeof VERBS)[number];

function verbOf(invocation: Invocation): Verb {
  const given = VERBS.filter((verb) => invocation.has(verb));
  const [verb] = given;
  if (verb === undefined)
    throw misuse(decide, 'Say what you decide: --approve, --reject, --respond, --edit, --restart or --cancel.');
  if (given.length > 1)
    throw misuse(decide, `Decide one thing, not ${given.map((name) => `--${name}`).join(' and ')}.`);
  if (invocation.has('reason') && verb !== 'reject' && verb !== 'cancel')
    throw misuse(decide, `--reason is for --reject and --cancel; use --note with --${verb}.`);
  return verb;
}

/** Before anything is opened, so that a mistake is told at once. */
async function readValue(verb: Verb, invocation: Invocation): Promise<string | undefined> {
  const text = invocation.text(verb);
  if (text === undefined) return undefined;
  const given = await readGiven(`--${verb}`, text);
  if (verb !== 'respond') jsonFrom(`--${verb}`, given);
  return given;
}

function decisionOf(verb: Verb, given: string | undefined, card: DeskCard, invocation: Invocation): DecisionInput {
  const reason = invocation.text('reason');
  switch (verb) {
    case 'approve':
      return { type: 'approve' };
    case 'edit':
      return { type: 'approve', edit: jsonFrom('--edit', given ?? '') };
    case 'respond':
      return { type: 'respond', output: answerFrom('--respond', given ?? '', card.answerSchema) };
    case 'restart':
      return { type: 'restart', resumed: jsonFrom('--restart', given ?? '') };
    case 'reject':
    case 'cancel':
      return { type: verb, ...(reason !== undefined && { reason }) };
  }
}

async function record(desk: Desk, card: DeskCard, decision: DecisionInput, invocation: Invocation): Promise<Decided> {
  const [digest, note] = [invocation.text('digest'), invocation.text('note')];
  const leave = () => {
    invocation.output.note(onItsWayText(card));
    process.exit(130);
  };
  process.once('SIGINT', leave);
  try {
    return await desk.decide(card.id, decision, {
      ...(digest !== undefined && { digest }),
      ...(note !== undefined && { note }),
    });
  } catch (error) {
    const failure = failureOf(error);
    if (failure.code === 'invalid-resume') throw misfit(failure);
    if (failure.code !== 'already-decided') throw failure;
    // Somebody may have decided since the card was loaded.
    const { decision: recorded } = await desk.card(card.id);
    if (!recorded) throw failure;
    const { by, at, channel, note: beside, ...said } = recorded;
    throw new CommandFailure(
      EXIT.conflict,
      'already-decided',
      `${card.id} was decided otherwise. ${recordedText({ decision: said, by, at, channel, note: beside })}`,
      {
        details: {
          interruptId: card.id,
          runId: card.runId,
          settlement: { decision: said, by, channel, note: beside, at },
        },
      },
    );
  } finally {
    process.off('SIGINT', leave);
  }
}

/** One thing was decided, so that its fault is said without saying which one of several it is. */
function misfit(failure: CommandFailure): CommandFailure {
  const faults = Array.isArray(failure.details.faults) ? failure.details.faults : [];
  const problems = faults.map(({ problem }: { readonly problem?: unknown }) => String(problem)).join('; ');
  if (problems === '') return failure;
  const { exitCode, code, details, cause } = failure;
  return new CommandFailure(exitCode, code, `Nothing was recorded: ${problems}.`, { details, cause });
}

const LOOK_EVERY_MS = 200;

/** Waits until the run waits for something else than what was decided just now, or has ended. */
async function rested(desk: Desk, runId: string, decided: string) {
  for (;;) {
    const run = await desk.run(runId);
    if (run.status !== 'running' && !run.pending.includes(decided)) return run;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
