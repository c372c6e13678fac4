// One request of a server: read from its address, and decided there.
import type { RequestCard } from 'countersign/ui';
import type { PostedDecision } from '../card/decision.ts';
import { ask, type WatchSource } from '../watch/ask.ts';

export async function loadCard(url: string, source: WatchSource): Promise<RequestCard> {
  const response = await ask(url, source);
  const said = await bodyOf(response);
  if (!response.ok) throw new Error(reasonIn(said, response));
  return said as unknown as RequestCard;
}

/** Resolves with the card as it is after the decision, or with the problems of the decision. */
export async function decideAt(
  url: string,
  card: RequestCard,
  { requestId: _, ...posted }: PostedDecision,
  source: WatchSource,
): Promise<RequestCard> {
  const response = await ask(`${url}/decide`, source, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(posted),
  });
  if (response.ok) return loadCard(url, source);
  const said = await bodyOf(response);
  const reason = reasonIn(said, response);
  if (Array.isArray(said.problems) && said.problems.length > 0) return { ...card, problems: said.problems };
  // Someone else was first, or the card has changed since.
  if (response.status === 409) return { ...(await loadCard(url, source)), problems: [{ path: [], message: reason }] };
  throw new Error(reason);
}

type Body = { readonly [key: string]: unknown };

async function bodyOf(response: Response): Promise<Body> {
  try {
    return await response.json();
  } catch {
    // A proxy answers with a page.
    return {};
  }
}

function reasonIn({ detail, title }: Body, { status }: Response): string {
  return [detail, title].find((text) => typeof text === 'string') ?? `The server returned ${status}.`;
}
