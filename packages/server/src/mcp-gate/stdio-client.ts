// The client on standard input and output: one message per line. The gateway reads it itself, because parsers hide repeated keys.
import type { Readable, Writable } from 'node:stream';
import { MOST_BYTES, type ReadMessage, readMessage, tooLong } from './read-message.ts';
import type { ClientEnd } from './relay.ts';

const NEWLINE = 10;

export class StdioClient implements ClientEnd {
  onmessage?: (read: ReadMessage) => void;
  onclose?: () => void;
  readonly #input: Readable;
  readonly #output: Writable;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(input: Readable = process.stdin, output: Writable = process.stdout) {
    this.#input = input;
    this.#output = output;
  }

  start(): void {
    this.#input.on('data', (chunk: Buffer) => this.#read(chunk));
    const closed = () => this.onclose?.();
    this.#input.on('end', closed);
    this.#input.on('error', closed);
    this.#output.on('error', closed);
  }

  /** Resolves once it is written. */
  send(message: object): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#output.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  close(): void {
    this.#input.removeAllListeners('data');
    this.#input.pause();
  }

  #read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end));
      this.#line();
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  /** Of a line that is too long, only the length is kept. */
  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes <= MOST_BYTES) this.#parts.push(part);
    else this.#parts = [];
  }

  #line(): void {
    const text = Buffer.concat(this.#parts).toString('utf8').trim();
    const isTooLong = this.#bytes > MOST_BYTES;
    this.#parts = [];
    this.#bytes = 0;
    if (isTooLong) this.onmessage?.(tooLong());
    else if (text !== '') this.onmessage?.(readMessage(text));
  }
}
