// A prepared statement on a connection of `pg`, which asks for the columns of its rows only the first time. `pg` asks
// with every execution, which costs both sides as much as a small statement itself.

/** What is used of the connection below a client of `pg`, as query classes of others use it. */
type Wire = {
  readonly stream: { readonly writable: boolean; write(bytes: Uint8Array): unknown };
  readonly parsedStatements: { readonly [name: string]: string | undefined };
  parse(message: { readonly name: string; readonly text: string }): void;
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

function knownOn(wire: Wire): Map<string, Columns> {
  const known = COLUMNS.get(wire) ?? new Map<string, Columns>();
  if (known.size === 0) COLUMNS.set(wire, known);
  return known;
}

export class Execution {
  /** `pg` looks at these two when the server has taken the text. */
  readonly name: string;
  readonly text: string;
  readonly #values: readonly (string | null)[];
  readonly #types: TypeParsers;
  /** `pg` puts its own in front of it, to know that it need not wait any longer. */
  callback: Done;
  readonly #rows: Record<string, unknown>[] = [];
  #known: Map<string, Columns> | undefined;
  #columns: Columns | undefined;
  #failed: Error | undefined;

  constructor(statement: Named, values: readonly unknown[], types: TypeParsers, done: Done) {
    this.name = statement.name;
    this.text = statement.text;
    // What cannot be a text is refused before the connection has anything to do with it.
    this.#values = values.map(asText);
    this.#types = types;
    this.callback = done;
  }

  submit(wire: Wire): Error | null {
    const { name, text } = this;
    this.#known = knownOn(wire);
    if (wire.parsedStatements[name] === undefined) {
      this.#known.delete(name);
      wire.parse({ name, text });
    }
    this.#columns = this.#known.get(name);
    const bytes = executionBytes(name, this.#values, this.#columns === undefined);
    // A connection that is lost says so itself.
    if (wire.stream.writable) wire.stream.write(bytes);
    return null;
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#columns = {
      names: fields.map(({ name }) => name),
      parsers: fields.map(({ dataTypeID }) => this.#types.getTypeParser(dataTypeID, 'text')),
    };
    this.#known?.set(this.name, this.#columns);
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const { names, parsers } = this.#columns ?? { names: [], parsers: [] };
    const row: Record<string, unknown> = {};
    try {
      names.forEach((name, index) => {
        const text = fields[index] ?? null;
        row[name] = text === null ? null : parsers[index]?.(text);
      });
      this.#rows.push(row);
    } catch (error) {
      this.#failed = error instanceof Error ? error : new Error(String(error));
    }
  }

  handleReadyForQuery(): void {
    this.callback(this.#failed ?? null, { rows: this.#rows });
  }

  handleError(error: Error): void {
    this.callback(error, { rows: [] });
  }

  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
}

/**
 * The messages Bind, Execute and Sync of PostgreSQL's protocol, version 3, for a prepared statement whose values and
 * columns are texts; with `describes`, a Describe between. In one piece, which is one write.
 */
function executionBytes(name: string, values: readonly (string | null)[], describes: boolean): Buffer {
  const rest = describes ? DESCRIBE_EXECUTE_SYNC : EXECUTE_SYNC;
  // No character takes more than three bytes for each unit of its text.
  const most = values.reduce((sum, value) => sum + 4 + 3 * (value?.length ?? 0), 64 + 3 * name.length);
  const bytes = most <= SCRATCH.length ? SCRATCH : Buffer.allocUnsafe(most);
  let at = bytes.write('B', 'latin1') + 4;
  // The portal without a name.
  at = bytes.writeInt8(0, at);
  at += bytes.write(name, at);
  at = bytes.writeInt8(0, at);
  // All values are texts.
  at = bytes.writeInt16BE(0, at);
  at = bytes.writeInt16BE(values.length, at);
  for (const value of values) {
    const size = value === null ? -1 : bytes.write(value, at + 4);
    at = bytes.writeInt32BE(size, at) + Math.max(0, size);
  }
  // And so are all columns.
  at = bytes.writeInt16BE(0, at);
  bytes.writeInt32BE(at - 1, 1);
  at += rest.copy(bytes, at);
  return Buffer.from(bytes.subarray(0, at));
}

/** Where messages are put together. They are copied out, since a connection may take them later. */
const SCRATCH = Buffer.allocUnsafeSlow(64 * 1024);

const EXECUTE_SYNC = Buffer.from('E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04', 'latin1');
const DESCRIBE_EXECUTE_SYNC = Buffer.concat([Buffer.from('D\0\0\0\x06P\0', 'latin1'), EXECUTE_SYNC]);

/** Our values are texts, numbers, nulls, and lists of these. */
function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return Array.isArray(value) ? `{${value.map(asElement).join(',')}}` : String(value);
}

function asElement(value: unknown): string {
  if (typeof value !== 'string') return asText(value) ?? 'NULL';
  return `"${/["\\]/.test(value) ? value.replaceAll(/["\\]/g, '\\$&') : value}"`;
}
