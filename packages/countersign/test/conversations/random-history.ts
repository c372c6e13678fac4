// One random history of a stored chat: its decisions, messages, crashes and starts, and the answer to each caller.
import {
  approve,
  ConflictError,
  CountersignError,
  cancel,
  countersign,
  type Json,
  type Resume,
  type RunRequest,
  reject,
  respond,
  restart,
} from 'countersign';
import type { Store } from 'countersign/store';
import { LEASE_MS, waiting } from '../sub-agents/kit.ts';
import {
  firstStep,
  isBusy,
  MODEL_DOWN,
  newDice,
  openProcess,
  outputOf,
  type Process,
  type World,
} from './random-process.ts';

export const RUN_ID = 't';

const ROUNDS = 60;
const MOST_ROUNDS_TO_THE_END = 200;

type Decided =
  | { readonly type: 'approve' }
  | { readonly type: 'reject' | 'cancel'; readonly reason?: string }
  | { readonly type: 'respond'; readonly output: Json }
  | { readonly type: 'restart'; readonly resumed: Json };

/** A question and the decision of a person. */
type Answer = { readonly card: RunRequest; readonly decision: Decided };

/** A message, and whether it was acknowledged. */
type Said = { readonly text: string; isTaken: boolean };

/** The world, and the acknowledgements that people received. */
export type History = {
  readonly world: World;
  readonly said: Said[];
  /** The acknowledged decisions. */
  readonly taken: Answer[];
  /** Violations seen during the history. */
  readonly problems: string[];
  /** The acts of the history, to debug a failing seed. */
  readonly log: string[];
};

/** Starts something that runs concurrently with everything else. */
type Act = (history: History, process: Process) => unknown;

/** The acts of a round, each with its chance out of a hundred. Otherwise the round is empty. */
const ACTS: readonly (readonly [number, Act])[] = [
  [35, decideOne],
  [25, send],
  [8, die],
  [6, open],
  [8, sleepLong],
  [4, ({ world }) => world.pass(8_000)],
  [9, drive],
];
/** Only in some histories. */
const CANCELS: readonly [number, Act] = [1, cancelRun];

export function newHistory(seed: number, openStore: (clock: () => number) => Store): History {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const pass = (ms: number) => {
    now += ms;
  };
  const outside = { acted: new Map(), processes: new Set<Process>(), opened: 0 };
  const losesAnswers = seed % 3 === 0;
  const world = { dice: newDice(seed), store: openStore(clock), clock, pass, losesAnswers, calm: true, ...outside };
  return { world, said: [], taken: [], problems: [], log: [] };
}

/** Starts the run and plays the rounds. */
export async function live(history: History, cancels: boolean): Promise<void> {
  const { world } = history;
  const first = say(history, 'Go');
  await open(history).root.start(first.text, { runId: RUN_ID });
  first.isTaken = true;
  world.calm = false;
  const urn = (cancels ? [...ACTS, CANCELS] : ACTS).flatMap(([times, act]) => Array<Act>(times).fill(act));
  const nothing = Array<undefined>(100 - urn.length);
  for (let round = 0; round < ROUNDS; round += 1) {
    await world.dice.pause(12);
    const process = world.dice.pick([...world.processes]) ?? open(history);
    world.dice.pick([...urn, ...nothing])?.(history, process);
  }
  await world.dice.pause(700);
}

/** Kills all processes, and lets a new one bring the run to its end undisturbed. */
export async function finish(history: History): Promise<Process> {
  const { world, log } = history;
  for (const process of world.processes) process.kill();
  world.calm = true;
  log.push('all others die');
  const last = open(history);
  for (let round = 0; round < MOST_ROUNDS_TO_THE_END; round += 1) {
    const { status } = await last.runs.get(RUN_ID);
    if (status === 'done' || status === 'cancelled') break;
    world.pass(2 * LEASE_MS);
    await last.runs.drive(RUN_ID);
    await last.runs.settled();
    for (const { card, decision } of answersTo(world, await waiting(last.runs))) {
      log.push(`decides at the end: ${describeAnswer({ card, decision })}`);
      // A question that the run has settled meanwhile needs no decision.
      await last.runs.decide(card.id, decision).catch((error) => {
        if (!isHarmless(error)) throw error;
      });
      await last.runs.settled();
    }
  }
  return last;
}

function open({ world, log }: History): Process {
  const process = openProcess(world);
  log.push(`process ${process.nth} comes`);
  return process;
}

function die({ log }: History, { nth, kill }: Process): void {
  log.push(`process ${nth} dies`);
  kill();
}

/** Suspends one process for longer than its lease, and lets another drive the run. */
function sleepLong(history: History, { nth, sleep }: Process): void {
  const { world, log } = history;
  log.push(`process ${nth} sleeps for long`);
  sleep();
  world.pass(2 * LEASE_MS);
  drive(history, world.dice.pick([...world.processes].filter((other) => other.nth !== nth)) ?? open(history));
}

function drive(history: History, { nth, runs }: Process): void {
  attempt(history, `process ${nth} drives`, () => runs.drive(RUN_ID));
}

function cancelRun(history: History, { nth, runs }: Process): void {
  attempt(history, `process ${nth} cancels the run`, () => runs.cancel(RUN_ID));
}

