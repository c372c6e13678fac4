// `countersign comment <request> <text>`: says something about a pending request.
import type { Command } from 'commander';
import { headlineAndTool } from '../../text/card-text.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { type Action, type BackendOptions, withBackend, withExamples } from './options.ts';

export function addComment(program: Command, action: Action): void {
  const command = program
    .command('comment <request> <text>')
    .summary('comment on a pending request')
    .description(
      'Records a comment on a pending request. It decides nothing, and the model does not see it. @ann in the text names a person, who is told.',
    )
    .option('--by <person>', 'who comments (default: $USER); a server uses the token instead')
    .action(action(comment));
  withExamples(withBackend(command), [
    'countersign comment run_fJ3k:call_9 "@ben is this their new account?"',
    'ask a colleague',
  ]);
}

async function comment(output: Output, id: string, text: string, options: BackendOptions) {
  return useBackend(options, { agents: true }, async (backend) => {
    const card = await backend.card(id);
    await backend.comment(id, text);
    if (output.json) return output.document({ requestId: id, by: backend.person, text });
    output.line(`Recorded: your comment on ${headlineAndTool(card)}`);
  });
}
