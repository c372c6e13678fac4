// Short messages about finished actions. Screen readers announce them, and they disappear by themselves.
import { Toast } from '@base-ui/react/toast';
import { type Outcome, OutcomeIcon, VisibleText } from '@countersign/react';
import { CircleCheck, TriangleAlert, X } from 'lucide-react';
import { Link } from 'wouter';

/** `done`: it worked. `trouble`: it did not. Else the outcome of a request, which has its own colour and icon. */
type Tone = 'done' | 'trouble' | Outcome;

type Extra = { readonly tone: Tone; readonly href: string | undefined };

const manager = Toast.createToastManager<Extra>();

const SHOWN_MS = 6_000;
const TROUBLE_SHOWN_MS = 12_000;

/** `href` leads to its subject. Returns what says something newer in its place, even if it has disappeared. */
export function showToast(tone: Tone, text: string, href?: string): (tone: Tone, text: string) => void {
  const id = manager.add(toast(tone, text, href));
  return (tone, text) => {
    manager.close(id);
    manager.add(toast(tone, text, href));
  };
}

const TROUBLES: ReadonlySet<Tone> = new Set(['trouble', 'failed', 'unknown', 'not-run']);

function toast(tone: Tone, title: string, href: string | undefined) {
  const isTrouble = TROUBLES.has(tone);
  return {
    title,
    timeout: isTrouble ? TROUBLE_SHOWN_MS : SHOWN_MS,
    priority: isTrouble ? ('high' as const) : ('low' as const),
    data: { tone, href },
  };
}

export function Toasts() {
  return (
    <Toast.Provider toastManager={manager} limit={3}>
      <Toast.Portal>
        <Toast.Viewport className="fixed inset-x-4 bottom-20 z-50 mx-auto flex max-w-md flex-col gap-2 outline-none md:bottom-6">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { toasts, close } = Toast.useToastManager<Extra>();
  return toasts.map((toast) => {
    const { tone = 'done', href } = toast.data ?? {};
    return (
      <Toast.Root
        key={toast.id}
        toast={toast}
        data-toast={tone}
        swipeDirection={['down', 'right']}
        className="rounded-lg border border-line bg-surface shadow-lg transition duration-200 data-ending-style:translate-y-2 data-ending-style:opacity-0 data-limited:hidden data-starting-style:translate-y-2 data-starting-style:opacity-0"
      >
        <Toast.Content className="flex items-center gap-2.5 py-2 pr-2 pl-3">
          <ToneIcon tone={tone} />
          <Toast.Title className="line-clamp-3 min-w-0 flex-1 wrap-anywhere" render={<p />}>
            <VisibleText text={String(toast.title)} />
          </Toast.Title>
          {href !== undefined && (
            <Link
              href={href}
              className="shrink-0 rounded px-1 font-medium text-accent hover:underline"
              onClick={() => close(toast.id)}
            >
              View
            </Link>
          )}
          <Toast.Close className="rounded p-1 text-muted hover:text-ink" aria-label="Dismiss">
            <X aria-hidden="true" className="size-4" />
          </Toast.Close>
        </Toast.Content>
      </Toast.Root>
    );
  });
}

function ToneIcon({ tone }: { readonly tone: Tone }) {
  if (tone === 'trouble') return <TriangleAlert aria-hidden="true" className="size-5 shrink-0 text-danger" />;
  if (tone === 'done') return <CircleCheck aria-hidden="true" className="size-5 shrink-0 text-approved" />;
  return <OutcomeIcon outcome={tone} />;
}
