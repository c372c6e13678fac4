import { expect, test } from 'vitest';
import { optionalDefaults } from './optional-defaults.ts';

test('a property with a default is optional at every level, and others stay required', () => {
  const type = { type: 'string', default: 'png' };
  const inner = { type: 'object', properties: { type, name: {} }, required: ['type', 'name'] };
  const schema = { type: 'object', properties: { type, url: {}, inner }, required: ['type', 'url', 'inner'] };
  expect(optionalDefaults(schema)).toEqual({
    ...schema,
    properties: { ...schema.properties, inner: { ...inner, required: ['name'] } },
    required: ['url', 'inner'],
  });
  expect(optionalDefaults({ type: 'string' })).toEqual({ type: 'string' });
});
