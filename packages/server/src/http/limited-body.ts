// Reads a whole body that has a limit.

/** Undefined if it has more than `most` bytes; the rest is not read. */
export async function limitedBody({ body }: Response | Request, most: number): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > most) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
