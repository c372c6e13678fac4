// Deciding the open card: sent to the server, and shown as decided only when the server has recorded it.
import { type Decision, decisionOutcome, titleOf, type UseRequests, useWords } from '@countersign/react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { requestQuery } from '../api/queries.ts';
import { Refusal, request } from '../api/request.ts';
import type { ApiRequest, Card, Decided, DecideResult, Waiting } from '../api/wire.ts';
import type { GrantRequest } from '../grants/wire.ts';
import { exactly } from '../live/time.tsx';
import { drillWords, OUTCOME_WORDS, outcomeWord } from '../look/words.ts';
import { isUnsigned, signDecision } from '../passkeys/sign.ts';
import { showToast } from '../primitives/toasts.tsx';
import { askedAgain, changedIn, decidedRequest, mayRun, tellOutcome } from './after-decision.ts';
import { removeRow } from './use-decided-row.ts';
import { useSeenFor } from './use-seen-for.ts';

export type UseDecisions = {
  /** For the card component. */
  readonly actions: UseRequests<any>;
  /** Approves the card, and allows the next calls. */
  readonly allow: (card: Card, grant: GrantRequest, note: string) => void;
  /** Someone else decided first, or the card has changed. */
  readonly conflict: string | undefined;
  /** The edit was refused, because nobody could approve it; the user may record it all the same. */
  readonly outOfReach: { readonly message: string; readonly confirm: () => void } | undefined;
};

type Sent = {
  readonly card: Card;
  readonly decision: Decision;
  readonly note?: string | undefined;
  readonly grant?: GrantRequest | undefined;
  readonly evenIfOutOfReach?: true;
};

/** The server takes no longer time than a day. */
const LONGEST_SEEN_MS = 86_400_000;

function record(
  { card, decision, note, grant, evenIfOutOfReach }: Sent,
  seenForMs: number,
  signature?: Signature,
): Promise<DecideResult> {
  return request<DecideResult>(`requests/${encodeURIComponent(card.id)}/decide`, {
    method: 'POST',
    // The digest binds the decision to the card that was shown.
    body: {
      decision,
      ...(card.digest !== '' && { digest: card.digest }),
      ...(note !== undefined && note !== '' && { note }),
      ...(grant && { grant }),
      ...(evenIfOutOfReach && { evenIfOutOfReach }),
      ...(signature && { signature }),
      seenForMs,
    },
  });
}

type Signature = Awaited<ReturnType<typeof signDecision>>;

/**
 * `onDecided` is called when the server has recorded the decision, `onAskedAgain` when others must agree to an edit, which is a new
 * request.
 */
