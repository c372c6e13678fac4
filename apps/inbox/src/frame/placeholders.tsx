// Placeholders for content: loading, empty, and errors with a retry button.
import { CircleOff, type LucideIcon, RefreshCw, Unplug } from 'lucide-react';
import type { ReactNode } from 'react';
import { Refusal, Unreachable } from '../api/request.ts';

export function LoadingPage() {
  return (
    <div className="flex-1 p-6">
      <Loading what="the page" />
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

type EmptyProps = { readonly icon: LucideIcon; readonly title: string; readonly children?: ReactNode };

export function Empty({ icon: Icon, title, children }: EmptyProps) {
  return (
    <div className="flex flex-1 flex-col items-center justify-center gap-2 p-8 text-center">
      <Icon aria-hidden="true" strokeWidth={1.5} className="size-8 text-muted" />
      <p className="text-base font-medium text-balance">{title}</p>
      {children && <div className="max-w-sm text-pretty text-muted">{children}</div>}
    </div>
  );
}

export function NothingHere({ what, children }: { readonly what: string; readonly children?: ReactNode }) {
  return (
    <Empty icon={CircleOff} title={what}>
      {children}
    </Empty>
  );
}

type TroubleProps = { readonly error: Error; readonly what: string; readonly onRetry: () => void };

/** `what` could not be loaded. */
export function Trouble({ error, what, onRetry }: TroubleProps) {
  if (error instanceof Refusal && error.status === 404)
    return <NothingHere what={`${what} does not exist, or you don't have access.`} />;
  return (
    <div role="alert" className="flex flex-1 flex-col items-center justify-center gap-3 p-8 text-center">
      <Unplug aria-hidden="true" strokeWidth={1.5} className="size-8 text-danger" />
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
