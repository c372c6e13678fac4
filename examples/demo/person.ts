// The person that decides: with the keys of a terminal, or by lines of text.

export type Choice = { readonly option: number } | { readonly text: string };

export type Person = {
  /** One of the options, or the person's own words where these are allowed. */
  choose(options: readonly string[], allowOther: boolean): Promise<Choice>;
  /** A line of text that `fault` accepts; undefined when the person goes back. */
  write(hint: string, fault: (text: string) => string | undefined): Promise<string | undefined>;
  close(): void;
};

/** The input ended before the question was answered. */
export class EndOfInput extends Error {
  override readonly name = 'EndOfInput';
}