/** Lets a person decide one question. Sometimes another person decides differently at the same moment. */
async function decideOne(history: History, process: Process): Promise<void> {
  const { world, problems, taken } = history;
  const card = world.dice.pick(await cards(world));
  const [answer] = answersTo(world, card ? [card] : []);
  if (!answer) return;
  const { id, digest, kind } = answer.card;
  const drive = world.dice.chance(0.7);
  let winner: string | undefined;
  const decide = (by: string, { nth, runs }: Process, decision: Decided) => {
    const mine = { ...answer, decision };
    attempt(history, `${by} decides in process ${nth}: ${describeAnswer(mine)}`, async () => {
      await runs.decide(id, decision, { drive, digest, by });
      if (winner) problems.push(`${winner} and ${by} both got an acknowledgement for deciding ${id}`);
      winner = by;
      taken.push(mine);
    });
  };
  decide('ann', process, answer.decision);
  if (kind === 'doubt' || !world.dice.chance(0.2)) return;
  const other = world.dice.pick([...world.processes]) ?? process;
  decide('bob', other, { type: 'reject', reason: 'not today' });
}

/** The user decides, sends a message, or both, and may abort. */
async function send(history: History, { nth, root }: Process): Promise<void> {
  const { world, taken } = history;
  const { dice } = world;
  const answers = answersTo(
    world,
    (await cards(world)).filter(() => dice.chance(0.5)),
  );
  const said = dice.chance(0.8) ? say(history, `words ${history.said.length}`) : undefined;
  if (!said && answers.length === 0) return;
  const impatience = new AbortController();
  void dice.pause(200).then(() => impatience.abort());
  const whilePending = dice.pick(['cancel', 'queue', 'queue', 'refuse'] as const) ?? 'queue';
  const parts = [...(said ? [`"${said.text}" (${whilePending})`] : []), ...answers.map(describeAnswer)];
  attempt(history, `the user says in process ${nth}: ${parts.join(', ')}`, async () => {
    await root.chat({ runId: RUN_ID, whilePending }).send({
      ...(said && { prompt: said.text }),
      ...(answers.length > 0 && { resume: resumeWith(answers) }),
      abortSignal: impatience.signal,
      by: 'user',
    });
    if (said) said.isTaken = true;
    taken.push(...answers);
  });
}

function say({ said }: History, text: string): Said {
  const words = { text, isTaken: false };
  said.push(words);
  return words;
}

/** Runs concurrently with everything else. */
function attempt({ log, problems }: History, what: string, work: () => Promise<unknown>): void {
  log.push(what);
  work().then(
    () => log.push(`  done: ${what}`),
    (error: unknown) => {
      log.push(`  failed: ${what}: ${error}`);
      if (!isHarmless(error)) problems.push(`${what}: ${error instanceof Error ? error.stack : error}`);
    },
  );
}

/** Conflicts and outages are expected, as long as the caller gets an error. */
function isHarmless(error: unknown): boolean {
  if (error instanceof ConflictError) return true;
  if (error instanceof CountersignError && HARMLESS.has(error.code)) return true;
  return error instanceof Error && (error.message.includes(MODEL_DOWN) || /aborted/i.test(error.message));
}

const HARMLESS: ReadonlySet<string> = new Set(['decision-pending', 'store-failed', 'invalid-resume']);

/** Lists the pending questions as the store has them. */
const cards = ({ store, clock }: World) => waiting(countersign({ store, clock }).runs);

function answersTo(world: World, asked: readonly RunRequest[]): readonly Answer[] {
  return asked.flatMap((card) => {
    const decision = decisionOn(card, world);
    return decision ? [{ card, decision }] : [];
  });
}

/** Decides like a person who knows the real effects, and waits while a call is still acting. */
function decisionOn({ kind, part, payload }: RunRequest, world: World): Decided | undefined {
  if (kind === 'doubt') {
    const key = String(part.metadata?.callId ?? part.toolRequest.ref);
    if (isBusy(world, key)) return undefined;
    if (world.acted.has(key)) return { type: 'respond', output: outputOf(key) };
    // A step that acted but is not recorded would act again.
    return { type: world.acted.has(firstStep(key)) ? 'reject' : 'approve' };
  }
  if (!world.calm && world.dice.chance(0.15))
    return world.dice.chance(0.5) ? { type: 'reject' } : { type: 'cancel', reason: 'changed my mind' };
  if (kind === 'interrupt') return { type: 'restart', resumed: (payload as { readonly n: number }).n };
  return { type: 'approve' };
}

/** Builds the resume of a chat from the decisions. */
function resumeWith(answers: readonly Answer[]): Resume {
  const of = (type: Decided['type']) => answers.filter(({ decision }) => decision.type === type).map(partOf);
  return {
    respond: of('respond'),
    restart: of('restart'),
    approve: of('approve'),
    reject: of('reject'),
    cancel: of('cancel'),
  };
}

function partOf({ card: { part }, decision }: Answer) {
  switch (decision.type) {
    case 'respond':
      return respond(part, decision.output);
    case 'restart':
      return restart(part, decision.resumed);
    case 'approve':
      return approve(part);
    case 'reject':
      return reject(part, decision.reason);
    case 'cancel':
      return cancel(part, decision.reason);
  }
}

const describeAnswer = ({ card, decision }: Answer) => `${card.tool} ${card.id} ${JSON.stringify(decision)}`;
