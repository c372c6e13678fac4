// Short messages about finished actions. Screen readers announce them, and they disappear by themselves.
import { VisibleText } from '@countersign/react';
import { CircleCheck, TriangleAlert, X } from 'lucide-react';
import { useSyncExternalStore } from 'react';

type Toast = { readonly id: number; readonly tone: 'done' | 'trouble'; readonly text: string };

const SHOWN_MS = { done: 6_000, trouble: 12_000 } as const;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

export function showToast(tone: Toast['tone'], text: string): void {
  lastId += 1;
  const toast = { id: lastId, tone, text };
  change([...toasts.slice(-2), toast]);
  setTimeout(() => dismiss(toast.id), SHOWN_MS[tone]);
}

function dismiss(id: number): void {
  if (toasts.some((toast) => toast.id === id)) change(toasts.filter((toast) => toast.id !== id));
}

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const tell of listeners) tell();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-0 bottom-20 z-50 flex flex-col items-center gap-2 px-4 md:bottom-6"
    >
      {shown.map(({ id, tone, text }) => (
        <div
          key={id}
          data-toast={tone}
          className="pointer-events-auto flex max-w-lg items-start gap-2.5 rounded-lg border border-line bg-surface py-2.5 pr-2 pl-3 shadow-lg"
        >
          {tone === 'done' ? (
            <CircleCheck aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-approved" />
          ) : (
            <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-danger" />
          )}
          <p className="min-w-0 wrap-anywhere">
            <VisibleText text={text} />
          </p>
          <button type="button" className="-my-1 rounded p-1 text-muted hover:text-ink" onClick={() => dismiss(id)}>
            <X aria-hidden="true" className="size-4" />
            <span className="sr-only">Dismiss</span>
          </button>
        </div>
      ))}
    </div>
  );
}
