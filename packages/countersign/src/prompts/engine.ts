// Handlebars, set up as Dotprompt does but in an environment of our own: Dotprompt registers its helpers and partials in
// the one that the whole process shares.
import type Handlebars from 'handlebars';

export type Engine = typeof Handlebars;

type CompileOptions = NonNullable<Parameters<typeof Handlebars.compile>[1]>;

/** No HTML escaping: a prompt is text. An unknown helper is an error, not an empty string. */
export const COMPILE_OPTIONS: CompileOptions = {
  noEscape: true,
  knownHelpersOnly: true,
  knownHelpers: {
    role: true,
    history: true,
    media: true,
    section: true,
    json: true,
    ifEquals: true,
    unlessEquals: true,
  } as unknown as NonNullable<CompileOptions['knownHelpers']>,
};

let loaded: Promise<Engine> | undefined;

export function loadEngine(): Promise<Engine> {
  loaded ??= createEngine();
  return loaded;
}

async function createEngine(): Promise<Engine> {
  const { default: shared } = await import('handlebars/dist/cjs/handlebars.js');
  const handlebars = shared.create();
  handlebars.registerHelper('json', (value: unknown, { hash }: Handlebars.HelperOptions) =>
    JSON.stringify(value, null, hash.indent ?? 0),
  );
  handlebars.registerHelper('ifEquals', function (this: unknown, left, right, options: Handlebars.HelperOptions) {
    return left === right ? options.fn(this) : options.inverse(this);
  });
  handlebars.registerHelper('unlessEquals', function (this: unknown, left, right, options: Handlebars.HelperOptions) {
    return left !== right ? options.fn(this) : options.inverse(this);
  });
  // Genkit fills sections in later; here nothing does, so they leave no trace.
  handlebars.registerHelper('section', () => '');
  return handlebars;
}
