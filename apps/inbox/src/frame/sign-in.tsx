// Tells a signed-out user how to sign in.
import { KeyRound } from 'lucide-react';
import { mount } from '../api/mount.ts';

export function SignIn({ onRetry }: { readonly onRetry: () => void }) {
  return (
    <main className="flex min-h-dvh items-center justify-center p-6">
      <div className="panel flex w-full max-w-md flex-col gap-4 p-6">
        <KeyRound aria-hidden="true" strokeWidth={1.5} className="size-8 text-accent" />
        <h1 className="text-xl font-semibold tracking-tight">Sign in to Countersign</h1>
        <p className="text-muted">
          You are signed out, or your session has expired. Open a sign-in link; each works once, within ten minutes.
        </p>
        <ul className="flex list-disc flex-col gap-2 pl-5 text-muted">
          <li>
            On this machine: the terminal that runs <code className="font-mono text-ink">countersign dev</code> shows a
            link.{' '}
            <a className="text-accent underline underline-offset-4" href={new URL('login', mount).href}>
              Get a new one
            </a>
          </li>
          <li>
            In a team: sign in through your organisation, or ask the person who runs this server for a link, from{' '}
            <code className="font-mono text-ink">countersign link</code>.
          </li>
        </ul>
        <button type="button" className="button self-start" onClick={onRetry}>
          Try again
        </button>
      </div>
    </main>
  );
}
