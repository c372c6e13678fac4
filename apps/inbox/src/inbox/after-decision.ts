// What comes after a decision that lets a call run: it may ask again, and it ends in some way.
import { cameText, inWords, outcomeOf, titleOf, type Words } from '@countersign/react';
import type { QueryClient } from '@tanstack/react-query';
import { requestQuery } from '../api/queries.ts';
import { queryOf, request } from '../api/request.ts';
import type { ApiRequest, Page } from '../api/wire.ts';
import type { showToast } from '../primitives/toasts.tsx';

/** Decisions after which the call runs. */
export const mayRun = (type: string): boolean => type === 'approve' || type === 'restart';

/** A call may take longer; then the history has its outcome. */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 700;

/** The request as it was decided; as it was asked, if it cannot be read now. */
export const decidedRequest = (client: QueryClient, asked: ApiRequest): Promise<ApiRequest> =>
  client.fetchQuery({ ...requestQuery(asked.id), staleTime: 0 }).catch(() => asked);

/** How long a card with a preview stays, in case the preview has changed. */
const LOOK_FOR_MS = 1_000;

/** The request that the call asks instead, because its preview has changed since the card was shown. */
export async function askedAgain(
  client: QueryClient,
  { id, runId, preview }: ApiRequest,
): Promise<ApiRequest | undefined> {
  const until = Date.now() + LOOK_FOR_MS;
  while (preview !== null && Date.now() < until) {
    const found = await client.fetchQuery({ ...requestQuery(id), staleTime: 0 }).catch(() => undefined);
    if (!found?.outcome) return undefined;
    if (found.outcome.state === 'not-run') {
      const page = await request<Page<ApiRequest>>(`requests${queryOf({ runId, tool: found.tool })}`).catch(
        () => undefined,
      );
      return page?.items.find(({ earlierPreview }) => earlierPreview !== null);
    }
    if (found.outcome.state !== 'running') return undefined;
    await new Promise((resolve) => setTimeout(resolve, LOOK_FOR_MS / 8));
  }
  return undefined;
}

/** As in `the recipient`. */
export function changedIn({ preview, earlierPreview }: ApiRequest): string {
  const [before, after] = [earlierPreview, preview].map((one) => (one && 'value' in one ? one.value : undefined));
  const fields = (value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  const [was, is] = [fields(before), fields(after)] as const as readonly Record<string, unknown>[];
  const names = Object.keys({ ...was, ...is }).filter(
    (name) => JSON.stringify(was?.[name]) !== JSON.stringify(is?.[name]),
  );
  const shown = names.slice(0, MOST_NAMED).map((name) => `the ${inWords(name).toLowerCase()}`);
  return names.length === 0 || names.length > MOST_NAMED ? 'what would happen has' : shown.join(' and ');
}

const MOST_NAMED = 2;

/** Says what came of the call that was let run, once it is known. */
export async function tellOutcome(
  client: QueryClient,
  { id }: ApiRequest,
  texts: Words,
  say: ReturnType<typeof showToast>,
): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    const found = await client.fetchQuery({ ...requestQuery(id), staleTime: 0 }).catch(() => undefined);
    const came = found && cameText(found.outcome, texts);
    if (!came || found.outcome?.state === 'running') continue;
    return say(outcomeOf(found) ?? 'approved', `${titleOf(found)}. ${came}`);
  }
}
