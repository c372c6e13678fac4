// Tells a signed-out user how to sign in. The page of the server knows the ways that there are.
import { KeyRound } from 'lucide-react';
import { mount } from '../api/mount.ts';

export function SignIn({ onRetry }: { readonly onRetry: () => void }) {
  return (
    <main className="flex min-h-dvh items-center justify-center p-6">
      <div className="panel flex w-full max-w-md flex-col gap-4 p-6">
        <KeyRound aria-hidden="true" strokeWidth={1.5} className="size-8 text-accent" />
        <h1 className="text-xl font-semibold tracking-tight">Sign in to Countersign</h1>
        <p className="text-muted">
          You are signed out, or your session has expired. If your organisation signs you in, sign in there and try
          again.
        </p>
        <div className="flex flex-wrap gap-2">
          <a className="button-primary" href={new URL('login', mount).href}>
            Sign in
          </a>
          <button type="button" className="button" onClick={onRetry}>
            Try again
          </button>
        </div>
      </div>
    </main>
  );
}
