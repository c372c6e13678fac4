// The top of a page: its name, and on a phone what the side bar has elsewhere.
import type { ReactNode } from 'react';
import { ThemeButton } from './theme.tsx';

export function PageHeader({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="flex min-h-12 shrink-0 flex-wrap items-center gap-2 border-b border-line px-4 py-2">
      <h1 className="text-base font-semibold tracking-tight">{title}</h1>
      <div className="ml-auto flex items-center gap-2">
        {children}
        <div className="md:hidden">
          <ThemeButton />
        </div>
      </div>
    </div>
  );
}
