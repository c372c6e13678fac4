// The OpenAPI document: what generators of clients and linters need. `openapi.compat.ts` runs the real ones.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startServer } from './server.ts';

type Schema = { readonly [key: string]: any };

async function document(): Promise<Schema> {
  const { url } = await startServer();
  return (await fetch(`${url}/api/v1/openapi.json`)).json() as Promise<Schema>;
}

const operationsOf = ({ paths, webhooks }: Schema): readonly Schema[] =>
  [...Object.values(paths), ...Object.values(webhooks)].flatMap((methods) => Object.values(methods as Schema));

/** Every schema object of the document, wherever it is. */
function* objectsIn(value: unknown): Iterable<Schema> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}

test('every operation has an id of its own that a client can use as a name', async () => {
  const ids = operationsOf(await document()).map(({ operationId }) => operationId);
  expect(ids.filter((id) => !/^[a-z]+[A-Za-z]*$/.test(String(id)))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(['listRequests', 'decideRequest', 'askGate']));
});

test('every operation says who may call it', async () => {
  const described = await document();
  const known = Object.keys(described.components.securitySchemes);
  for (const { operationId, security } of operationsOf(described)) {
    expect(security, operationId).toBeInstanceOf(Array);
    for (const scheme of security) expect(known, operationId).toEqual(expect.arrayContaining(Object.keys(scheme)));
  }
});

test('a union of named shapes narrows by one field, and only a field can be null', async () => {
  const { components } = await document();
  const { schemas } = components;
  for (const { oneOf, discriminator } of objectsIn(schemas)) {
    if (!Array.isArray(oneOf)) continue;
    const named = oneOf.map(({ $ref }: Schema) => $ref);
    expect(new Set(Object.values(discriminator?.mapping ?? {}))).toEqual(new Set(named));
  }
  expect(schemas.Gate.discriminator.propertyName).toBe('status');
  expect(schemas.GateDone.required).toEqual(expect.arrayContaining(['status', 'runId', 'url', 'input', 'output']));
  for (const [name, { type = 'object' }] of Object.entries(schemas) as [string, Schema][])
    expect([type].flat(), name).not.toContain('null');
});

test('every pattern is a regular expression that matches what the server accepts', async () => {
  const described = await document();
  const patterns = [...objectsIn(described)].flatMap(({ pattern }) => (typeof pattern === 'string' ? [pattern] : []));
  expect(patterns.length).toBeGreaterThan(10);
  for (const pattern of patterns) expect(() => new RegExp(pattern, 'u'), pattern).not.toThrow();
  const { key, labels } = described.components.schemas.GateAsk.properties;
  for (const { pattern } of [key, labels.items]) expect('build-7 🙂').toMatch(new RegExp(pattern, 'u'));
});

test('the reference names the id of every operation', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/api.md'), 'utf8');
  for (const { operationId } of Object.values((await document()).paths).flatMap((methods) =>
    Object.values(methods as Schema),
  ))
    expect(page).toContain(`\`${operationId}\``);
});
