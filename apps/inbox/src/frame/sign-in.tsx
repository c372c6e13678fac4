// Tells a signed-out user how to sign in.
import { KeyRound } from 'lucide-react';

export function SignIn({ onRetry }: { readonly onRetry: () => void }) {
  return (
    <main className="flex min-h-dvh items-center justify-center p-6">
      <div className="panel flex w-full max-w-md flex-col gap-4 p-6">
        <KeyRound aria-hidden="true" strokeWidth={1.5} className="size-8 text-accent" />
        <h1 className="text-xl font-semibold tracking-tight">Sign in to Countersign</h1>
        <p className="text-muted">
          You are signed out, or your session has expired. Open a sign-in link; each works once, for ten minutes.
        </p>
        <ul className="flex list-disc flex-col gap-2 pl-5 text-muted">
          <li>
            On this machine: the terminal that runs <code className="font-mono text-ink">countersign dev</code> shows a
            link.
          </li>
          <li>In a team: ask the administrator of this server, or sign in through your organisation.</li>
        </ul>
        <button type="button" className="button self-start" onClick={onRetry}>
          Try again
        </button>
      </div>
    </main>
  );
}
