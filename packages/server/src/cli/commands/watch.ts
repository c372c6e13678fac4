// `countersign watch`: prints new requests, rings, and prints decisions.
import type { Command } from 'commander';
import { defined } from '../../defined.ts';
import { decisionLine, headline, smallPrint } from '../../text/card-text.ts';
import { shortTime } from '../../text/moment.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Backend, Card, CardQuery } from '../backend/backend.ts';
import { failureOf } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { STOP_SIGNALS, stopSignal } from '../runtime/stopping.ts';
import { createNews, type News } from '../watch/news.ts';
import { type Action, type BackendOptions, withBackend, withDecider, withExamples } from './options.ts';

type WatchOptions = BackendOptions & {
  readonly agent?: string;
  readonly tool?: string;
  readonly mine?: boolean;
  readonly bell: boolean;
};

export function addWatch(program: Command, action: Action): void {
  const command = program
    .command('watch')
    .summary('print new requests as they come, and ring')
    .description(
      'Prints a line for each new request and rings the bell of the terminal, then prints how it was decided. Runs until Ctrl-C. It prints no inputs; `countersign inbox` shows them.',
    )
    .option('--agent <name>', 'only requests of this agent')
    .option('--tool <name>', 'only requests of this tool')
    .option('--mine', 'only requests that you may decide and that are not assigned to someone else')
    .option('--no-bell', 'do not ring')
    .action(action(watch));
  withExamples(
    withBackend(withDecider(command)),
    ['countersign watch', 'the requests in this folder'],
    ['countersign watch --url https://approvals.example.com --mine', 'what waits for you on a server'],
    ['countersign watch --json', 'one line of JSON per request and decision'],
  );
}

async function watch(output: Output, options: WatchOptions): Promise<undefined> {
  const { agent, tool, mine = false, bell } = options;
  return useBackend(options, { agents: false }, async (backend) => {
    const query: CardQuery = defined({ agent, tool });
    const news = createNews(backend, query, (card) => !mine || isFor(card, backend.person));
    const waiting = await news.begin();
    if (output.json) output.document({ type: 'watching', pending: waiting }, ONE_LINE);
    output.note(`Watching ${visibleLine(backend.where)}: ${waiting} pending. Press Ctrl-C to stop.`);
    const signal = await follow(backend, news, (card) => print(card, bell, output), output);
    const [, code] = STOP_SIGNALS.find(([name]) => name === signal) ?? STOP_SIGNALS[0];
    await backend.close();
    process.exit(code);
  });
}

const isFor = ({ mayDecide, progress }: Card, person: string | undefined): boolean =>
  mayDecide && (!progress?.assignedTo || progress.assignedTo === person);

/** A change that is missed, because the stream of changes was refused or cut, is found this late. */
const LOOK_AGAIN_MS = 30_000;

/** Resolves with the signal that ends the command. Rejects if the server no longer knows the person. */
async function follow(
  backend: Backend,
  news: News,
  onNews: (card: Card) => void,
  output: Output,
): Promise<(typeof STOP_SIGNALS)[number][0]> {
  const refused = Promise.withResolvers<never>();
  let problem: string | undefined;
  const say = (now: string | undefined) => {
    if (now !== undefined && problem === undefined) output.note(now);
    if (now === undefined && problem !== undefined) output.note('Watching again.');
    problem = now;
  };
  const look = () =>
    news.next().then(
      (cards) => {
        say(undefined);
        for (const card of cards) onNews(card);
      },
      (error: unknown) => {
        const failure = failureOf(error);
        if (failure.code === 'not-authorized') refused.reject(failure);
        else say(`Cannot load requests since ${shortTime(Date.now())}: ${visibleLine(failure.message)} Retrying …`);
      },
    );
  const lost = () => `Lost connection to ${visibleLine(backend.where)} at ${shortTime(Date.now())}. Retrying …`;
  // After a new connection, the stream of changes says so, and `look` finds the requests that came meanwhile.
  const stop = backend.watch(
    () => void look(),
    (isConnected) => say(isConnected ? undefined : lost()),
  );
  const clock = setInterval(look, LOOK_AGAIN_MS);
  return Promise.race([stopSignal(), refused.promise]).finally(() => {
    stop();
    clearInterval(clock);
  });
}

function print(card: Card, bell: boolean, output: Output): void {
  const { id, runId, agent, tool, title, risk, startedBy, createdAt, expiresAt, mayDecide, status, decision } = card;
  const isNew = status === 'pending';
  if (output.json) {
    const { edit: _edit, output: _output, ...decided } = decision ?? {};
    const request = { id, runId, agent, tool, title, risk, startedBy, createdAt, expiresAt, mayDecide };
    output.document(
      { type: isNew ? 'opened' : 'settled', ...request, ...(decision && { decision: decided }) },
      ONE_LINE,
    );
  } else if (isNew) output.line(openedLine(card, output));
  else output.line(output.style('magenta', `  ${headline(card)}  ${decisionLine(card) || 'withdrawn'}  ${id}`));
  if (isNew && bell && process.stderr.isTTY) process.stderr.write('\u0007');
}

const ONE_LINE = { follow: true } as const;

/** As in `1:28 PM  Pay €950 to ACME · pay · high risk · assistant for ann  run_fJ3k:call_9`. */
function openedLine(card: Card, { style }: Output): string {
  const { createdAt, risk, agent, startedBy, id } = card;
  const who = `${visibleLine(agent)}${startedBy === null ? '' : ` for ${visibleLine(startedBy)}`}`;
  const parts = [style('bold', headline(card)), ...smallPrint(card), ...(risk ? [`${risk} risk`] : []), who];
  const text = parts.join(' · ');
  const time = style('dim', shortTime(createdAt ?? Date.now()));
  return `${time}  ${risk === 'high' ? style('yellow', text) : text}  ${style('dim', id)}`;
}
