// Says on every page that the server is not reached, and tries again.
import { RefreshCw, WifiOff } from 'lucide-react';
import type { Live } from '../live/changes.ts';

export function OfflineBanner({ live: { connection, retry } }: { readonly live: Live }) {
  return (
    <div role="status" aria-label="Connection" className="contents">
      {connection === 'lost' && (
        <div className="flex shrink-0 items-center gap-2.5 border-b border-warning/30 bg-warning-soft px-4 py-1 text-warning">
          <WifiOff aria-hidden="true" className="size-4 shrink-0" />
          <p className="min-w-0 flex-1">
            <span className="font-medium">Connection lost.</span>{' '}
            <span className="max-sm:sr-only">What you see may be out of date. </span>
            Reconnecting…
          </p>
          <button
            type="button"
            className="inline-flex min-h-8 shrink-0 items-center gap-1.5 rounded-md px-2 font-medium underline-offset-2 hover:underline max-md:min-h-11"
            onClick={retry}
          >
            <RefreshCw aria-hidden="true" className="size-4" />
            Retry now
          </button>
        </div>
      )}
    </div>
  );
}
