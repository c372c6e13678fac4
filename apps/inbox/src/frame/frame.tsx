// What surrounds every page: the way to the others, who you are, whether what you see is live.
import { useQuery } from '@tanstack/react-query';
import { ChartColumn, History, Inbox, type LucideIcon, MessageSquare, Workflow } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import { Link, useLocation } from 'wouter';
import { mount } from '../api/mount.ts';
import { meQuery } from '../api/queries.ts';
import { Refusal } from '../api/request.ts';
import type { Me } from '../api/wire.ts';
import { usePendingCount } from '../inbox/pending-count.ts';
import { type Connection, useChanges } from '../live/changes.ts';
import { Help, HelpButton, openHelp } from './help.tsx';
import { useShortcuts } from './shortcuts.ts';
import { SignIn } from './sign-in.tsx';
import { SignOutButton } from './sign-out.tsx';
import { ThemeButton } from './theme.tsx';
import { Toasts } from './toasts.tsx';

const PAGES: readonly {
  readonly href: string;
  readonly name: string;
  readonly icon: LucideIcon;
  readonly at: RegExp;
}[] = [
  { href: '/', name: 'Inbox', icon: Inbox, at: /^\/(?:interrupts\/.*)?$/ },
  { href: '/chat', name: 'Chat', icon: MessageSquare, at: /^\/chat/ },
  { href: '/history', name: 'History', icon: History, at: /^\/history/ },
  { href: '/runs', name: 'Runs', icon: Workflow, at: /^\/runs/ },
  { href: '/dashboard', name: 'Dashboard', icon: ChartColumn, at: /^\/dashboard/ },
];

export function Frame({ children }: { readonly children: ReactNode }) {
  const me = useQuery(meQuery);
  if (me.error instanceof Refusal && me.error.status === 401) return <SignIn onRetry={() => void me.refetch()} />;
  return <SignedIn me={me.data}>{children}</SignedIn>;
}

function SignedIn({ me, children }: { readonly me: Me | undefined; readonly children: ReactNode }) {
  const connection = useChanges();
  const [location, navigate] = useLocation();
  const waiting = usePendingCount();
  const page = PAGES.find(({ at }) => at.test(location));

  useEffect(() => {
    document.title = [waiting && `(${waiting})`, page?.name, '· Countersign'].filter(Boolean).join(' ');
  }, [waiting, page]);

  useShortcuts({
    '?': openHelp,
    'g i': () => navigate('/'),
    'g h': () => navigate('/history'),
    'g r': () => navigate('/runs'),
    'g d': () => navigate('/dashboard'),
    'g c': () => navigate('/chat'),
  });

  return (
    <div className="flex h-dvh flex-col md:flex-row">
      <button
        type="button"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-md focus:bg-surface focus:p-2"
        onClick={() => document.getElementById('content')?.focus()}
      >
        Skip to content
      </button>
      <header className="hidden shrink-0 flex-col gap-1 border-r border-line bg-canvas p-2 md:flex lg:w-48 lg:p-3">
        <Mark />
        <Navigation location={location} waiting={waiting} />
        <div className="mt-auto flex flex-col gap-2">
          <Live connection={connection} />
          <Person me={me} />
          <div className="flex flex-col lg:flex-row">
            <ThemeButton />
            <HelpButton />
            <SignOutButton />
          </div>
        </div>
      </header>
      {connection === 'lost' && (
        <p role="status" className="bg-warning-soft px-4 py-1.5 text-center text-xs text-warning md:hidden">
          Connection lost. Reconnecting…
        </p>
      )}
      <main id="content" tabIndex={-1} className="flex min-h-0 min-w-0 flex-1 flex-col outline-none">
        {children}
      </main>
      <PhoneBar location={location} waiting={waiting} />
      <Help me={me} />
      <Toasts />
    </div>
  );
}

function Mark() {
  return (
    <Link href="/" className="mb-3 flex items-center gap-2 self-start rounded-md p-1.5 font-semibold tracking-tight">
      <img src={new URL('icon.svg', mount).href} alt="" width={20} height={20} />
      <span className="sr-only lg:not-sr-only">Countersign</span>
    </Link>
  );
}

type WhereProps = { readonly location: string; readonly waiting: string };

function Navigation({ location, waiting }: WhereProps) {
  return (
    <nav aria-label="Pages" className="flex flex-col gap-0.5">
      {PAGES.map(({ href, name, icon: Icon, at }) => (
        <Link
          key={href}
          href={href}
          title={name}
          aria-current={at.test(location) ? 'page' : undefined}
          className="flex h-8 items-center gap-2.5 rounded-md px-2 text-muted hover:bg-sunken hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:font-medium aria-[current=page]:text-ink"
        >
          <Icon aria-hidden="true" className="size-4 shrink-0" />
          <span className="sr-only lg:not-sr-only">{name}</span>
          {href === '/' && waiting !== '' && <Count waiting={waiting} />}
        </Link>
      ))}
    </nav>
  );
}

function Count({ waiting }: { readonly waiting: string }) {
  return (
    <span className="ml-auto hidden text-xs text-muted tabular-nums lg:inline">
      {waiting}
      <span className="sr-only"> waiting</span>
    </span>
  );
}

/** Not where a card or a chat is open: its own bar is at the bottom then. */
function PhoneBar({ location, waiting }: WhereProps) {
  if (/^\/(?:interrupts|chat|history)\/./.test(location)) return null;
  return (
    <nav
      aria-label="Pages"
      className="flex shrink-0 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {PAGES.map(({ href, name, icon: Icon, at }) => (
        <Link
          key={href}
          href={href}
          aria-current={at.test(location) ? 'page' : undefined}
          className="relative flex h-14 flex-1 flex-col items-center justify-center gap-1 text-[11px] text-muted aria-[current=page]:font-medium aria-[current=page]:text-accent"
        >
          <Icon aria-hidden="true" className="size-5" />
          {name}
          {href === '/' && waiting !== '' && (
            <span className="absolute top-1.5 left-1/2 ml-1.5 rounded-full bg-accent px-1 text-[10px] leading-4 font-semibold text-on-accent tabular-nums">
              {waiting}
            </span>
          )}
        </Link>
      ))}
    </nav>
  );
}

const CONNECTIONS = {
  connecting: { word: 'Connecting…', dot: 'bg-cancelled' },
  live: { word: 'Live', dot: 'bg-approved' },
  lost: { word: 'Connection lost', dot: 'bg-rejected motion-safe:animate-pulse' },
} as const;

function Live({ connection }: { readonly connection: Connection }) {
  const { word, dot } = CONNECTIONS[connection];
  return (
    <p role="status" title={word} className="flex items-center gap-2 px-2 text-xs text-muted">
      <span aria-hidden="true" className={`mx-1 size-2 rounded-full forced-color-adjust-none ${dot}`} />
      <span className="sr-only lg:not-sr-only">{word}</span>
    </p>
  );
}

function Person({ me }: { readonly me: Me | undefined }) {
  if (!me) return null;
  return (
    <div className="hidden min-w-0 px-2 text-xs text-muted lg:block">
      <p className="truncate" title={me.id}>
        {me.name || me.id}
      </p>
      <p className="truncate" title={me.demo ? 'No API key is set, so replies are scripted.' : me.model}>
        {me.demo ? 'Demo model' : me.model}
      </p>
    </div>
  );
}
