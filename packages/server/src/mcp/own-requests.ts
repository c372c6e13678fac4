// Who may decide through MCP. A model often holds the token of its client, and must not approve its own calls with it.
import { UsageError } from 'countersign';
import type { Person } from '../identity/person.ts';
import type { ApiRequest } from '../schemas/request.ts';

/** The options of the inbox as an MCP server. */
export type McpOptions = {
  /**
   * Lets callers who may also start runs decide through MCP, and decide requests of runs that they started. A model that has such a
   * token can then approve its own calls. False by default.
   */
  readonly allowOwnRequests?: boolean;
};

/** Throws `not-allowed` if this caller may not decide this request through MCP, whatever their other rights. */
export function refuseOwnRequests(
  { id: requestId, startedBy }: Pick<ApiRequest, 'id' | 'startedBy'>,
  person: Pick<Person, 'id' | 'scopes'>,
  rules: McpOptions | false,
): void {
  const refused = (why: string) => new UsageError('not-allowed', { status: 403, requestId }, why);
  if (rules === false) throw refused('Deciding through MCP is turned off here.');
  if (rules.allowOwnRequests) return;
  if (person.scopes.includes('start'))
    throw refused(
      'This token may start runs, so it cannot decide through MCP. Use one with the scopes read and decide.',
    );
  if (startedBy === person.id)
    throw refused(`${person.id} started this run, so its requests cannot be decided through MCP by ${person.id}.`);
}
