// The ways a request can end, their colours, and the key to them.

export const OUTCOMES = [
  { name: 'approved', word: 'Approved', fill: 'fill-approved', background: 'bg-approved' },
  { name: 'rejected', word: 'Rejected', fill: 'fill-rejected', background: 'bg-rejected' },
  { name: 'answered', word: 'Answered', fill: 'fill-answered', background: 'bg-answered' },
  { name: 'cancelled', word: 'Cancelled', fill: 'fill-cancelled', background: 'bg-cancelled' },
  { name: 'expired', word: 'Expired', fill: 'fill-expired', background: 'bg-expired' },
] as const;

type Key = { readonly name: string; readonly word: string; readonly background: string };

export function ChartKeys({ keys }: { readonly keys: readonly Key[] }) {
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      {keys.map(({ name, word, background }) => (
        <li key={name} className="inline-flex items-center gap-1.5">
          <span aria-hidden="true" className={`size-2.5 rounded-sm forced-color-adjust-none ${background}`} />
          {word}
        </li>
      ))}
    </ul>
  );
}
