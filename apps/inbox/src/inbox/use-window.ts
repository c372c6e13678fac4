// The part of a long list that is in the page: what is in view, and some more before and after it. The rest is two gaps.
import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';

/** Entries come and go in chunks of this many. */
const CHUNK = 25;
/** Shorter lists are in the page as a whole. */
const SHORT = 100;
/** How far beyond the view entries are rendered, in pixels. */
const MARGIN = 800;
/** The height of an entry that was never rendered. */
const USUAL_HEIGHT = 96;

type Range = { readonly from: number; readonly to: number };

export type ListWindow = {
  /** The first entry that is rendered, and the one behind the last. */
  readonly from: number;
  readonly to: number;
  /** The heights of what comes before and after, in pixels. */
  readonly before: number;
  readonly after: number;
  /** Renders this entry, wherever the list is scrolled to. */
  reveal(index: number): void;
};

/** `list`: its children are the gap, the rendered entries and the other gap. `scroller`: the element that scrolls it. */
export function useWindow(
  count: number,
  list: RefObject<HTMLElement | null>,
  scroller: RefObject<HTMLElement | null>,
): ListWindow {
  const chunks = Math.ceil(count / CHUNK);
  const heights = useRef<number[]>([]);
  const [range, setRange] = useState<Range>({ from: 0, to: SHORT / CHUNK });
  const isShort = count <= SHORT;
  const heightOf = (chunk: number) => heights.current[chunk] ?? Math.min(CHUNK, count - chunk * CHUNK) * USUAL_HEIGHT;
  const heightBetween = (from: number, to: number) => {
    let sum = 0;
    for (let chunk = from; chunk < to; chunk += 1) sum += heightOf(chunk);
    return sum;
  };

  const inView = (): Range => {
    if (!list.current || !scroller.current) return range;
    const top = scroller.current.getBoundingClientRect().top - list.current.getBoundingClientRect().top;
    const [first, last] = [top - MARGIN, top + scroller.current.clientHeight + MARGIN];
    let [from, to, height] = [0, 0, 0];
    for (let chunk = 0; chunk < chunks && height < last; chunk += 1) {
      height += heightOf(chunk);
      if (height <= first) from = chunk + 1;
      to = chunk + 1;
    }
    return { from: Math.min(from, Math.max(chunks - 1, 0)), to };
  };
  const look = () => {
    const next = inView();
    setRange((known) => (known.from === next.from && known.to === next.to ? known : next));
  };
  const latest = useRef(look);
  const last = Math.max(chunks - 1, 0);
  const [from, to] = isShort ? [0, chunks] : [Math.min(range.from, last), Math.min(range.to, chunks)];

  useLayoutEffect(() => {
    latest.current = look;
    if (!isShort && list.current) measure(list.current, from, heights.current);
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: a longer list may have room in view.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (isShort || !element) return;
    const changed = () => latest.current();
    changed();
    const resized = new ResizeObserver(changed);
    element.addEventListener('scroll', changed, { passive: true });
    resized.observe(element);
    return () => {
      element.removeEventListener('scroll', changed);
      resized.disconnect();
    };
  }, [isShort, count, scroller]);

  const reveal = useCallback((index: number) => {
    const chunk = Math.floor(Math.max(index, 0) / CHUNK);
    flushSync(() =>
      setRange((known) =>
        chunk >= known.from && chunk < known.to ? known : { from: Math.max(chunk - 1, 0), to: chunk + 2 },
      ),
    );
  }, []);
  return {
    from: from * CHUNK,
    to: Math.min(to * CHUNK, count),
    before: heightBetween(0, from),
    after: heightBetween(to, chunks),
    reveal,
  };
}

/** Remembers the heights of the rendered chunks, the first of which is `from`. */
function measure(list: HTMLElement, from: number, heights: number[]): void {
  const entries = [...list.children].slice(1, -1);
  for (let index = 0; index < entries.length; index += CHUNK) {
    const chunk = entries.slice(index, index + CHUNK);
    heights[from + index / CHUNK] = chunk.reduce((sum, entry) => sum + entry.getBoundingClientRect().height, 0);
  }
}
