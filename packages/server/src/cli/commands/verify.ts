// `countersign verify <file>`: checks an evidence file without a store or a server.
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { type Evidence, verifyEvidence } from 'countersign';
import type { EvidenceProblem, VerifiedEvidence } from 'countersign/store';
import { visibleLine } from '../../text/visible-text.ts';
import { CommandFailure, EXIT, type ExitCode } from '../failure.ts';
import { count } from '../print/evidence-page.ts';
import type { Output } from '../print/output.ts';
import { type Action, withExamples } from './options.ts';

export function addVerify(program: Command, action: Action): void {
  const command = program
    .command('verify <file>')
    .summary('check an evidence file, without the store')
    .description(
      'Checks each byte of a file that `countersign evidence` wrote, its chain, cards, decisions and signatures. The exit code is 1 if something does not hold. Needs no network.',
    )
    .option('--anchor <hash>', 'a hash of the file or of the run that you kept elsewhere')
    .action(action(verifyFile));
  withExamples(
    command,
    ['countersign verify run.json', 'every problem with its place'],
    ['countersign verify run.json --anchor sha256-9f2c…', 'also whether it was rewritten as a whole'],
  );
}

async function verifyFile(
  output: Output,
  file: string,
  { anchor }: { readonly anchor?: string; readonly json?: boolean },
): Promise<ExitCode> {
  const bytes = await readFile(file).catch((cause: Error) => {
    throw new CommandFailure(EXIT.notFound, 'not-found', `Cannot read ${visibleLine(file)}. ${cause.message}`, {
      cause,
    });
  });
  const verified = await verifyEvidence(bytes, anchor === undefined ? {} : { anchor });
  if (output.json) output.document(documentOf(verified));
  else printVerdict(verified, output);
  return verified.ok ? EXIT.ok : EXIT.failure;
}

function documentOf({ ok, problems, evidence, anchor }: VerifiedEvidence): object {
  const facts = evidence && {
    runId: evidence.run.id,
    hash: evidence.hash,
    chain: evidence.run.hash,
    ...countsOf(evidence),
  };
  return { ok, problems, ...facts, anchor };
}

function printVerdict({ ok, problems, evidence, anchor }: VerifiedEvidence, { line, style }: Output): void {
  if (!ok) line(`${style('red', 'does not verify')}: ${count(problems.length, 'problem')}`);
  printProblems(problems, line);
  if (!ok || !evidence) return;
  const { events, requests, decisions } = countsOf(evidence);
  line(
    `${style('green', 'verified')}: ${visibleLine(evidence.run.id)}, ${count(events, 'event')}, ${count(requests, 'request')}, ${count(decisions, 'decision')}`,
  );
  line(`hash   ${visibleLine(evidence.hash)}`);
  line(`chain  ${visibleLine(evidence.run.hash)}`);
  line(
    anchor === null
      ? style('dim', 'Without --anchor this does not show whether the whole file was written anew.')
      : `The anchor matches ${anchor}.`,
  );
}

export function printProblems(problems: readonly EvidenceProblem[], print: (text: string) => void): void {
  for (const { where, problem } of problems) print(`  ${visibleLine(where)}: ${visibleLine(problem)}`);
}

function countsOf({ events, requests }: Evidence) {
  const decisions = requests.filter(({ settled }) => settled?.decision).length;
  return { events: events.length, requests: requests.length, decisions };
}
