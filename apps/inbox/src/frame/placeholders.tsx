// Placeholders for content: loading, empty, and errors with a retry button.
import { type LucideIcon, RefreshCw, SearchX, Unplug } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Refusal, Unreachable } from '../api/request.ts';

export function LoadingPage() {
  return (
    <div className="flex-1 p-6">
      <Loading what="the page" />
    </div>
  );
}

/** The shape of a card while it loads. */
export function LoadingCard() {
  return (
    <div role="status" className="mx-auto w-full max-w-3xl px-4 pt-4 md:px-6 md:pt-6">
      <span className="sr-only">Loading the request…</span>
      <div aria-hidden="true" className="panel flex flex-col gap-4 p-5">
        <div className="skeleton h-3 w-1/4" />
        <div className="skeleton h-6 w-3/5" />
        <div className="skeleton h-28 w-full" />
        <div className="flex gap-2">
          <div className="skeleton h-9 w-24" />
          <div className="skeleton h-9 w-16" />
          <div className="skeleton h-9 w-20" />
        </div>
      </div>
    </div>
  );
}

/** Shows grey bars while content loads. */
export function Loading({ what, rows = 4 }: { readonly what: string; readonly rows?: number }) {
  return (
    <div role="status" className="flex flex-col gap-4">
      <span className="sr-only">Loading {what}…</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the bars are identical.
        <div key={row} aria-hidden="true" className="flex flex-col gap-2">
          <div className="skeleton h-4 w-2/5" />
          <div className="skeleton h-3 w-4/5" />
        </div>
      ))}
    </div>
  );
}

type EmptyProps = {
  readonly icon: LucideIcon;
  readonly title: string;
  readonly isHeading?: boolean;
  readonly children?: ReactNode;
};

export function Empty({ icon: Icon, title, isHeading = false, children }: EmptyProps) {
  const Title = isHeading ? 'h1' : 'p';
  return (
    <div className="flex flex-1 flex-col items-center justify-center gap-2 p-8 text-center">
      <span aria-hidden="true" className="mb-2 grid size-12 place-items-center rounded-full bg-sunken text-muted">
        <Icon strokeWidth={1.5} className="size-6" />
      </span>
      <Title className="text-base font-medium text-balance">{title}</Title>
      {children && <div className="max-w-sm text-pretty text-muted">{children}</div>}
    </div>
  );
}

type NothingHereProps = { readonly what: string; readonly isHeading?: boolean; readonly children?: ReactNode };

/** Not found. `children` is the way out. */
export function NothingHere({ what, isHeading = false, children }: NothingHereProps) {
  return (
    <Empty icon={SearchX} title={what} isHeading={isHeading}>
      Check the address, or search for it.
      <div className="mt-4 flex flex-wrap justify-center gap-2">
        {children ?? (
          <Link href="/" className="button">
            Open the inbox
          </Link>
        )}
      </div>
    </Empty>
  );
}

type TroubleProps = {
  readonly error: Error;
  readonly what: string;
  readonly onRetry: () => void;
  /** Where to go if it does not exist. */
  readonly children?: ReactNode;
};

/** `what` could not be loaded. */
export function Trouble({ error, what, onRetry, children }: TroubleProps) {
  if (error instanceof Refusal && error.status === 404)
    return <NothingHere what={`${what} does not exist, or you don't have access.`}>{children}</NothingHere>;
  return (
    <div role="alert" className="flex flex-1 flex-col items-center justify-center gap-3 p-8 text-center">
      <span aria-hidden="true" className="grid size-12 place-items-center rounded-full bg-danger-soft text-danger">
        <Unplug strokeWidth={1.5} className="size-6" />
      </span>
      <p className="text-base font-medium">{what} could not be loaded</p>
      <p className="max-w-sm text-muted wrap-anywhere">
        {error instanceof Unreachable
          ? `${error.message} Nothing is lost. Pending requests stay pending.`
          : error.message.slice(0, 300)}
      </p>
      <button type="button" className="button" onClick={onRetry}>
        <RefreshCw aria-hidden="true" className="size-4" />
        Try again
      </button>
    </div>
  );
}
