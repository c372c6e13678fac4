// Where the link of `countersign dev` leads: to a chat until the first run was started, and then to the inbox.
import type { Countersign } from 'countersign';
import { SAMPLE } from '../../demo/sample.ts';

/** The link, with the page that it opens. */
export async function firstLink(ai: Countersign, loginUrl: string): Promise<string> {
  const agents = [...ai.agents.keys()];
  const { items } = await ai.runs.list({ limit: 2 });
  if (agents.length === 0 || items.some(({ startedBy }) => startedBy !== SAMPLE)) return loginUrl;
  const path = agents.length === 1 ? `/chat/${agents[0]}` : '/chat';
  return `${loginUrl}&to=${encodeURIComponent(path)}`;
}
