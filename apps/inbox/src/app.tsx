// The app: its pages by their address, and what surrounds them.
import { Appearance } from '@countersign/react';
import { QueryClientProvider } from '@tanstack/react-query';
import { type ComponentType, lazy, Suspense, useState } from 'react';
import { Redirect, Route, Router, Switch } from 'wouter';
import { mount } from './api/mount.ts';
import { createQueries } from './api/queries.ts';
import { apiUrl, Unreachable } from './api/request.ts';
import { ErrorBoundary } from './frame/error-boundary.tsx';
import { Frame } from './frame/frame.tsx';
import { LoadingPage, NothingHere } from './frame/placeholders.tsx';
import { HistoryPage, InboxPage } from './inbox/inbox-page.tsx';

const AwayPage = page(() => import('./away/away-page.tsx'));
const ChatPage = page(() => import('./chat/chat-page.tsx'));
const StartPage = page(() => import('./chat/start-page.tsx'));
const DashboardPage = page(() => import('./dashboard/dashboard-page.tsx'));
const GrantsPage = page(() => import('./grants/grants-page.tsx'));
const GrantPage = page(() => import('./grants/grant-page.tsx'));
const NoticesPage = page(() => import('./notices/notices-page.tsx'));
const PasskeysPage = page(() => import('./passkeys/passkeys-page.tsx'));
const RulesPage = page(() => import('./rules/rules-page.tsx'));
const RunsPage = page(() => import('./runs/runs-page.tsx'));
const RunPage = page(() => import('./runs/run-page.tsx'));

/** A page is fetched when it is first opened. After an update of the server its file may be gone; a reload finds the new one. */
function page<Props>(load: () => Promise<{ readonly default: ComponentType<Props> }>) {
  return lazy(() =>
    load().catch((cause: unknown) => {
      throw new Unreachable('Cannot reach the server, or it was updated.', { cause });
    }),
  );
}

const fileUrl = (requestId: string, sha256: string): string =>
  apiUrl(`requests/${encodeURIComponent(requestId)}/files/${sha256}`);

/** Without a slash at its end, as the router wants it. */
const base = mount.pathname.replace(/\/$/, '');

export function App() {
  const [queries] = useState(createQueries);
  return (
    <QueryClientProvider client={queries}>
      <Appearance fileUrl={fileUrl}>
        <Router base={base}>
          <Frame>
            <ErrorBoundary>
              <Suspense fallback={<LoadingPage />}>
                <Pages />
              </Suspense>
            </ErrorBoundary>
          </Frame>
        </Router>
      </Appearance>
    </QueryClientProvider>
  );
}

function Pages() {
  return (
    <Switch>
      {/* Several addresses of one page, so that the list stays where it is when a card is opened. */}
      <Route path={/^\/(?:requests\/(?<id>[^/]+))?$/}>{({ id }) => <InboxPage openId={decoded(id)} />}</Route>
      <Route path={/^\/history(?:\/(?<id>[^/]+))?$/}>{({ id }) => <HistoryPage openId={decoded(id)} />}</Route>
      <Route path="/chat">
        <StartPage />
      </Route>
      {/* Without an id it is a new chat; it gets its address with the first message. */}
      <Route path={/^\/chat\/(?<agent>[^/]+)(?:\/(?<id>[^/]+))?$/}>
        {({ agent, id }) => <ChatPage key={agent} agent={decoded(agent) ?? ''} id={decoded(id)} />}
      </Route>
      <Route path="/runs">
        <RunsPage />
      </Route>
      <Route path="/runs/:id">{({ id }) => <RunPage key={id} id={decoded(id) ?? ''} />}</Route>
      <Route path="/grants">
        <GrantsPage />
      </Route>
      <Route path="/grants/:id">{({ id }) => <GrantPage key={id} id={decoded(id) ?? ''} />}</Route>
      <Route path="/rules">
        <RulesPage />
      </Route>
      <Route path="/passkeys">
        <PasskeysPage />
      </Route>
      <Route path="/notices">
        <NoticesPage />
      </Route>
      <Route path="/away">
        <AwayPage />
      </Route>
      <Route path="/dashboard">
        <DashboardPage />
      </Route>
      {/* Who comes here is signed in, or the frame has shown how to. */}
      <Route path="/login">
        <Redirect to="/" replace />
      </Route>
      <Route>
        <NothingHere what="Page not found" isHeading />
      </Route>
    </Switch>
  );
}

/** The router decodes some parts of a URL and not others; ids never contain a percent sign. */
function decoded(part: string | undefined): string | undefined {
  if (part === undefined) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    // Not one of our ids: look it up unchanged.
    return part;
  }
}
