// `countersign evidence <run>`: writes one file with everything that shows how a run was decided.
import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { verifyEvidence } from 'countersign';
import { visibleLine } from '../../text/visible-text.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { type Action, type BackendOptions, withBackend, withExamples } from './options.ts';
import { printProblems } from './verify.ts';

type EvidenceOptions = BackendOptions & { readonly out?: string; readonly html?: string };

export function addEvidence(program: Command, action: Action): void {
  const command = program
    .command('evidence <run>')
    .summary('write a file that shows how a run was decided')
    .description(
      'Writes the events of a run, the cards as people saw them and their decisions as one JSON file that can be verified without the store. The exit code is 1 if the record does not verify.',
    )
    .option('-o, --out <file>', 'write the JSON to this file instead of stdout')
    .option('--html <file>', 'also write a page for reading and printing')
    .action(action(writeEvidence));
  withExamples(
    withBackend(command),
    ['countersign evidence run_fJ3k --out run.json --html run.html', 'for the files of an audit'],
    ['countersign evidence run_fJ3k > run.json', 'the same JSON on stdout'],
  );
}

async function writeEvidence(output: Output, runId: string, options: EvidenceOptions): Promise<ExitCode> {
  let text = '';
  await useBackend(options, { agents: false }, async (backend) => {
    text = await backend.evidence(runId);
  });
  return write(text, options, output);
}

async function write(text: string, { out, html }: EvidenceOptions, output: Output): Promise<ExitCode> {
  const { evidence, problems } = await verifyEvidence(text);
  if (html !== undefined && evidence) {
    const { evidencePage } = await import('../print/evidence-page.ts');
    await writeFile(html, evidencePage(evidence, problems));
  }
  // The bytes count, so nothing is escaped or indented differently.
  if (out === undefined && html === undefined) output.line(text.trimEnd());
  if (out !== undefined) await writeFile(out, text);
  const files = [out, html].filter((file) => file !== undefined);
  if (files.length > 0 && output.json) output.document({ files, hash: evidence?.hash ?? null, problems });
  else if (files.length > 0) {
    output.line(`Wrote ${files.map(visibleLine).join(' and ')}.`);
    output.line(`Hash: ${evidence?.hash}`);
    output.note('Keep the hash in another place: it shows later whether someone rewrote the file as a whole.');
  }
  if (problems.length === 0) return EXIT.ok;
  if (!output.json) printProblems(problems, output.note);
  return EXIT.failure;
}
