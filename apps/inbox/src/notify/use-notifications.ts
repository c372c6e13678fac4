// Notifications while the page is open: one for each new request that waits for the person, until they decided it.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { mount } from '../api/mount.ts';
import { queryOf, request } from '../api/request.ts';
import type { ApiRequest, Me, Page } from '../api/wire.ts';
import { useNotifiesHere } from './choice.ts';
import { subscribe } from './push.ts';
import { worker } from './worker.ts';

const NEWEST = 50;

export function useNotifications(me: Me | undefined): void {
  const isOn = useNotifiesHere();
  const { data } = useQuery({
    // Fetched again after changes, like the other lists of requests.
    queryKey: ['requests', 'newest'],
    queryFn: ({ signal }) =>
      request<Page<ApiRequest>>(`requests${queryOf({ for: 'me', order: 'newest', limit: NEWEST })}`, {
        signal,
      }),
    enabled: isOn,
  });
  const person = me?.id;
  useEffect(() => {
    // Each time, because another person may have signed in. Without pushes, notifications end with the page.
    if (isOn && person !== undefined) subscribe().catch(ignore);
  }, [isOn, person]);
  const known = useRef<Known>(undefined);
  useEffect(() => {
    if (!isOn) known.current = undefined;
    else if (data && me) {
      const { next, fresh } = compared(known.current, data.items);
      known.current = next;
      for (const item of fresh) show(item).catch(ignore);
      closeOthers(data).catch(ignore);
    }
  }, [isOn, data, me]);
}

/** The browser took its permission back, or has no notifications: the list still shows the request. */
const ignore = () => undefined;

type Known = { readonly ids: ReadonlySet<string>; readonly since: number };

/** A request that is pending when the page opens is not new; neither is an older request that moved up into the list. */
function compared(
  known: Known | undefined,
  items: readonly ApiRequest[],
): { next: Known; fresh: readonly ApiRequest[] } {
  const since = Math.max(known?.since ?? 0, ...items.map(({ createdAt }) => createdAt ?? 0));
  const next = { ids: new Set([...(known?.ids ?? []), ...items.map(({ id }) => id)]), since };
  const isFresh = ({ id, createdAt }: ApiRequest) => known && !known.ids.has(id) && (createdAt ?? 0) >= known.since;
  return { next, fresh: items.filter(isFresh) };
}

/** Says no more than the title: others may see the screen. */
async function show({ id, title, tool, kind }: ApiRequest): Promise<void> {
  const registration = await worker();
  await registration.showNotification(title ?? tool, {
    body: kind === 'question' ? 'Waits for your answer.' : 'Waits for your decision.',
    tag: id,
    icon: new URL('icon-192.png', mount).href,
    data: { link: new URL(`requests/${encodeURIComponent(id)}`, mount).href },
  });
}

/** Closes the notifications of requests that no longer wait, if the list shows all that do. */
async function closeOthers({ items, cursor }: Page<ApiRequest>): Promise<void> {
  if (cursor !== null) return;
  const waiting = new Set(items.map(({ id }) => id));
  const shown = await (await worker()).getNotifications();
  for (const notification of shown) if (!waiting.has(notification.tag)) notification.close();
}
