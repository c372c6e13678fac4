// All cards that wait in a chat: a new one is announced, and the focus is never taken or lost.
import type { Problem, RequestCard } from 'countersign/ui';
import { Fragment, type ReactNode, type RefObject, useCallback, useEffect, useId, useRef, useState } from 'react';
import { useNamed, useWords } from './appearance.tsx';
import { ApprovalCard } from './card/approval-card.tsx';
import { DecisionSummary, OutcomeLine } from './card/decision-summary.tsx';
import { DraftKept, DraftsContext, isSent, type KeptDraft } from './card/draft-kept.tsx';
import { titleOf } from './card/title.ts';
import type { ChatLike } from './request.ts';
import { VisibleText } from './text/visible-text.tsx';
import { type UseRequests, type UseRequestsOptions, useRequests } from './use-requests.ts';
import { usePointerRest } from './watch/use-pointer-rest.ts';

type AnyCard = RequestCard<string, any>;

type Layout = {
  /** Replaces the card of an request; return undefined for the usual one. */
  readonly renderCard?: (request: AnyCard, actions: UseRequests<any>) => ReactNode | undefined;
  /** Where the focus goes when the last card is decided, such as the chat's input. */
  readonly returnFocus?: RefObject<HTMLElement | null>;
  readonly headingLevel?: 2 | 3 | 4 | 5 | 6;
  readonly className?: string;
};

/** Either the chat, or what `useRequests` returned for it. */
export type RequestsProps = Layout &
  (
    | ({ readonly chat: ChatLike; readonly requests?: never } & UseRequestsOptions)
    | { readonly requests: UseRequests<any>; readonly chat?: never }
  );

/** Shows every request that waits. */
export function Requests(props: RequestsProps) {
  if (props.requests) return <Cards {...props} actions={props.requests} />;
  return <RequestsOfChat {...props} />;
}

function RequestsOfChat({
  chat,
  api,
  watch,
  headers,
  credentials,
  fetch,
  ...layout
}: Layout & { readonly chat: ChatLike } & UseRequestsOptions) {
  return <Cards {...layout} actions={useRequests(chat, { api, watch, headers, credentials, fetch })} />;
}

function Cards({
  actions,
  renderCard,
  returnFocus,
  headingLevel = 3,
  className,
}: Layout & { readonly actions: UseRequests<any> }) {
  const named = useNamed();
  const words = useWords();
  const id = useId();
  const { requests, decided } = actions;
  const ids = requests.map((request) => request.id);
  const region = useFocusKept(ids, returnFocus);
  const rest = usePointerRest(ids);
  const announcement = useAnnouncement(actions);
  const { drafts, note, drop } = useDrafts();
  return (
    <section {...named('requests', className)} ref={region} style={rest} tabIndex={-1} aria-labelledby={`${id}-label`}>
      <span id={`${id}-label`} hidden>
        {words.waiting}
      </span>
      <output {...named('announcement')} style={OUT_OF_SIGHT}>
        {announcement}
      </output>
      {decided.map((request) => (
        <CameSecond key={request.id} request={request} problems={actions.problems(request.id)} />
      ))}
      {decided.map((request) => {
        const draft = drafts.get(request.id);
        if (!draft || isSent(draft, request.decision)) return null;
        return (
          <DraftKept key={request.id} draft={draft} onDismiss={() => drop(request.id)}>
            <OutcomeLine request={request} />
            <p>
              <VisibleText text={titleOf(request)} />
            </p>
          </DraftKept>
        );
      })}
      <DraftsContext.Provider value={note}>
        {requests.map((request) => (
          <div key={request.id} {...named('request')} data-request-id={request.id}>
            {renderCard?.(request, actions) ?? (
              <ApprovalCard request={request} actions={actions} headingLevel={headingLevel} />
            )}
          </div>
        ))}
      </DraftsContext.Provider>
    </section>
  );
}

