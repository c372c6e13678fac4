// Comments on a pending request: people discuss it. They count for nothing, and change nothing that runs.

/** What a person said about a pending request. */
export type Comment = {
  /** 1 for the first comment on the request. */
  readonly number: number;
  readonly by: string;
  readonly text: string;
  /** The people whom it names with `@`. */
  readonly mentions: readonly string[];
  /** In milliseconds. */
  readonly at?: number;
};

/** So many characters are the most of a comment. */
export const LONGEST_COMMENT = 2_000;

/** So many of the newest comments are with the request. The events of the run have all of them. */
export const NEWEST_COMMENTS = 20;

const MOST_MENTIONS = 20;

/** The people whom a text names, as in `@ann` or `@ann@example.com`, each once. */
export function mentionsIn(text: string): readonly string[] {
  const named = [...text.matchAll(/(?<![^\s(,;])@([^\s@][^\s]{0,199})/gu)].map(([, id = '']) =>
    id.replace(/[.,;:!?)\]}'"]+$/u, ''),
  );
  return [...new Set(named.filter((id) => id !== ''))].slice(0, MOST_MENTIONS);
}
