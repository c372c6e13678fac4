// The look of the cards inside a shadow root: the stylesheet of the React components, with its tokens as fallbacks.
import css from '@countersign/react/styles.css?inline';

/**
 * A shadow root has no `:root`, and tokens that `:host` sets would win over those of the page. So each use of a token falls back to its
 * value in the stylesheet, and a token that the page sets anywhere above the element comes in by inheritance.
 */
export function forShadowRoot(css: string): string {
  const root = /:root\s*\{([^}]*)\}/;
  const declarations = (root.exec(css)?.[1] ?? '').replaceAll(/\/\*[\s\S]*?\*\//g, '').split(';');
  const tokens = new Map(
    declarations.flatMap((declaration) => {
      const [, name, value] = /^\s*(--[\w-]+)\s*:\s*([\s\S]+?)\s*$/.exec(declaration) ?? [];
      return name !== undefined && value !== undefined ? [[name, value] as const] : [];
    }),
  );
  const withFallbacks = css.replace(root, '').replaceAll(/var\((--[\w-]+)\)/g, (use, name: string) => {
    const value = tokens.get(name);
    return value === undefined ? use : `var(${name}, ${value})`;
  });
  return `${HOST}${withFallbacks}`;
}

const HOST = `
:host { display: block; font-family: var(--cs-font, inherit); text-align: start; }
:host([hidden]) { display: none; }
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
:host([theme="auto"]) { color-scheme: light dark; }
`;

let sheet: CSSStyleSheet | undefined;

/** One for all elements of the page. A content security policy does not forbid it, unlike a `<style>`. */
export function cardStyles(): CSSStyleSheet {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(forShadowRoot(css));
  }
  return sheet;
}
