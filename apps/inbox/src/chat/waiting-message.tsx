// Says that the person's message waits for a decision of others, and lets them withdraw the request instead.
import { type ChatRequests, VisibleText } from '@countersign/react';
import { Hourglass } from 'lucide-react';
import type { Card } from '../api/wire.ts';

export function WaitingMessage({ requests: { requests, withdraw } }: { readonly requests: ChatRequests }) {
  const holding = requests.filter(({ holdsMessage }) => holdsMessage);
  const isOne = holding.length === 1;
  return (
    <div className="mb-4 flex flex-wrap items-center justify-between gap-3 rounded-md bg-sunken px-3 py-2">
      <p role="status" className="flex min-w-0 items-center gap-2">
        <Hourglass aria-hidden="true" className="size-4 shrink-0 text-muted" />
        <span className="wrap-anywhere">
          Your message waits until <VisibleText text={decidersOf(holding)} />.
        </span>
      </p>
      <button type="button" className="button" onClick={withdraw}>
        Withdraw the {isOne ? 'request' : 'requests'} and send now
      </button>
    </div>
  );
}

type Decided = Pick<Card, 'progress'>;

/** “finance has decided” */
export function decidersOf(requests: readonly Decided[]): string {
  const names = new Set(
    requests.flatMap(({ progress }) => {
      const missing = progress?.missing.flatMap(({ of: { people = [], roles = [] } }) => [...people, ...roles]) ?? [];
      return missing.length === 0 && progress?.assignedTo ? [progress.assignedTo] : missing;
    }),
  );
  if (names.size === 0 || names.size > MOST) return 'others have decided';
  return `${[...names].join(' or ')} ${names.size === 1 ? 'has' : 'have'} decided`;
}

const MOST = 4;
