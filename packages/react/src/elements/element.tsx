// What both elements share: a shadow root with the look of the cards, their properties, and one render after all changes of a moment.
import type { ReactNode } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { Appearance, type FileUrl, type Words } from '../appearance.tsx';
import type { WatchSource } from '../watch/ask.ts';
import { cardStyles } from './look.ts';

/** A server has no elements. There the module can be imported, and defines nothing. */
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

export abstract class CountersignElement extends Base {
  static readonly observedAttributes: readonly string[] = ['url', 'chat-id', 'locale', 'heading-level', 'compact'];

  /** The address that it reads from and decides at. */
  declare url: string | null;
  /** The language of dates, times and amounts, such as `de-CH`. By default that of the browser. */
  declare locale: string | null;
  /** `light`, `dark`, or `auto` for that of the system. By default that of the page. */
  declare theme: string | null;
  /** Of the headings of cards, 2 to 6; by default 3. */
  declare headingLevel: string | number | null;
  /** Texts to replace. */
  declare words: Partial<Words> | undefined;
  /** The address of a file of a preview whose bytes are not on the card. */
  declare fileUrl: FileUrl | undefined;
  /** Of requests to `url`. */
  declare headers: WatchSource['headers'];
  declare credentials: WatchSource['credentials'];
  declare fetch: WatchSource['fetch'];

  #root: Root | undefined;
  #willDraw = false;

  constructor() {
    super();
    const shadow = this.shadowRoot ?? this.attachShadow({ mode: 'open' });
    shadow.adoptedStyleSheets = [cardStyles()];
    shadow.addEventListener('keydown', (event) => goBack(event as KeyboardEvent));
    for (const name of Object.keys(this)) takeUp(this, name);
  }

  /** What it shows. The types of pages know no React. */
  protected abstract view(): unknown;

  connectedCallback(): void {
    this.draw();
  }

  /** A framework that moves an element removes it for a moment. What a person has typed must survive that. */
  disconnectedCallback(): void {
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#root?.unmount();
      this.#root = undefined;
    });
  }

  attributeChangedCallback(): void {
    this.draw();
  }

  protected get source(): WatchSource {
    const { headers, credentials, fetch } = this;
    return { headers, credentials, fetch };
  }

  protected get level(): 2 | 3 | 4 | 5 | 6 {
    return ([2, 4, 5, 6] as const).find((level) => level === Number(this.headingLevel)) ?? 3;
  }

  draw(): void {
    if (this.#willDraw) return;
    this.#willDraw = true;
    queueMicrotask(() => {
      this.#willDraw = false;
      if (!this.isConnected) return;
      this.#root ??= createRoot(this.shadowRoot as ShadowRoot);
      this.#root.render(
        <Appearance words={this.words} fileUrl={this.fileUrl} locale={languageOf(this.locale)}>
          {this.view() as ReactNode}
        </Appearance>,
      );
    });
  }
}

const given = new WeakMap<object, Map<string, unknown>>();

/** Makes them accessors: frameworks set a property only where an element has one. */
export function properties(element: typeof CountersignElement, names: readonly string[]): void {
  for (const name of names)
    Object.defineProperty(element.prototype, name, {
      get(this: CountersignElement) {
        return given.get(this)?.get(name);
      },
      set(this: CountersignElement, value: unknown) {
        given.set(this, (given.get(this) ?? new Map()).set(name, value));
        this.draw();
      },
    });
}

/** Properties that are attributes: `headingLevel` is `heading-level`. */
export function attributes(element: typeof CountersignElement, names: readonly string[]): void {
  for (const name of names) {
    const attribute = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    Object.defineProperty(element.prototype, name, {
      get(this: CountersignElement) {
        return this.getAttribute(attribute);
      },
      set(this: CountersignElement, value: unknown) {
        if (value === undefined || value === null || value === false) this.removeAttribute(attribute);
        else this.setAttribute(attribute, value === true ? '' : `${value}`);
      },
    });
  }
}

properties(CountersignElement, ['words', 'fileUrl', 'headers', 'credentials', 'fetch']);
attributes(CountersignElement, ['url', 'locale', 'theme', 'headingLevel']);

/** Escape closes the open form of a card, as in the inbox, and nothing around it, such as a dialog of the page. */
function goBack(event: KeyboardEvent): void {
  if (event.key !== 'Escape' || event.isComposing || !(event.target instanceof Element)) return;
  const back = event.target.closest('article')?.querySelector<HTMLElement>('[data-countersign="back"]');
  if (!back) return;
  event.preventDefault();
  event.stopPropagation();
  back.click();
}

/** A property that the page set before the element was defined hides the accessor. */
function takeUp(element: object, name: string): void {
  const value: unknown = Reflect.get(element, name);
  Reflect.deleteProperty(element, name);
  Reflect.set(element, name, value);
}

function languageOf(locale: string | null): string | undefined {
  try {
    return locale === null ? undefined : Intl.getCanonicalLocales(locale)[0];
  } catch {
    // Not a language tag: the language of the browser.
    return undefined;
  }
}
