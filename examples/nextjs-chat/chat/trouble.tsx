// Shown when the connection dropped. The server keeps its record, so a retry never runs anything twice.

export function Trouble({ onRetry }: { readonly onRetry: () => void }) {
  return (
    <div
      role="alert"
      className="mt-4 flex flex-wrap items-center justify-between gap-3 rounded-xl border border-red-300 bg-red-50 px-4 py-3 text-sm text-red-900 dark:border-red-900 dark:bg-red-950/60 dark:text-red-100"
    >
      <p>Connection dropped. Nothing was lost or run twice.</p>
      <button
        type="button"
        onClick={onRetry}
        className="rounded-lg border border-red-300 bg-white px-3 py-1.5 font-medium hover:bg-red-100 dark:border-red-800 dark:bg-red-950 dark:hover:bg-red-900"
      >
        Try again
      </button>
    </div>
  );
}
