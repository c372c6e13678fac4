// `countersign assign <request> [person]`: says who should decide a request.
import type { Command } from 'commander';
import { headlineAndTool } from '../../text/card-text.ts';
import { visibleLine } from '../../text/visible-text.ts';
import { usageFailure } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { type Action, type BackendOptions, withBackend, withExamples } from './options.ts';

type AssignOptions = BackendOptions & { readonly nobody?: boolean };

export function addAssign(program: Command, action: Action): void {
  const command = program
    .command('assign <request> [person]')
    .summary('say who should decide a request')
    .description(
      'Assigns a pending request to a person, who must be allowed to decide it. Others still may. It is recorded in the run.',
    )
    .option('--nobody', 'assign it to nobody')
    .option('--by <person>', 'who assigns it (default: $USER); a server uses the token instead')
    .action(action(assign));
  withExamples(
    withBackend(command),
    ['countersign assign run_fJ3k:call_9 ben', 'ben should decide it'],
    ['countersign assign run_fJ3k:call_9 --nobody', 'remove the assignment'],
  );
}

async function assign(output: Output, id: string, person: string | undefined, options: AssignOptions) {
  if ((person === undefined) !== (options.nobody === true))
    throw usageFailure('Name a person, or pass --nobody.', 'See: countersign assign --help');
  return useBackend(options, { agents: true }, async (backend) => {
    const card = await backend.card(id);
    await backend.assign(id, person ?? null);
    if (output.json) return output.document({ requestId: id, assignedTo: person ?? null });
    output.line(`Recorded: ${headlineAndTool(card)}, assigned to ${visibleLine(person ?? 'no person')}`);
  });
}
