// `countersign channels list|check|test|failed|retry`: the channels for notices about requests, and failed deliveries.
import type { Command } from 'commander';
import type { ServerChannel } from '../../../channels/server-channel.ts';
import { defined } from '../../../defined.ts';
import { timeText } from '../../../text/moment.ts';
import { visibleLine } from '../../../text/visible-text.ts';
import { CommandFailure, EXIT, type ExitCode, usageFailure } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import { useBackend } from '../../runtime/lazy-opening.ts';
import {
  type Action,
  type BackendOptions,
  groupOf,
  type PageOptions,
  withBackend,
  withExamples,
  withPage,
} from '../options.ts';

export function addChannels(program: Command, action: Action): void {
  const channels = groupOf(program, 'channels')
    .summary('list and test channels, and try failed deliveries again')
    .description(
      'Channels tell people about requests: by mail, in Slack, through webhooks. They are set up in countersign.config.ts.',
    );
  withExamples(
    channels,
    ['countersign channels test mail --to ann@example.com', 'send a sample'],
    ['countersign channels failed', 'what could not be delivered'],
  );
  const list = channels
    .command('list')
    .summary('list channels, with what waits and what failed')
    .description('Lists the channels that any process has, with the number of notices that wait or were given up.')
    .action(action(listChannels));
  withExamples(withBackend(list), ['countersign channels list --json', 'as JSON']);
  const test = channels
    .command('test <channel>')
    .summary('send a sample')
    .description('Checks a channel of countersign.config.ts, and sends a sample through it.')
    .requiredOption('--to <address>', 'who gets the sample: a mail address, a Slack channel, or a URL')
    .option('--agents <file>', 'file with your agents (default: countersign.config.ts or agents.ts)')
    .action(action(testChannel));
  withExamples(test, ['countersign channels test mail --to ann@example.com', 'send a sample mail']);
  const failed = channels
    .command('failed')
    .summary('list notices that were given up')
    .description('Lists notices that a channel could not deliver, with the last error. They stay for a month.')
    .option('--channel <name>', 'only those of this channel')
    .action(action(listFailed));
  withExamples(withBackend(withPage(failed)), ['countersign channels failed --channel mail', 'of one channel']);
  const retry = channels
    .command('retry [id]')
    .summary('try failed notices again')
    .description('Tries a notice again that was given up, or all of them with --all. A running worker delivers it.')
    .option('--channel <name>', 'only those of this channel')
    .option('--all', 'all of them')
    .action(action(retryFailed));
  withExamples(withBackend(retry), [
    'countersign channels retry --all --channel mail',
    'after the mail server is back',
  ]);
}

async function listChannels(output: Output, options: BackendOptions) {
  return useBackend(options, { agents: false }, async (backend) => {
    const items = await backend.notices.channels();
    if (output.json) return output.document({ items });
    if (items.length === 0) return output.note(`No process with a channel has used ${visibleLine(backend.where)}.`);
    const rows = items.map(({ name, waiting, dead, lastDeliveredAt, lastError }) => [
      name,
      String(waiting),
      String(dead),
      lastDeliveredAt === null ? '' : timeText(lastDeliveredAt),
      visibleLine(lastError ?? ''),
    ]);
    output.table(['CHANNEL', 'WAITING', 'FAILED', 'LAST DELIVERY', 'LAST ERROR'], rows);
  });
}

async function testChannel(
  output: Output,
  name: string,
  { to, agents }: { readonly to: string; readonly agents?: string },
): Promise<ExitCode> {
  const channel = await configuredChannel(name, agents);
  try {
    await channel.check?.();
    if (!channel.sample) throw usageFailure(`The channel ${name} cannot send a sample. Its set-up is valid.`);
    const sent = await channel.sample(to);
    if (output.json) output.document({ ok: true, channel: name, sent });
    else output.line(visibleLine(sent));
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(EXIT.failure, 'channel-failed', `${name}: ${(error as Error).message}`, { cause: error });
  } finally {
    await channel.close?.();
  }
}

async function configuredChannel(name: string, agents: string | undefined): Promise<ServerChannel> {
  const { configuredChannels } = await import('../../runtime/configured-channels.ts');
  const channels = await configuredChannels(agents);
  const found = channels.find((channel) => channel.name === name);
  if (found) return found;
  const names = channels.map((channel) => channel.name).join(', ');
  throw new CommandFailure(EXIT.notFound, 'unknown-channel', `There is no channel ${name} here.`, {
    hint: names === '' ? 'Export `channels` from countersign.config.ts' : `Channels: ${names}`,
  });
}

type FailedOptions = BackendOptions & { readonly channel?: string };

async function listFailed(output: Output, { channel, limit, cursor, ...options }: FailedOptions & PageOptions) {
  return useBackend(options, { agents: false }, async (backend) => {
    const page = await backend.notices.dead(defined({ channel, limit, cursor }));
    if (output.json) return output.document(page);
    if (page.items.length === 0) return output.note('Nothing was given up.');
    const rows = page.items.map((letter) => [
      letter.id,
      letter.channel,
      visibleLine(letter.person ?? ''),
      letter.types.join(', '),
      timeText(letter.at),
      visibleLine(letter.error),
    ]);
    output.table(['ID', 'CHANNEL', 'PERSON', 'NOTICES', 'GIVEN UP', 'ERROR'], rows);
    if (page.cursor !== null) output.note(`More: --cursor ${page.cursor}`);
  });
}

async function retryFailed(
  output: Output,
  id: string | undefined,
  { channel, all, ...options }: FailedOptions & { readonly all?: boolean },
) {
  if ((id === undefined) === (all !== true)) throw usageFailure('Name one notice, or pass --all.');
  const { allItems } = await import('../../../all-items.ts');
  return useBackend(options, { agents: false }, async ({ notices }) => {
    const letters = await allItems(({ cursor }) => notices.dead(defined({ channel, cursor, limit: 200 })));
    const wanted = letters.filter((letter) => all === true || letter.id === id);
    if (id !== undefined && wanted.length === 0)
      throw new CommandFailure(EXIT.notFound, 'unknown-delivery', `No failed notice has the id ${id}.`);
    for (const letter of wanted) await notices.retry(letter);
    if (output.json) return output.document({ retried: wanted.length });
    output.line(`${wanted.length} ${wanted.length === 1 ? 'notice is' : 'notices are'} tried again.`);
  });
}
