// What people write after `/countersign` in Slack: freeze calls, or lift a freeze.
import { UsageError } from 'countersign';
import type { Person } from '../../identity/person.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { ChannelHost } from '../server-channel.ts';
import type { Place } from './tell.ts';

/** A command, and where its answer goes. */
export type SlackCommand = { readonly place: Place; readonly text: string };

/** Undefined if the body is no command. */
export function commandIn(body: string): SlackCommand | undefined {
  const given = new URLSearchParams(body);
  const user = given.get('user_id');
  if (!given.has('command') || user === null) return undefined;
  const responseUrl = given.get('response_url');
  return { place: { user, ...(responseUrl !== null && { responseUrl }) }, text: given.get('text')?.trim() ?? '' };
}

const HELP =
  'Write `/countersign freeze pay transfer_*: why` to freeze these tools, `/countersign freeze *: why` to freeze every call, or `/countersign unfreeze ID`.';

/** Does what was written, and returns what to answer. */
export async function answerTo(text: string, person: Person, host: ChannelHost): Promise<string> {
  const [, names, reason] = /^freeze\s+([^:]+):\s*(.+)$/s.exec(text) ?? [];
  const [, lifted] = /^unfreeze\s+(\S+)$/.exec(text) ?? [];
  try {
    if (names !== undefined && reason !== undefined) {
      const tools = names.trim().split(/[\s,]+/);
      const { id, running } = await host.freeze(person, { reason, ...(tools.join() !== '*' && { tools }) });
      const still = running.map(({ tool }) => visibleLine(tool)).join(', ');
      return `Frozen. ${still === '' ? 'No covered call was running.' : `Still running: ${still}.`} Lift it with \`/countersign unfreeze ${id}\`.`;
    }
    if (lifted === undefined) return HELP;
    const freeze = await host.lift(person, lifted);
    return freeze.lifted ? 'Lifted. The calls that waited go on.' : 'Your vote is recorded. Others must agree, too.';
  } catch (error) {
    if (error instanceof UsageError) return visibleLine(error.message);
    throw error;
  }
}
