// `countersign recall <request>` and `countersign undo <request or run>`: takes an approved call back, before or after it ran.
import type { Command } from 'commander';
import { visibleLine } from '../../text/visible-text.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { type Action, type BackendOptions, withBackend, withExamples } from './options.ts';

type RecallOptions = BackendOptions & { readonly reason?: string };

export function addRecall(program: Command, action: Action): void {
  const command = program
    .command('recall <request>')
    .summary('recall an approved call before it starts')
    .description(
      'Recalls an approved call that waits to start (recallFor). Whoever asked for it or decided can do that.',
    )
    .option('--reason <text>', 'why; the model gets it')
    .option('--by <person>', 'who recalls it (default: $USER); a server uses the token instead')
    .action(action(recall));
  withExamples(withBackend(command), ['countersign recall run_fJ3k:call_9', 'the call does not run']);
}

async function recall(output: Output, id: string, { reason, ...options }: RecallOptions) {
  return useBackend(options, { agents: true }, async (backend) => {
    const recalled = await backend.recall(id, reason);
    if (output.json) return output.document(recalled);
    output.line(`Recalled: ${id} did not run.`);
  });
}

export function addUndo(program: Command, action: Action): void {
  const command = program
    .command('undo <request>')
    .summary('undo a call that ran, or the calls of a run')
    .description(
      'Asks for the undo of a call, or of a whole run, the newest call first. People decide each undo; repeat it to continue.',
    )
    .option('--by <person>', 'who asks for it (default: $USER); a server uses the token instead')
    .action(action(undo));
  withExamples(
    withBackend(command),
    ['countersign undo run_fJ3k:call_9', 'undo one call'],
    ['countersign undo run_fJ3k', 'undo the calls of a run'],
  );
}

async function undo(output: Output, id: string, options: BackendOptions) {
  return useBackend(options, { agents: true }, async (backend) => {
    const undoing = await backend.undo(id);
    if (output.json) return output.document(undoing);
    for (const { tool, status, message } of undoing.steps) output.line(`${tool}: ${status}. ${visibleLine(message)}`);
  });
}
