// A prepared statement on a connection of `pg`, which asks for the columns of its rows only the first time. `pg` asks
// with every execution, which costs both sides as much as a small statement itself.

/** What is used of the connection below a client of `pg`, as query classes of others use it. */
type Wire = {
  readonly stream: { cork?(): void; uncork?(): void };
  readonly parsedStatements: { readonly [name: string]: string | undefined };
  parse(message: { readonly name: string; readonly text: string }): void;
  bind(message: {
    readonly statement: string;
    readonly values: readonly unknown[];
    readonly valueMapper: (value: unknown) => string | null;
  }): void;
  describe(message: { readonly type: 'P'; readonly name: '' }): void;
  execute(message: { readonly portal: '' }): void;
  sync(): void;
};

type Named = { readonly name: string; readonly text: string };
type TypeParser = (text: string) => unknown;
type Columns = { readonly names: readonly string[]; readonly parsers: readonly TypeParser[] };
type RowDescription = { readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[] };

/** How a text of the database becomes a value, by the number of its type. */
export type TypeParsers = { getTypeParser(dataTypeID: number, format: 'text'): TypeParser };

type Done = (error: Error | null, result: { readonly rows: readonly Record<string, unknown>[] }) => void;

/** By connection and statement: on one connection a name stands for one text, whose columns stay as they are. */
const COLUMNS = new WeakMap<Wire, Map<string, Columns>>();

export class Execution {
  /** `pg` looks at these two when the server has taken the text. */
  readonly name: string;
  readonly text: string;
  readonly #values: readonly unknown[];
  readonly #types: TypeParsers;
  readonly #done: Done;
  readonly #rows: Record<string, unknown>[] = [];
  #known: Map<string, Columns> = new Map();
  #columns: Columns | undefined;
  #failed: Error | undefined;

  constructor(statement: Named, values: readonly unknown[], types: TypeParsers, done: Done) {
    this.name = statement.name;
    this.text = statement.text;
    this.#values = values;
    this.#types = types;
    this.#done = done;
  }

  submit(wire: Wire): Error | null {
    const { name, text } = this;
    this.#known = COLUMNS.get(wire) ?? new Map<string, Columns>();
    COLUMNS.set(wire, this.#known);
    // One write for all of it.
    wire.stream.cork?.();
    try {
      if (wire.parsedStatements[name] === undefined) {
        this.#known.delete(name);
        wire.parse({ name, text });
      }
      this.#columns = this.#known.get(name);
      wire.bind({ statement: name, values: this.#values, valueMapper: asText });
      if (this.#columns === undefined) wire.describe({ type: 'P', name: '' });
      wire.execute({ portal: '' });
      wire.sync();
    } finally {
      wire.stream.uncork?.();
    }
    return null;
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#columns = {
      names: fields.map(({ name }) => name),
      parsers: fields.map(({ dataTypeID }) => this.#types.getTypeParser(dataTypeID, 'text')),
    };
    this.#known.set(this.name, this.#columns);
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const { names, parsers } = this.#columns ?? { names: [], parsers: [] };
    const row: Record<string, unknown> = {};
    try {
      for (const [index, name] of names.entries()) {
        const text = fields[index] ?? null;
        row[name] = text === null ? null : parsers[index]?.(text);
      }
      this.#rows.push(row);
    } catch (error) {
      this.#failed = error instanceof Error ? error : new Error(String(error));
    }
  }

  handleReadyForQuery(): void {
    this.#done(this.#failed ?? null, { rows: this.#rows });
  }

  handleError(error: Error): void {
    this.#done(error, { rows: [] });
  }

  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
}

/** Our values are texts, numbers, nulls, and lists of these. */
function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return Array.isArray(value) ? `{${value.map(asElement).join(',')}}` : String(value);
}

function asElement(value: unknown): string {
  if (typeof value !== 'string') return asText(value) ?? 'NULL';
  return `"${/["\\]/.test(value) ? value.replaceAll(/["\\]/g, '\\$&') : value}"`;
}