/** What people were writing on cards that have left the list since. */
function useDrafts() {
  const [drafts, setDrafts] = useState<ReadonlyMap<string, KeptDraft>>(new Map());
  const change = useCallback((id: string, draft: KeptDraft | undefined) => {
    setDrafts((before) => {
      const after = new Map(before);
      if (draft) after.set(id, draft);
      else after.delete(id);
      return after;
    });
  }, []);
  return { drafts, note: change, drop: useCallback((id: string) => change(id, undefined), [change]) };
}

/** Shows the recorded decision to a user whose own decision came second. */
function CameSecond({ request, problems }: { readonly request: AnyCard; readonly problems: readonly Problem[] }) {
  const named = useNamed();
  if (problems.length === 0) return null;
  return (
    <div {...named('problems')} role="alert">
      {problems.map(({ message }) => (
        <p key={message}>
          <VisibleText text={titleOf(request)} />: <VisibleText text={message} />
        </p>
      ))}
      <DecisionSummary request={request} />
    </div>
  );
}

// Said by a screen reader and not seen; it says nothing that the cards do not show.
const OUT_OF_SIGHT = {
  position: 'absolute',
  width: '1px',
  height: '1px',
  overflow: 'hidden',
  clipPath: 'inset(50%)',
  whiteSpace: 'nowrap',
} as const;

/** What to say of cards that came since the last time. Only this is announced, not all that changes inside a card. */
function useAnnouncement({ requests }: UseRequests<any>): ReactNode {
  const words = useWords();
  const [known, setKnown] = useState<ReadonlySet<string>>(new Set());
  const [news, setNews] = useState<readonly { readonly id: string; readonly text: string }[]>([]);
  const key = requests.map(({ id }) => id).join('\n');

  // biome-ignore lint/correctness/useExhaustiveDependencies: a card that merely changed is not news.
  useEffect(() => {
    const fresh = requests.filter(({ id }) => !known.has(id));
    setKnown(new Set([...known, ...requests.map(({ id }) => id)]));
    if (fresh.length > 0 || requests.length === 0)
      setNews(fresh.map((card) => ({ id: card.id, text: words.announce(titleOf(card), card.kind) })));
  }, [key]);

  return news.map(({ id, text }) => (
    <Fragment key={id}>
      <VisibleText text={text} />{' '}
    </Fragment>
  ));
}

/**
 * When the card that has the focus goes, the focus goes to the next card: to the one that took its place, else to the one
 * before it, else to `returnFocus`, else to the region. A card that merely appears does not take it.
 */
function useFocusKept(ids: readonly string[], returnFocus: RefObject<HTMLElement | null> | undefined) {
  const region = useRef<HTMLElement>(null);
  const focused = useRef<string>(undefined);
  const before = useRef(ids);

  useEffect(() => {
    const place = region.current;
    if (!place) return;
    const onFocus = ({ target }: FocusEvent) => {
      focused.current =
        target instanceof Element ? target.closest<HTMLElement>('[data-request-id]')?.dataset.requestId : undefined;
    };
    const onBlur = ({ relatedTarget }: FocusEvent) => {
      // Without a new place the focus may have been lost with its element; then the effect below finds it one.
      if (relatedTarget !== null) focused.current = undefined;
    };
    place.addEventListener('focusin', onFocus);
    place.addEventListener('focusout', onBlur);
    return () => {
      place.removeEventListener('focusin', onFocus);
      place.removeEventListener('focusout', onBlur);
    };
  }, []);

  useEffect(() => {
    const was = before.current;
    before.current = ids;
    const lost = focused.current;
    if (lost === undefined || ids.includes(lost)) return;
    focused.current = undefined;
    if (document.activeElement !== null && document.activeElement !== document.body) return;
    const next = ids[Math.min(Math.max(was.indexOf(lost), 0), ids.length - 1)];
    const card = [...(region.current?.querySelectorAll<HTMLElement>('[data-request-id]') ?? [])].find(
      ({ dataset }) => dataset.requestId === next,
    );
    const heading = card?.querySelector<HTMLElement>('[data-countersign="heading"]') ?? card;
    (heading ?? returnFocus?.current ?? region.current)?.focus();
  });

  return region;
}
