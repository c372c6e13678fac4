// An empty chat with suggestions to start with.

const SUGGESTIONS = [
  { title: 'Pay the two invoices', about: 'Two approvals at once; edit one if you like' },
  { title: 'Write Bob a mail', about: 'An approval with a text to edit' },
  { title: 'Plan the team lunch', about: 'A question first, then a mail' },
  { title: 'How is the weather in Lisbon?', about: 'No approval needed' },
] as const;

export type EmptyChatProps = { readonly isDemo: boolean; readonly onChoose: (text: string) => void };

export function EmptyChat({ isDemo, onChoose }: EmptyChatProps) {
  return (
    <div className="flex flex-1 flex-col justify-center gap-8 py-10">
      <div className="text-center">
        <p className="text-balance text-2xl font-semibold tracking-tight sm:text-3xl">It asks before it acts</p>
        <p className="mx-auto mt-3 max-w-md text-pretty text-muted">
          A stored chat whose requests are cards. Choose it for a new app: a request survives a reload, a second tab and
          a restart, and it is decided once.
        </p>
      </div>
      <ul className="grid gap-3 sm:grid-cols-2">
        {SUGGESTIONS.map(({ title, about }) => (
          <li key={title}>
            <button
              type="button"
              onClick={() => onChoose(title)}
              className="h-full w-full rounded-xl border border-line bg-surface px-4 py-3 text-left shadow-xs transition-colors hover:border-edge"
            >
              <span className="block font-medium">{title}</span>
              <span className="mt-0.5 block text-sm text-muted">{about}</span>
            </button>
          </li>
        ))}
      </ul>
      {isDemo && (
        <p className="text-center text-xs text-muted">
          No provider key is set, so a small script answers instead of a model.
        </p>
      )}
    </div>
  );
}
