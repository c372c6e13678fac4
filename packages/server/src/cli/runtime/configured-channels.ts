// The channels that a project sets up, for commands that try them.
import type { ServerChannel } from '../../channels/server-channel.ts';
import { loadAgentsFile } from './agents-file.ts';
import { findAgentsFile } from './finding-agents-file.ts';

export async function configuredChannels(named: string | undefined): Promise<readonly ServerChannel[]> {
  const file = findAgentsFile(named);
  return file === undefined ? [] : ((await loadAgentsFile(file)).server.channels ?? []);
}
