// Catches an error of one page; the rest of the app keeps working.
import { Component, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import { Trouble } from './placeholders.tsx';

type Children = { readonly children: ReactNode };

export function ErrorBoundary({ children }: Children) {
  const [place] = useLocation();
  return <Boundary place={place}>{children}</Boundary>;
}

type State = { readonly error: Error | undefined };

class Boundary extends Component<Children & { readonly place: string }, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  /** Another page is not the one that broke. */
  override componentDidUpdate({ place }: { readonly place: string }) {
    if (this.state.error && place !== this.props.place) this.setState({ error: undefined });
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return <Trouble error={error} what="This page" onRetry={() => window.location.reload()} />;
  }
}