export function useDecisions(
  request: ApiRequest,
  onDecided: () => void,
  onAskedAgain: (requestId: string) => void,
): UseDecisions {
  const client = useQueryClient();
  const texts = useWords();
  const seenFor = useSeenFor(request.id);
  const decide = useMutation({
    mutationFn: (sent: Sent) => {
      const seenForMs = Math.min(seenFor(), LONGEST_SEEN_MS);
      return record(sent, seenForMs).catch(async (error: unknown) => {
        if (!isUnsigned(error)) throw error;
        return record(sent, seenForMs, await signDecision(sent.card, sent.decision));
      });
    },
    onSuccess: async (result) => {
      if (result.status === 'waiting') return waitOn(result);
      const { decision, drill } = result;
      const again = mayRun(decision.type) ? await askedAgain(client, request) : undefined;
      if (again) {
        showToast('not-run', `Not sent: ${changedIn(again)} changed. Please look again.`);
        onAskedAgain(again.id);
        return removeRow(client, request.id);
      }
      const outcome = decisionOutcome(decidedAs(decision)) ?? 'withdrawn';
      const href = `/history/${encodeURIComponent(request.id)}`;
      // After an edit, the headline is that of what runs.
      const shown = 'edit' in decision ? await decidedRequest(client, request) : request;
      const words = drill ? drillWords(outcome) : `${outcomeWord(outcome, request)}: ${titleOf(shown)}`;
      const say = showToast(outcome, words, href);
      if (!drill && mayRun(decision.type)) void tellOutcome(client, request, texts, say);
      // The next request first: once the row is gone, its place is not known.
      onDecided();
      removeRow(client, request.id);
    },
    onError: () => {
      isSent.current = false;
    },
    // Recorded or refused: show the server's state.
    onSettled: async () => {
      void client.invalidateQueries({ queryKey: ['requests'] });
      void client.invalidateQueries({ queryKey: ['grants'] });
      await client.invalidateQueries({ queryKey: requestQuery(request.id).queryKey });
    },
  });
  const { error, isPending } = decide;

  function waitOn(waiting: Waiting) {
    isSent.current = false;
    showToast('done', `Your vote is recorded. ${missingText(waiting.missing)}`);
    // From now on it waits for others.
    removeRow(client, request.id);
    // An edit that others must agree to is a new request.
    if (waiting.requestId !== request.id) onAskedAgain(waiting.requestId);
  }

  // A second click may come before the page has shown what the first one did.
  const isSent = useRef(false);
  function send(card: Card | string, decision: Decision, { note, grant }: Pick<Sent, 'note' | 'grant'> = {}) {
    if (isSent.current || typeof card === 'string') return;
    isSent.current = true;
    decide.mutate({ card, decision, note, grant });
  }
  const because = (reason: string | undefined) => (reason === undefined || reason === '' ? {} : { reason });
  const problems = error instanceof Refusal ? error.problems : [];
  const failure = error && !isConflict(error) && problems.length === 0 ? error : undefined;
  const stuck = isOutOfReach(error) ? error : undefined;

  const actions: UseRequests<any> = {
    approve: (card, options = {}) =>
      send(card, { type: 'approve', ...('edit' in options && { edit: options.edit }) }, options),
    edit: (card, input, options) => send(card, { type: 'approve', edit: input }, options),
    reject: (card, reason, options) => send(card, { type: 'reject', ...because(reason) }, options),
    revise: (card, comment, options) => send(card, { type: 'revise', comment }, options),
    respond: (card, output, options) => send(card, { type: 'respond', output }, options),
    restart: (card, { note, ...said } = {}) => send(card, { type: 'restart', ...said }, { note }),
    cancel: (card, reason, options) => send(card, { type: 'cancel', ...because(reason) }, options),
    requests: [request],
    decided: [],
    isPending: request.status === 'pending',
    deciding: new Set(isPending ? [request.id] : []),
    problems: () => problems,
    failure: () => failure,
    error: failure,
  };
  const allow: UseDecisions['allow'] = (card, grant, note) => send(card, { type: 'approve' }, { note, grant });
  const conflict = isConflict(error) && !stuck ? conflictText(error) : undefined;
  const confirm = () => decide.variables && decide.mutate({ ...decide.variables, evenIfOutOfReach: true });
  return { actions, allow, conflict, outOfReach: stuck && { message: stuck.message, confirm } };
}

/** “Waiting for 1 more of finance.” */
export function missingText(missing: Waiting['missing']): string {
  const groups = missing.map(({ of: { people = [], roles = [] }, count }) => {
    const names = [...people, ...roles].join(' or ');
    return `${count} more of ${names === '' ? 'anyone' : names}`;
  });
  return `Waiting for ${groups.join(' and ')}.`;
}

const isConflict = (error: unknown): error is Refusal => error instanceof Refusal && error.status === 409;

const isOutOfReach = (error: unknown): error is Refusal => isConflict(error) && error.code === 'out-of-reach';

function conflictText({ settlement, message }: Refusal): string {
  return settlement?.decision ? settlementText(settlement) : message;
}

/** “ben already approved this at …” */
export function settlementText(settlement: Partial<Decided>): string {
  if (!settlement.decision) return 'It was withdrawn. Nothing is left to decide.';
  const outcome = OUTCOME_WORDS[decisionOutcome(decidedAs(settlement.decision)) ?? 'withdrawn'].toLowerCase();
  const when = settlement.at === undefined ? '' : ` at ${exactly(settlement.at)}`;
  return `${settlement.by ?? 'Someone else'} already ${outcome} this${when}. Your decision was not saved.`;
}

/** The decision as a card has it. */
export const decidedAs = (decision: Decided['decision']) =>
  ({
    status: 'decided',
    decision: { by: null, at: null, channel: 'inbox', note: null, ...decision } as Card['decision'],
  }) as const;
