// What surrounds every page: the way to the others, who you are, whether what you see is live.
import { CSPProvider } from '@base-ui/react/csp-provider';
import { Tooltip } from '@base-ui/react/tooltip';
import { useQuery } from '@tanstack/react-query';
import { Search } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { mount } from '../api/mount.ts';
import { meQuery } from '../api/queries.ts';
import { Refusal } from '../api/request.ts';
import type { Me } from '../api/wire.ts';
import { useMyCount } from '../filters/request-count.ts';
import { type Connection, useChanges } from '../live/changes.ts';
import { useAppBadge } from '../notify/use-app-badge.ts';
import { useNotifications } from '../notify/use-notifications.ts';
import { useWorker } from '../notify/worker.ts';
import { Hint } from '../primitives/hint.tsx';
import { Toasts } from '../primitives/toasts.tsx';
import { AccountMenu } from './account-menu.tsx';
import { FreezeBanner, FreezeButton, FreezeDialog } from './freezes.tsx';
import { Help } from './help.tsx';
import { OfflineBanner } from './offline-banner.tsx';
import { type Overlay, onOpen, openHelp, openPalette } from './overlays.ts';
import { PAGES } from './pages.ts';
import { Palette } from './palette.tsx';
import { useShortcuts } from './shortcuts.ts';
import { SignIn } from './sign-in.tsx';

export function Frame({ children }: { readonly children: ReactNode }) {
  const me = useQuery(meQuery);
  if (me.error instanceof Refusal && me.error.status === 401) return <SignIn onRetry={() => void me.refetch()} />;
  return (
    // The policy of the server forbids inline styles.
    <CSPProvider disableStyleElements>
      <Tooltip.Provider delay={500}>
        <SignedIn me={me.data}>{children}</SignedIn>
      </Tooltip.Provider>
    </CSPProvider>
  );
}

function SignedIn({ me, children }: { readonly me: Me | undefined; readonly children: ReactNode }) {
  const live = useChanges();
  const [location, navigate] = useLocation();
  const mine = useMyCount();
  const waiting = mine && mine.count > 0 ? `${mine.count.toLocaleString('en')}${mine.isComplete ? '' : '+'}` : '';
  const page = PAGES.find(({ at }) => at.test(location));
  const [overlay, setOverlay] = useState<Overlay>();
  const close = () => setOverlay(undefined);

  useAppBadge(mine?.count ?? 0);
  useNotifications(me);
  useWorker(navigate);
  useEffect(() => onOpen(setOverlay), []);
  useEffect(() => {
    document.title = [waiting && `(${waiting})`, page?.name, '· Countersign'].filter(Boolean).join(' ');
  }, [waiting, page]);
  useShortcuts({
    '?': openHelp,
    ...Object.fromEntries(PAGES.map(({ key, href }) => [`g ${key}`, () => navigate(href)])),
  });
  usePaletteKey();

  return (
    <div className="flex h-dvh flex-col">
      <button
        type="button"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-md focus:bg-surface focus:p-2"
        onClick={() => document.getElementById('content')?.focus()}
      >
        Skip to content
      </button>
      <OfflineBanner live={live} />
      <FreezeBanner />
      <div className="flex min-h-0 flex-1">
        <header className="hidden shrink-0 flex-col gap-1 border-r border-line bg-canvas p-2 md:flex lg:w-56 lg:p-3">
          <Mark />
          <SearchButton />
          <Navigation location={location} waiting={waiting} />
          <div className="mt-auto flex flex-col gap-1.5">
            <FreezeButton />
            <LiveMark connection={live.connection} />
            <AccountMenu />
          </div>
        </header>
        <main id="content" tabIndex={-1} className="flex min-h-0 min-w-0 flex-1 flex-col outline-none">
          {children}
        </main>
      </div>
      <PhoneBar location={location} waiting={waiting} />
      <Help me={me} isOpen={overlay === 'help'} onOpenChange={close} />
      <FreezeDialog isOpen={overlay === 'freeze'} onClose={close} />
      <Palette isOpen={overlay === 'palette'} onClose={close} />
      <Toasts />
    </div>
  );
}

const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);

/** Ctrl K or ⌘ K, wherever the focus is. */
function usePaletteKey(): void {
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent) {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      openPalette();
    }
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}

function Mark() {
  return (
    <Link href="/" className="mb-2 flex items-center gap-2 self-start rounded-md p-1.5 font-semibold tracking-tight">
      <img src={new URL('icon.svg', mount).href} alt="" width={20} height={20} />
      <span className="sr-only lg:not-sr-only">Countersign</span>
    </Link>
  );
}

function SearchButton() {
  return (
    <button
      type="button"
      onClick={openPalette}
      className="mb-2 flex h-8 items-center gap-2 rounded-md border border-line bg-surface px-2 text-muted hover:bg-sunken"
    >
      <Search aria-hidden="true" className="size-4 shrink-0" />
      <span className="sr-only lg:not-sr-only">Search…</span>
      <span aria-hidden="true" className="ml-auto hidden gap-0.5 lg:flex">
        <kbd className="key">{isMac ? '⌘' : 'Ctrl'}</kbd>
        <kbd className="key">K</kbd>
      </span>
    </button>
  );
}

type WhereProps = { readonly location: string; readonly waiting: string };

function Navigation({ location, waiting }: WhereProps) {
  return (
    <nav aria-label="Pages" className="flex flex-col gap-0.5">
      {PAGES.map(({ href, name, key, icon: Icon, at }) => (
        <Hint key={href} text={name} keys={`g ${key}`}>
          <Link
            href={href}
            aria-current={at.test(location) ? 'page' : undefined}
            className="flex h-8 items-center gap-2.5 rounded-md px-2 text-muted hover:bg-sunken hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:font-medium aria-[current=page]:text-ink"
          >
            <Icon aria-hidden="true" className="size-4 shrink-0" />
            <span className="sr-only lg:not-sr-only">{name}</span>
            {href === '/' && waiting !== '' && <Count waiting={waiting} />}
          </Link>
        </Hint>
      ))}
    </nav>
  );
}

function Count({ waiting }: { readonly waiting: string }) {
  return (
    <span className="ml-auto hidden text-xs text-muted tabular-nums lg:inline">
      {waiting}
      <span className="sr-only"> for you</span>
    </span>
  );
}

/** Not where a card or a chat is open: its own bar is at the bottom then. */
function PhoneBar({ location, waiting }: WhereProps) {
  if (/^\/(?:requests|chat|history)\/./.test(location)) return null;
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
  lost: { word: 'Offline', dot: 'bg-rejected motion-safe:animate-pulse' },
} as const;

function LiveMark({ connection }: { readonly connection: Connection }) {
  const { word, dot } = CONNECTIONS[connection];
  return (
    <p role="status" title={word} className="flex items-center gap-2 px-2 text-xs text-muted">
      <span aria-hidden="true" className={`mx-1 size-2 rounded-full forced-color-adjust-none ${dot}`} />
      <span className="sr-only lg:not-sr-only">{word}</span>
    </p>
  );
}
