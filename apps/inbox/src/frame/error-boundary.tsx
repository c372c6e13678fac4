// A page that breaks says so, and the rest of the app goes on.
import { Component, type ReactNode } from 'react';
import { Trouble } from './standing.tsx';

type State = { readonly error: Error | undefined };

export class ErrorBoundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return <Trouble error={error} what="This page" onRetry={() => window.location.reload()} />;
  }
}
