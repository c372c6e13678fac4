// `countersign link <person>`: a one-time link that signs a person in to a running server.
import type { Command } from 'commander';
import { defined } from '../../../defined.ts';
import { visibleLine } from '../../../text/visible-text.ts';
import { usageFailure } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import { useNotes } from '../../runtime/lazy-opening.ts';
import {
  type Action,
  DEFAULT_PORT,
  httpUrl,
  type RightsOptions,
  rightsText,
  type StoreOptions,
  withExamples,
  withRights,
  withStore,
} from '../options.ts';

type LinkOptions = StoreOptions & RightsOptions & { readonly publicUrl?: string };

/** Where a server is if nothing else is said. */
export const DEFAULT_URL = `http://localhost:${DEFAULT_PORT}`;

export function addLink(program: Command, action: Action): void {
  const command = program
    .command('link <person>')
    .summary('create a one-time sign-in link for a browser')
    .description(
      [
        'Creates a link that signs this person in to the inbox, once and within 10 minutes, and prints it. Run it beside the server, on the same store; the server need not restart.',
        'Decisions made there are recorded under this person. Without --all the person sees only the runs that they started, and what your policies add.',
      ].join('\n\n'),
    );
  withRights(command)
    .option('--public-url <url>', `address of the server (default: from your agents file, or ${DEFAULT_URL})`, httpUrl)
    .action(action(createLink));
  withExamples(
    withStore(command),
    ['countersign link ann --all', 'for an approver'],
    ['countersign link ann --public-url https://approvals.example.com', 'for a server behind a proxy'],
  );
}

async function createLink(output: Output, person: string, options: LinkOptions): Promise<undefined> {
  const { isPersonId, personOf } = await import('../../../identity/person.ts');
  const { createLoginToken, loginPath } = await import('../../../identity/sessions.ts');
  if (!isPersonId(person)) throw usageFailure('A person id has 1 to 200 characters.', 'Example: countersign link ann');
  const { all } = options;
  const given = defined({ scopes: options.scopes, roles: options.role });
  const identified = { id: person, ...given, reach: all ? ('all' as const) : ('own' as const) };
  return useNotes(options, 'existing', async (notes, { publicUrl, basePath = '' }) => {
    const token = await createLoginToken(notes, identified);
    const address = (options.publicUrl ?? publicUrl ?? DEFAULT_URL).replace(/\/$/, '');
    const loginUrl = `${address}${loginPath(basePath, token)}`;
    const { scopes, reach, roles } = personOf(identified);
    const rights = { scopes, reach, roles };
    if (output.json) return output.document({ loginUrl, person, ...rights });
    output.line(loginUrl);
    output.note(`Signs in ${visibleLine(person)} (${rightsText(rights)}), once and within 10 minutes.`);
  });
}
