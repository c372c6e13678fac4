// Shown when the connection dropped. The server keeps its record, so a retry never runs anything twice.

export function Trouble({ onRetry }: { readonly onRetry: () => void }) {
  return (
    <div
      role="alert"
      className="mt-4 flex flex-wrap items-center justify-between gap-3 rounded-xl bg-danger-soft px-4 py-3 text-sm text-danger"
    >
      <p>Connection dropped. Nothing was lost or run twice.</p>
      <button type="button" onClick={onRetry} className="button text-ink">
        Try again
      </button>
    </div>
  );
}
